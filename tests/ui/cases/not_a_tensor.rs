use serde_tensor::{TensorDeserialize, TensorSerialize};

#[derive(serde::Serialize, serde::Deserialize)]
struct Plain;

#[derive(TensorSerialize)]
struct Sent {
    #[tensor]
    plain: Plain,
}

#[derive(TensorDeserialize)]
struct Received {
    #[tensor]
    plain: Vec<Plain>,
}

fn main() {}
