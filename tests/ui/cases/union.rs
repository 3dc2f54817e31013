use serde_tensor::{TensorDeserialize, TensorSerialize};

#[derive(TensorSerialize, TensorDeserialize)]
union Either {
    a: u32,
    b: f32,
}

fn main() {}
