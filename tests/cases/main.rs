//! What users of other systems ran into, each as the promise that this crate makes instead.
//!
//! A fault that was met once is met again by whoever writes the next format; without these names nobody would know which
//! test stands for which. Many are proved at length elsewhere: here each is short.

mod data;
mod reading;
mod tensors;

use serde_tensor::{DType, Encoder, Tensor, TensorSerialize};

/// A tensor of bytes, each different from its neighbours.
fn ramp(len: usize) -> Tensor {
    let bytes: Vec<u8> = (0..251).cycle().take(len).collect();
    Tensor::from_bytes(DType::U8, &[len], bytes).unwrap()
}

/// The message of both writers.
fn both<T: TensorSerialize + serde::Serialize>(encoder: &Encoder, value: &T) -> [Vec<u8>; 2] {
    let mut planned = Vec::new();
    encoder.plan(value).unwrap().write_to(&mut planned).unwrap();
    [encoder.to_vec(value).unwrap(), planned]
}
