//! bincode 1, a reference point: fixed-size integers, not self-describing. It is not developed any more.

use std::hint::black_box;

use bincode::{deserialize, serialize, serialize_into};

use super::case::{Case, Meter, measure};
use crate::data::Data;

pub(super) fn cases<D: Data>() -> Vec<Case> {
    let case = |operation, run| Case::new(D::NAME, "bincode 1", operation, run);
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
    meter.message(serialize(&value).expect("it encodes").len());
    measure(meter, || serialize(black_box(&value)).expect("it encodes"));
}

fn encode_warm<D: Data>(meter: &mut dyn Meter) {
    let value = D::peer();
    let mut buffer = serialize(&value).expect("it encodes");
    meter.message(buffer.len());
    measure(meter, || {
        buffer.clear();
        serialize_into(&mut buffer, black_box(&value)).expect("it encodes");
        black_box(&buffer).len()
    });
}

/// Bytes of which it was seen that they decode into the value.
fn message<D: Data>(meter: &mut dyn Meter) -> Vec<u8> {
    let value = D::peer();
    let message = serialize(&value).expect("it encodes");
    assert!(deserialize::<D::Peer>(&message).expect("it decodes") == value);
    meter.message(message.len());
    message
}

fn decode<D: Data>(meter: &mut dyn Meter) {
    let message = message::<D>(meter);
    measure(meter, || {
        deserialize::<D::Peer>(black_box(&message)).expect("it decodes")
    });
}

fn decode_views<D: Data>(meter: &mut dyn Meter) {
    let message = &*message::<D>(meter);
    let view: D::PeerView<'_> = deserialize(message).expect("it decodes");
    assert!(serialize(&view).expect("it encodes") == message);
    measure(meter, || {
        deserialize::<D::PeerView<'_>>(black_box(message)).expect("it decodes")
    });
}
