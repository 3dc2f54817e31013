use serde_tensor::{Tensor, TensorDeserialize, TensorSerialize};

#[derive(TensorSerialize, TensorDeserialize)]
#[tensor(device = "cpu")]
struct OnType {
    #[tensor]
    tensor: Tensor,
}

#[derive(TensorSerialize, TensorDeserialize)]
struct OnField {
    #[tensor(devise = "cpu")]
    device: Tensor,
    #[tensor = "cpu"]
    value: Tensor,
    #[tensor(device)]
    no_value: Tensor,
}

fn main() {}
