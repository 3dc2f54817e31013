//! The limit: copying a message that is there already.

use std::hint::black_box;

use super::case::{Case, Meter, measure};
use crate::data::Data;

pub(super) fn cases<D: Data>() -> Vec<Case> {
    let case = |operation, run| Case::new(D::NAME, "copy", operation, run);
    vec![
        case("encode", fresh::<D>),
        case("encode-warm", warm::<D>),
        case("decode", fresh::<D>),
    ]
}

fn message<D: Data>(meter: &mut dyn Meter) -> Vec<u8> {
    let message = serde_tensor::to_vec(&D::ours()).expect("it encodes");
    meter.message(message.len());
    message
}

fn fresh<D: Data>(meter: &mut dyn Meter) {
    let message = message::<D>(meter);
    measure(meter, || black_box(&message[..]).to_vec());
}

fn warm<D: Data>(meter: &mut dyn Meter) {
    let message = message::<D>(meter);
    let mut buffer = message.clone();
    measure(meter, || {
        buffer.clear();
        buffer.extend_from_slice(black_box(&message));
        black_box(&buffer).len()
    });
}
