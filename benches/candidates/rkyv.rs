//! rkyv: the memory of the value, with relative pointers. Views are its archived types, in place and validated, not the value's own.

use std::hint::black_box;

use rkyv::rancor::Error;
use rkyv::util::AlignedVec;
use rkyv::{Archived, access, from_bytes, to_bytes};

use super::case::{Case, Meter, measure};
use crate::data::Data;

pub(super) fn cases<D: Data>() -> Vec<Case> {
    let case = |operation, run| Case::new(D::NAME, "rkyv", operation, run);
    vec![
        case("encode", encode::<D>),
        case("encode-warm", encode_warm::<D>),
        case("decode", decode::<D>),
        case("decode-views", decode_views::<D>),
    ]
}

fn fresh<D: Data>(value: &D::Peer) -> AlignedVec {
    to_bytes::<Error>(value).expect("it encodes")
}

fn encode<D: Data>(meter: &mut dyn Meter) {
    let value = D::peer();
    meter.message(fresh::<D>(&value).len());
    measure(meter, || fresh::<D>(black_box(&value)));
}

fn encode_warm<D: Data>(meter: &mut dyn Meter) {
    let value = D::peer();
    let mut buffer = fresh::<D>(&value);
    meter.message(buffer.len());
    measure(meter, || {
        let mut used = std::mem::take(&mut buffer);
        used.clear();
        buffer = rkyv::api::high::to_bytes_in::<_, Error>(black_box(&value), used).expect("it encodes");
        black_box(&buffer).len()
    });
}

/// Bytes of which it was seen that they decode into the value.
fn message<D: Data>(meter: &mut dyn Meter) -> AlignedVec {
    let value = D::peer();
    let message = fresh::<D>(&value);
    assert!(from_bytes::<D::Peer, Error>(&message).expect("it decodes") == value);
    meter.message(message.len());
    message
}

fn decode<D: Data>(meter: &mut dyn Meter) {
    let message = message::<D>(meter);
    measure(meter, || {
        from_bytes::<D::Peer, Error>(black_box(&message)).expect("it decodes")
    });
}

fn decode_views<D: Data>(meter: &mut dyn Meter) {
    let message = &*message::<D>(meter);
    measure(meter, || {
        access::<Archived<D::Peer>, Error>(black_box(message)).expect("it decodes")
    });
}
