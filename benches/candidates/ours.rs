//! serde-tensor: named as it comes, and compact.

use std::hint::black_box;
use std::io;

use bytes::Bytes;
use serde_tensor::{Encoder, Plan, from_bytes, from_reader, from_slice};

use super::case::{Case, Meter, measure};
use crate::data::{Data, WithTensors};

const NAMED: &str = "serde-tensor";
const COMPACT: &str = "serde-tensor compact";
/// Decoded tensors share the message's buffer.
const SHARED: &str = "serde-tensor shared";

pub(super) fn cases<D: Data>() -> Vec<Case> {
    let mut cases = vec![
        Case::new(D::NAME, NAMED, "encode", encode::<D, false>),
        Case::new(D::NAME, NAMED, "encode-warm", encode_warm::<D, false>),
        Case::new(D::NAME, NAMED, "decode", decode::<D, false>),
        Case::new(D::NAME, COMPACT, "encode", encode::<D, true>),
        Case::new(D::NAME, COMPACT, "encode-warm", encode_warm::<D, true>),
        Case::new(D::NAME, COMPACT, "decode", decode::<D, true>),
    ];
    if D::BORROWS {
        cases.push(Case::new(D::NAME, NAMED, "decode-views", decode_views::<D, false>));
        cases.push(Case::new(D::NAME, COMPACT, "decode-views", decode_views::<D, true>));
    }
    cases
}

/// What only a value with tensors can do.
pub(super) fn planned<D: WithTensors>() -> Vec<Case> {
    let case = |operation, run| Case::new(D::NAME, NAMED, operation, run);
    vec![
        Case::new(D::NAME, SHARED, "decode", decode_shared::<D>),
        case("plan", plan::<D>),
        case("write", write::<D>),
        case("read", read::<D>),
    ]
}

fn encoder<const COMPACT: bool>() -> Encoder {
    Encoder::new().compact(COMPACT)
}

fn encode<D: Data, const COMPACT: bool>(meter: &mut dyn Meter) {
    let value = D::ours();
    let encoder = encoder::<COMPACT>();
    meter.message(encoder.to_vec(&value).expect("it encodes").len());
    measure(meter, || encoder.to_vec(black_box(&value)).expect("it encodes"));
}

fn encode_warm<D: Data, const COMPACT: bool>(meter: &mut dyn Meter) {
    let value = D::ours();
    let encoder = encoder::<COMPACT>();
    let mut buffer = encoder.to_vec(&value).expect("it encodes");
    meter.message(buffer.len());
    measure(meter, || {
        encoder.to_vec_into(black_box(&value), &mut buffer).expect("it encodes");
        black_box(&buffer).len()
    });
}

/// A message, of which it was seen that it decodes into the value.
fn message<D: Data, const COMPACT: bool>(meter: &mut dyn Meter) -> Vec<u8> {
    let value = D::ours();
    let message = encoder::<COMPACT>().to_vec(&value).expect("it encodes");
    assert!(from_slice::<D::Ours>(&message).expect("it decodes") == value);
    meter.message(message.len());
    message
}

fn decode<D: Data, const COMPACT: bool>(meter: &mut dyn Meter) {
    let message = message::<D, COMPACT>(meter);
    measure(meter, || {
        from_slice::<D::Ours>(black_box(&message)).expect("it decodes")
    });
}

fn decode_views<D: Data, const COMPACT: bool>(meter: &mut dyn Meter) {
    let message = &*message::<D, COMPACT>(meter);
    let view: D::View<'_> = from_slice(message).expect("it decodes");
    assert!(encoder::<COMPACT>().to_vec(&view).expect("it encodes") == message);
    measure(meter, || {
        from_slice::<D::View<'_>>(black_box(message)).expect("it decodes")
    });
}

fn decode_shared<D: WithTensors>(meter: &mut dyn Meter) {
    let message = Bytes::from(message::<D, false>(meter));
    measure(meter, || {
        from_bytes::<D::Ours>(black_box(&message).clone()).expect("it decodes")
    });
}

fn plan<D: WithTensors>(meter: &mut dyn Meter) {
    let value = D::ours();
    let plan = Plan::new(&value).expect("it encodes");
    assert_eq!(plan.copied(), 0, "a tensor was copied");
    meter.message(plan.len());
    drop(plan);
    measure(meter, || Plan::new(black_box(&value)).expect("it encodes").len());
}

fn write<D: WithTensors>(meter: &mut dyn Meter) {
    let value = D::ours();
    meter.message(Plan::new(&value).expect("it encodes").len());
    measure(meter, || {
        let plan = Plan::new(black_box(&value)).expect("it encodes");
        plan.write_to(io::sink()).expect("a sink takes everything");
    });
}

fn read<D: WithTensors>(meter: &mut dyn Meter) {
    let message = message::<D, false>(meter);
    measure(meter, || {
        from_reader::<_, D::Ours>(black_box(&*message)).expect("it decodes")
    });
}
