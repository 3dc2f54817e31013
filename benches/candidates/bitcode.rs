//! bitcode, by its own derive, which is faster than its serde: a column for each field, all values of one before the next.

use std::hint::black_box;

use bitcode::{Buffer, decode as from_slice, encode as to_vec};

use super::case::{Case, Meter, measure};
use crate::data::Data;
use crate::data::records::{LogView, Records};

const NAME: &str = "bitcode";

pub(super) fn cases<D: Data>() -> Vec<Case> {
    let case = |operation, run| Case::new(D::NAME, NAME, operation, run);
    vec![
        case("encode", encode::<D>),
        case("encode-warm", encode_warm::<D>),
        case("decode", decode::<D>),
    ]
}

/// It borrows text, and no bytes.
pub(super) fn records() -> Vec<Case> {
    vec![Case::new(Records::NAME, NAME, "decode-views", decode_records)]
}

fn encode<D: Data>(meter: &mut dyn Meter) {
    let value = D::peer();
    meter.message(to_vec(&value).len());
    measure(meter, || to_vec(black_box(&value)));
}

fn encode_warm<D: Data>(meter: &mut dyn Meter) {
    let value = D::peer();
    let mut buffer = Buffer::new();
    meter.message(buffer.encode(&value).len());
    measure(meter, || black_box(buffer.encode(black_box(&value))).len());
}

/// Bytes of which it was seen that they decode into the value.
fn message<D: Data>(meter: &mut dyn Meter) -> Vec<u8> {
    let value = D::peer();
    let message = to_vec(&value);
    assert!(from_slice::<D::Peer>(&message).expect("it decodes") == value);
    meter.message(message.len());
    message
}

fn decode<D: Data>(meter: &mut dyn Meter) {
    let message = message::<D>(meter);
    measure(meter, || {
        from_slice::<D::Peer>(black_box(&message)).expect("it decodes")
    });
}

fn decode_records(meter: &mut dyn Meter) {
    let message = &*message::<Records>(meter);
    let view: LogView<'_> = from_slice(message).expect("it decodes");
    assert!(to_vec(&view) == message);
    measure(meter, || {
        from_slice::<LogView<'_>>(black_box(message)).expect("it decodes")
    });
}
