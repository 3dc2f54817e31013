//! The derive: what may be a field, what stands beside `#[tensor]`, and what is emitted.

// The types here are odd on purpose, and each stands beside the test that needs it.
#![allow(
    clippy::items_after_statements,
    clippy::linkedlist,
    clippy::option_option,
    clippy::struct_field_names,
    clippy::trivially_copy_pass_by_ref,
    clippy::type_complexity,
    clippy::unused_self
)]

mod adjacent;
mod borrowing;
mod bulk;
mod containers;
mod generics;
mod hygiene;
mod lints;
mod presence;
mod recursion;
mod scan;
mod serde_attributes;
mod tagging;
mod visiting;

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_tensor::Tensor;

/// A small tensor, different for each seed.
fn tensor(seed: u8) -> Tensor {
    let seed = f32::from(seed);
    Tensor::from_elements(&[seed, seed + 0.5, -seed], &[3]).unwrap()
}

/// The value comes back from every format, those that do not describe themselves too.
#[track_caller]
fn round_trips<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    named_round_trips(value);
    compact_round_trips(value);
    let postcard = postcard::to_stdvec(value).unwrap();
    assert_eq!(&postcard::from_bytes::<T>(&postcard).unwrap(), value, "postcard");
}

/// The value comes back from this format without field names.
#[track_caller]
fn compact_round_trips<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    let compact = serde_tensor::Encoder::new().compact(true).to_vec(value).unwrap();
    assert_eq!(&serde_tensor::from_slice::<T>(&compact).unwrap(), value, "compact");
}

/// The value comes back from formats that name what they hold, so that fields may be left out.
#[track_caller]
fn named_round_trips<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    let bytes = serde_tensor::to_vec(value).unwrap();
    assert_eq!(&serde_tensor::from_slice::<T>(&bytes).unwrap(), value, "named");
    let json = serde_json::to_string(value).unwrap();
    assert_eq!(&serde_json::from_str::<T>(&json).unwrap(), value, "as {json}");
    let message_pack = rmp_serde::to_vec_named(value).unwrap();
    assert_eq!(
        &rmp_serde::from_slice::<T>(&message_pack).unwrap(),
        value,
        "MessagePack"
    );
    let mut cbor = Vec::new();
    ciborium::into_writer(value, &mut cbor).unwrap();
    assert_eq!(&ciborium::from_reader::<T, _>(&*cbor).unwrap(), value, "CBOR");
}
