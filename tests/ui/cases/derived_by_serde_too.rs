use serde_tensor::{Tensor, TensorDeserialize, TensorSerialize};

#[derive(TensorSerialize, TensorDeserialize, serde::Serialize)]
struct Rollout {
    #[tensor]
    tensor: Tensor,
}

fn main() {}
