use serde_tensor::{TensorDeserialize, TensorSerialize};

mod other {
    pub struct Foreign {
        pub value: u8,
    }
}

#[derive(TensorSerialize, TensorDeserialize)]
#[serde(remote = "other::Foreign")]
struct Foreign {
    #[serde(getter = "other::Foreign::value")]
    value: u8,
}

fn main() {}
