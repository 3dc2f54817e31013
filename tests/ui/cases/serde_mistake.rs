use serde_tensor::{Tensor, TensorSerialize};

// Serde's own words for mistakes in its own attributes.
#[derive(TensorSerialize)]
#[serde(rename_al = "camelCase")]
struct Rollout {
    #[tensor]
    #[serde(skip_if = "Option::is_none")]
    hidden: Option<Tensor>,
}

fn main() {}
