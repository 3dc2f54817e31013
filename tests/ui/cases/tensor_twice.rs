use serde_tensor::{Tensor, TensorDeserialize, TensorSerialize};

#[derive(TensorSerialize, TensorDeserialize)]
struct Rollout {
    #[tensor]
    #[tensor(device = "cpu")]
    observation: Tensor,
    #[tensor(device = "cpu", device = "mps")]
    hidden: Tensor,
    #[tensor(none, device = "cpu")]
    rewards: Tensor,
}

fn main() {}
