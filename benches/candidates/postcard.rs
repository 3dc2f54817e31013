//! postcard: compact, not self-describing, lengths and integers of variable size.

use std::hint::black_box;

use postcard::{from_bytes, to_extend, to_stdvec};

use super::case::{Case, Meter, measure};
use crate::data::Data;

pub(super) fn cases<D: Data>() -> Vec<Case> {
    let case = |operation, run| Case::new(D::NAME, "postcard", operation, run);
    let mut cases = vec![
        case("encode", encode::<D>),
        case("encode-warm", encode_warm::<D>),
        case("decode", decode::<D>),
    ];
    if D::BORROWS {
        cases.push(case("decode-views", decode_views::<D>));
    }
    cases
}

fn encode<D: Data>(meter: &mut dyn Meter) {
    let value = D::peer();
    meter.message(to_stdvec(&value).expect("it encodes").len());
    measure(meter, || to_stdvec(black_box(&value)).expect("it encodes"));
}

fn encode_warm<D: Data>(meter: &mut dyn Meter) {
    let value = D::peer();
    let mut buffer = to_stdvec(&value).expect("it encodes");
    meter.message(buffer.len());
    measure(meter, || {
        let mut used = std::mem::take(&mut buffer);
        used.clear();
        buffer = to_extend(black_box(&value), used).expect("it encodes");
        black_box(&buffer).len()
    });
}

/// Bytes of which it was seen that they decode into the value.
fn message<D: Data>(meter: &mut dyn Meter) -> Vec<u8> {
    let value = D::peer();
    let message = to_stdvec(&value).expect("it encodes");
    assert!(from_bytes::<D::Peer>(&message).expect("it decodes") == value);
    meter.message(message.len());
    message
}

fn decode<D: Data>(meter: &mut dyn Meter) {
    let message = message::<D>(meter);
    measure(meter, || {
        from_bytes::<D::Peer>(black_box(&message)).expect("it decodes")
    });
}

fn decode_views<D: Data>(meter: &mut dyn Meter) {
    let message = &*message::<D>(meter);
    let view: D::PeerView<'_> = from_bytes(message).expect("it decodes");
    assert!(to_stdvec(&view).expect("it encodes") == message);
    measure(meter, || {
        from_bytes::<D::PeerView<'_>>(black_box(message)).expect("it decodes")
    });
}
