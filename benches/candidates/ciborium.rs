//! ciborium: CBOR. It reads from readers alone, so nothing can be borrowed.

use std::hint::black_box;

use ciborium::{from_reader, into_writer};
use serde::Serialize;

use super::case::{Case, Meter, measure};
use crate::data::Data;

pub(super) fn cases<D: Data>() -> Vec<Case> {
    let case = |operation, run| Case::new(D::NAME, "ciborium", operation, run);
    vec![
        case("encode", encode::<D>),
        case("encode-warm", encode_warm::<D>),
        case("decode", decode::<D>),
    ]
}

fn fresh(value: &impl Serialize) -> Vec<u8> {
    let mut buffer = Vec::new();
    into_writer(value, &mut buffer).expect("it encodes");
    buffer
}

fn encode<D: Data>(meter: &mut dyn Meter) {
    let value = D::peer();
    meter.message(fresh(&value).len());
    measure(meter, || fresh(black_box(&value)));
}

fn encode_warm<D: Data>(meter: &mut dyn Meter) {
    let value = D::peer();
    let mut buffer = fresh(&value);
    meter.message(buffer.len());
    measure(meter, || {
        buffer.clear();
        into_writer(black_box(&value), &mut buffer).expect("it encodes");
        black_box(&buffer).len()
    });
}

fn decode<D: Data>(meter: &mut dyn Meter) {
    let value = D::peer();
    let message = fresh(&value);
    assert!(from_reader::<D::Peer, _>(&*message).expect("it decodes") == value);
    meter.message(message.len());
    drop(value);
    measure(meter, || {
        from_reader::<D::Peer, _>(black_box(&*message)).expect("it decodes")
    });
}
