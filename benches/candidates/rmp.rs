//! rmp-serde: MessagePack, with the names of fields and without.

use std::hint::black_box;

use rmp_serde::{Serializer, from_slice, to_vec, to_vec_named};
use serde::Serialize;

use super::case::{Case, Meter, measure};
use crate::data::Data;

const fn name(named: bool) -> &'static str {
    if named { "rmp-serde named" } else { "rmp-serde compact" }
}

pub(super) fn cases<D: Data>() -> Vec<Case> {
    [cases_of::<D, true>(), cases_of::<D, false>()].concat()
}

fn cases_of<D: Data, const NAMED: bool>() -> Vec<Case> {
    let case = |operation, run| Case::new(D::NAME, name(NAMED), operation, run);
    let mut cases = vec![
        case("encode", encode::<D, NAMED>),
        case("encode-warm", encode_warm::<D, NAMED>),
        case("decode", decode::<D, NAMED>),
    ];
    if D::BORROWS {
        cases.push(case("decode-views", decode_views::<D, NAMED>));
    }
    cases
}

fn fresh<const NAMED: bool>(value: &impl Serialize) -> Vec<u8> {
    if NAMED { to_vec_named(value) } else { to_vec(value) }.expect("it encodes")
}

fn encode<D: Data, const NAMED: bool>(meter: &mut dyn Meter) {
    let value = D::peer();
    meter.message(fresh::<NAMED>(&value).len());
    measure(meter, || fresh::<NAMED>(black_box(&value)));
}

fn encode_warm<D: Data, const NAMED: bool>(meter: &mut dyn Meter) {
    let value = D::peer();
    let mut buffer = fresh::<NAMED>(&value);
    meter.message(buffer.len());
    measure(meter, || {
        buffer.clear();
        let mut serializer = Serializer::new(&mut buffer);
        if NAMED {
            black_box(&value).serialize(&mut serializer.with_struct_map())
        } else {
            black_box(&value).serialize(&mut serializer)
        }
        .expect("it encodes");
        black_box(&buffer).len()
    });
}

/// Bytes of which it was seen that they decode into the value.
fn message<D: Data, const NAMED: bool>(meter: &mut dyn Meter) -> Vec<u8> {
    let value = D::peer();
    let message = fresh::<NAMED>(&value);
    assert!(from_slice::<D::Peer>(&message).expect("it decodes") == value);
    meter.message(message.len());
    message
}

fn decode<D: Data, const NAMED: bool>(meter: &mut dyn Meter) {
    let message = message::<D, NAMED>(meter);
    measure(meter, || {
        from_slice::<D::Peer>(black_box(&message)).expect("it decodes")
    });
}

fn decode_views<D: Data, const NAMED: bool>(meter: &mut dyn Meter) {
    let message = &*message::<D, NAMED>(meter);
    let view: D::PeerView<'_> = from_slice(message).expect("it decodes");
    assert!(fresh::<NAMED>(&view) == message);
    measure(meter, || {
        from_slice::<D::PeerView<'_>>(black_box(message)).expect("it decodes")
    });
}
