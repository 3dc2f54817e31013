use serde_tensor::{TensorDeserialize, TensorSerialize, TensorView};

#[derive(TensorSerialize, TensorDeserialize)]
struct View<'de> {
    #[tensor]
    view: TensorView<'de>,
}

fn main() {}
