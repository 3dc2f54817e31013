//! Messages over tokio's readers and writers: `MessageCodec`, `write_message` and `read_message`.

#[path = "../common/mod.rs"]
mod common;

mod cancel;
mod devices;
mod messages;
mod trouble;

use std::time::Duration;

use serde_tensor::tokio::MessageCodec;
use serde_tensor::{DType, Tensor, TensorDeserialize, TensorSerialize};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::codec::Framed;

/// A value with tensors on both sides of the inline limit.
#[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq, Clone)]
struct Step {
    number: u64,
    note: String,
    #[tensor]
    action: Tensor,
    #[tensor]
    observations: Vec<Tensor>,
}

impl Step {
    fn sample(number: u64) -> Self {
        Self {
            number,
            note: "observed".to_owned(),
            action: Tensor::from_elements(&[1.5f32, -2.5], &[2, 1]).unwrap(),
            observations: vec![ramp(600), ramp(0), ramp(70_001)],
        }
    }
}

/// A tensor of bytes, each different from its neighbours.
fn ramp(len: usize) -> Tensor {
    let bytes: Vec<u8> = (0..251).cycle().take(len).collect();
    Tensor::from_bytes(DType::U8, &[len], bytes).unwrap()
}

fn framed<T, U, S: AsyncRead + AsyncWrite>(stream: S) -> Framed<S, MessageCodec<T, U>> {
    Framed::new(stream, MessageCodec::new())
}

/// What nothing here takes a fraction of.
const PATIENCE: Duration = Duration::from_mins(1);

/// The outcome, or a failed test instead of one that hangs.
async fn soon<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(PATIENCE, future).await.expect("it hangs")
}
