use serde_tensor::{Tensor, TensorDeserialize, TensorSerialize};

#[derive(TensorSerialize, TensorDeserialize)]
#[tensor]
enum Action {
    #[tensor]
    Move(Tensor),
}

#[derive(TensorSerialize, TensorDeserialize)]
#[tensor(bound = "T: Clone")]
struct Bound<T>(T);

#[derive(TensorSerialize, TensorDeserialize)]
#[tensor(crate = "no path")]
struct Crate;

fn main() {}
