//! The format from the outside: what is written, what is read, what is refused, and where the bytes lie afterwards.

mod buffered;
mod chunks;
mod errors;
mod ext;
mod fickle;
mod floats;
mod frames;
mod hostile;
mod limits;
mod model;
mod plans;
mod sharing;
mod storages;
mod streams;
mod trouble;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_tensor::{DType, Encoder, Tensor, TensorDeserialize, TensorSerialize};

/// A value with a bit of everything: tensors on both sides of the inline limit, options, an enum, text.
#[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq, Clone)]
struct Rollout {
    step: u64,
    #[tensor]
    small: Tensor,
    #[tensor]
    large: Tensor,
    #[tensor]
    hidden: Option<Vec<Tensor>>,
    note: Option<Option<String>>,
    action: Action,
}

#[derive(Serialize, Deserialize, Debug, PartialEq, Clone)]
enum Action {
    Wait,
    Say(String),
    Move { x: i32, y: i32 },
}

impl Rollout {
    fn sample() -> Self {
        Self {
            step: 1 << 40,
            small: Tensor::from_elements(&[1.5f32, -2.5], &[2, 1]).unwrap(),
            large: ramp(600),
            hidden: Some(vec![Tensor::scalar(7i64), ramp(513), ramp(0)]),
            note: Some(None),
            action: Action::Move { x: -1, y: 300 },
        }
    }
}

/// A tensor of bytes, each different from its neighbours.
fn ramp(len: usize) -> Tensor {
    let bytes: Vec<u8> = (0..251).cycle().take(len).collect();
    Tensor::from_bytes(DType::U8, &[len], bytes).unwrap()
}

/// The bytes at an address that is `offset` above a multiple of 65536, the highest alignment there is.
fn placed(bytes: &[u8], offset: usize) -> Bytes {
    let mut buffer: Vec<u8> = Vec::with_capacity(bytes.len() + offset + 65536);
    let address = buffer.as_ptr().addr();
    let start = address.next_multiple_of(65536) - address + offset;
    buffer.resize(start, 0);
    buffer.extend_from_slice(bytes);
    Bytes::from(buffer).slice(start..)
}

/// A frame's header field of eight bytes.
fn header_u64(frame: &[u8], at: usize) -> usize {
    usize::try_from(u64::from_le_bytes(frame[at..at + 8].try_into().unwrap())).unwrap()
}

/// Offset and length of each segment, as the frame's table says.
fn segments(frame: &[u8]) -> Vec<(usize, usize)> {
    let table = header_u64(frame, 32);
    let count = u32::from_le_bytes(frame[40..44].try_into().unwrap());
    (0..count as usize)
        .map(|index| table + 24 * index)
        .map(|row| (header_u64(frame, row), header_u64(frame, row + 8)))
        .collect()
}

fn planned<T: TensorSerialize>(encoder: &Encoder, value: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    encoder.plan(value).unwrap().write_to(&mut bytes).unwrap();
    bytes
}

/// The message of both writers.
fn both<T: TensorSerialize + Serialize>(encoder: &Encoder, value: &T) -> [Vec<u8>; 2] {
    [encoder.to_vec(value).unwrap(), planned(encoder, value)]
}

#[track_caller]
fn assert_inside(message: &[u8], bytes: &[u8]) {
    let (outer, inner) = (message.as_ptr_range(), bytes.as_ptr_range());
    assert!(
        outer.start <= inner.start && inner.end <= outer.end,
        "the bytes are not the message's own"
    );
}

#[track_caller]
fn assert_outside(message: &[u8], bytes: &[u8]) {
    let (outer, inner) = (message.as_ptr_range(), bytes.as_ptr_range());
    assert!(
        inner.end <= outer.start || outer.end <= inner.start,
        "the bytes are the message's own"
    );
}
