use serde_tensor::{Tensor, TensorDeserialize, TensorSerialize};

#[derive(TensorSerialize, TensorDeserialize, Clone)]
#[serde(into = "Raw", from = "Raw")]
struct Checked {
    #[tensor]
    tensor: Tensor,
}

#[derive(TensorSerialize, TensorDeserialize)]
struct Raw {
    #[tensor]
    tensor: Tensor,
}

impl From<Raw> for Checked {
    fn from(raw: Raw) -> Self {
        Self { tensor: raw.tensor }
    }
}

impl From<Checked> for Raw {
    fn from(checked: Checked) -> Self {
        Self { tensor: checked.tensor }
    }
}

fn main() {}
