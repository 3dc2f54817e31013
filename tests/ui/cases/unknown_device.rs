use serde_tensor::{Tensor, TensorDeserialize, TensorSerialize};

#[derive(TensorSerialize, TensorDeserialize)]
struct Rollout {
    #[tensor(device = "gpu")]
    observation: Tensor,
    #[tensor(device = "cuda:first")]
    hidden: Tensor,
    #[tensor(device = "cuda:+1")]
    state: Tensor,
    #[tensor(device = "")]
    rewards: Tensor,
}

fn main() {}
