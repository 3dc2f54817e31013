use serde_tensor::{Tensor, TensorDeserialize, TensorSerialize};

mod as_list {}

#[derive(TensorSerialize)]
struct Fields {
    #[tensor]
    #[serde(with = "as_list")]
    with: Tensor,
    #[tensor]
    #[serde(serialize_with = "as_list::serialize")]
    serialize_with: Tensor,
    #[tensor]
    #[serde(default, deserialize_with = "as_list::deserialize")]
    deserialize_with: Tensor,
}

#[derive(TensorDeserialize)]
enum Variants {
    #[serde(with = "as_list")]
    One(#[tensor] Tensor),
}

fn main() {}
