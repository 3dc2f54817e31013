use serde_tensor::{Tensor, TensorDeserialize, TensorSerialize};

#[derive(TensorSerialize, TensorDeserialize)]
#[tensor(create = "other")]
struct Rollout {
    #[tensor(device = "gpu")]
    observation: Tensor,
    #[tensor]
    #[tensor]
    #[serde(with = "as_list")]
    rewards: Tensor,
    #[tensor(nine)]
    hidden: Tensor,
}

// The mistakes above are all that is reported: the type can still be used.
fn send(rollout: &Rollout) {
    let bytes = serde_tensor::to_vec(rollout).unwrap();
    let _: Rollout = serde_tensor::from_slice(&bytes).unwrap();
    serde_tensor::contains_tensor(rollout);
}

fn main() {}
