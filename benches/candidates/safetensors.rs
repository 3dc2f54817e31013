//! safetensors: a flat list of named tensors, so it is spared all other fields.

use std::collections::BTreeMap;
use std::hint::black_box;

use safetensors::SafeTensors;

use super::case::{Case, Meter, measure};
use crate::data::WithTensors;
use crate::data::peer_tensor::PeerTensor;

pub(super) fn cases<D: WithTensors>() -> Vec<Case> {
    let case = |operation, run| Case::new(D::NAME, "safetensors", operation, run);
    vec![
        case("encode", encode::<D>),
        case("decode", decode::<D>),
        case("decode-views", decode_views::<D>),
    ]
}

type Views<'a> = Vec<(&'a str, safetensors::tensor::TensorView<'a>)>;

fn views<D: WithTensors>(peer: &D::Peer) -> Views<'_> {
    let tensors = D::tensors(peer).into_iter();
    tensors.map(|(name, tensor)| (name, tensor.as_safetensor())).collect()
}

fn fresh(views: &Views<'_>) -> Vec<u8> {
    let tensors = views.iter().map(|(name, tensor)| (*name, tensor));
    safetensors::serialize(tensors, None).expect("it encodes")
}

fn read(bytes: &[u8]) -> SafeTensors<'_> {
    SafeTensors::deserialize(bytes).expect("it decodes")
}

fn owned(bytes: &[u8]) -> BTreeMap<String, PeerTensor> {
    let tensors = read(bytes);
    let owned = |(name, tensor): (&str, _)| (name.to_owned(), PeerTensor::from_safetensor(&tensor));
    tensors.iter().map(owned).collect()
}

/// Its views of tensors are made beforehand: a user would keep them, or have its own type implement its trait.
fn encode<D: WithTensors>(meter: &mut dyn Meter) {
    let value = D::peer();
    let views = views::<D>(&value);
    meter.message(fresh(&views).len());
    measure(meter, || fresh(black_box(&views)));
}

/// Bytes of which it was seen that they decode into the value's tensors.
fn message<D: WithTensors>(meter: &mut dyn Meter) -> Vec<u8> {
    let value = D::peer();
    let message = fresh(&views::<D>(&value));
    let tensors = owned(&message);
    let same = |(name, tensor): &(&str, &PeerTensor)| tensors.get(*name) == Some(tensor);
    assert!(D::tensors(&value).iter().all(same));
    meter.message(message.len());
    message
}

fn decode<D: WithTensors>(meter: &mut dyn Meter) {
    let message = message::<D>(meter);
    measure(meter, || owned(black_box(&message)));
}

/// Its names own their text; each tensor is then looked at once, without looking it up by name.
fn decode_views<D: WithTensors>(meter: &mut dyn Meter) {
    let message = message::<D>(meter);
    measure(meter, || {
        let tensors = read(black_box(&message));
        for tensor in tensors.iter() {
            black_box(tensor);
        }
        tensors
    });
}
