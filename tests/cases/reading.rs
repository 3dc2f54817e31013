//! Faults of formats: bytes that harm their reader, errors that say nothing, derives that do not compile.
//!
//! Not here: what a hostile length makes a reader allocate is in `tests/memory.rs`, which counts the heap.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_tensor::{Category, DType, Decoder, Device, Encoder, Limits, Tensor, TensorDeserialize, TensorSerialize};

use crate::{both, ramp};

/// F8. Each kind of nesting and both sides are in `tests/format/limits.rs`.
#[test]
fn deep_nesting_is_an_error_at_a_limit_that_can_be_set() {
    #[derive(Serialize, Deserialize, Debug)]
    struct Deep(Vec<Deep>);
    let hostile = vec![0x91; 1_000_000];
    assert_eq!(
        serde_tensor::from_slice::<Deep>(&hostile).unwrap_err().category(),
        Category::Limit
    );
    let value = (1..130).fold(Deep(vec![]), |inner, _| Deep(vec![inner]));
    assert_eq!(serde_tensor::to_vec(&value).unwrap_err().category(), Category::Limit);
    let bytes = Encoder::new().depth(130).to_vec(&value).unwrap();
    assert_eq!(
        serde_tensor::from_slice::<Deep>(&bytes).unwrap_err().category(),
        Category::Limit
    );
    Decoder::new()
        .limits(Limits::new().depth(130))
        .from_slice::<Deep>(&bytes)
        .unwrap();
}

/// F9. What it allocates is counted in `tests/memory.rs`.
#[test]
fn a_length_beyond_the_input_is_refused_before_anything_is_read() {
    let array = [0xdd, 0xff, 0xff, 0xff, 0xff];
    assert_eq!(
        serde_tensor::from_slice::<Vec<()>>(&array).unwrap_err().category(),
        Category::Eof
    );
    assert_eq!(
        serde_tensor::from_slice::<Vec<u8>>(&array).unwrap_err().category(),
        Category::Eof
    );
    assert_eq!(
        serde_tensor::from_slice::<IgnoredAny>(&array).unwrap_err().category(),
        Category::Eof
    );
    let map = [0xdf, 0xff, 0xff, 0xff, 0xff];
    assert_eq!(
        serde_tensor::from_slice::<BTreeMap<(), ()>>(&map)
            .unwrap_err()
            .category(),
        Category::Eof
    );
    let text = [0xdb, 0xff, 0xff, 0xff, 0xff];
    assert_eq!(
        serde_tensor::from_slice::<String>(&text).unwrap_err().category(),
        Category::Eof
    );
}

/// F10. Fifty of them, word by word, are in `tests/format/errors.rs`.
#[test]
fn an_error_says_where_what_and_what_was_expected() {
    #[derive(Serialize)]
    struct Sent {
        layers: Vec<BTreeMap<&'static str, &'static str>>,
    }
    #[derive(Deserialize, Debug)]
    #[expect(dead_code, reason = "read only")]
    struct Read {
        layers: Vec<BTreeMap<String, f32>>,
    }
    let bytes = serde_tensor::to_vec(&Sent {
        layers: vec![BTreeMap::new(), BTreeMap::from([("rate", "fast")])],
    })
    .unwrap();
    let error = serde_tensor::from_slice::<Read>(&bytes).unwrap_err();
    assert_eq!(error.category(), Category::Data);
    assert_eq!(error.path(), Some("layers[1].rate"));
    let offset = usize::try_from(error.offset().unwrap()).unwrap();
    assert_eq!(&bytes[offset..], b"\xa4fast");
    assert!(error.to_string().contains("string \"fast\", expected f32"), "{error}");
}

/// F11.
#[test]
fn tensors_dtypes_and_devices_read_in_either_form_whatever_the_format_says_of_itself() {
    // The map form in a binary message, and in what serde buffers.
    let map = serde_json::json!({"dtype": "f32", "shape": [1], "device": "cuda:0", "data": "AACAPw=="});
    let bytes = serde_tensor::to_vec(&map).unwrap();
    let one = Tensor::from_elements(&[1.0f32], &[1]).unwrap();
    assert_eq!(serde_tensor::from_slice::<Tensor>(&bytes).unwrap(), one);
    // The tuple form in a human-readable format.
    let tuple = serde_json::json!([[2, 32, 0, 1, 0, 1, 1], [0, 0, 128, 63]]);
    assert_eq!(serde_json::from_value::<Tensor>(tuple.clone()).unwrap(), one);
    let bytes = serde_tensor::to_vec(&tuple).unwrap();
    assert_eq!(serde_tensor::from_slice::<Tensor>(&bytes).unwrap(), one);
    #[derive(TensorDeserialize)]
    #[serde(untagged)]
    enum Either {
        One(#[tensor] Tensor),
    }
    for value in [map, tuple] {
        let bytes = serde_tensor::to_vec(&value).unwrap();
        let Either::One(tensor) = serde_tensor::from_slice(&bytes).unwrap();
        assert_eq!(tensor, one);
        let Either::One(tensor) = serde_json::from_value(value).unwrap();
        assert_eq!(tensor, one);
    }
    // A dtype and a device are text everywhere.
    let names = (DType::BF16, Device::Cuda(1));
    let ours = serde_tensor::to_vec(&names).unwrap();
    assert_eq!(ours, b"\x92\xa4bf16\xa6cuda:1");
    assert_eq!(serde_tensor::from_slice::<(DType, Device)>(&ours).unwrap(), names);
    let json = serde_json::to_value(names).unwrap();
    assert_eq!(serde_json::from_value::<(DType, Device)>(json).unwrap(), names);
    let packed = postcard::to_stdvec(&names).unwrap();
    assert_eq!(postcard::from_bytes::<(DType, Device)>(&packed).unwrap(), names);
}

/// F12.
#[test]
fn wide_integers_chars_keys_of_any_type_and_nan_payloads_survive() {
    #[derive(Serialize, Deserialize, Debug, PartialEq, Eq, PartialOrd, Ord)]
    enum Key {
        Unit,
        Pair(u8, char),
    }
    type Value = (i128, u128, BTreeMap<i64, char>, BTreeMap<(u8, Key), Option<Option<u8>>>);
    let value: Value = (
        i128::MIN,
        u128::MAX,
        BTreeMap::from([(-1, '\u{10ffff}'), (1 << 40, '\0')]),
        BTreeMap::from([((1, Key::Unit), Some(None)), ((2, Key::Pair(3, 'ß')), None)]),
    );
    for compact in [false, true] {
        let bytes = Encoder::new().compact(compact).to_vec(&value).unwrap();
        assert_eq!(serde_tensor::from_slice::<Value>(&bytes).unwrap(), value);
    }
    for bits in [0x7f80_0001u32, 0xffc1_2345] {
        let bytes = serde_tensor::to_vec(&f32::from_bits(bits)).unwrap();
        assert_eq!(serde_tensor::from_slice::<f32>(&bytes).unwrap().to_bits(), bits);
        let tensor = Tensor::from_elements(&[f32::from_bits(bits)], &[1]).unwrap();
        let bytes = serde_tensor::to_vec(&tensor).unwrap();
        assert_eq!(
            serde_tensor::from_slice::<Tensor>(&bytes)
                .unwrap()
                .elements::<f32>()
                .unwrap()[0]
                .to_bits(),
            bits
        );
    }
}

/// F13. More of it is in `tests/derive/hygiene.rs`.
mod hostile_names {
    #![no_implicit_prelude]
    #![allow(dead_code, reason = "they only have to be in scope")]

    use ::serde_tensor as renamed;

    struct Result;
    struct Option;
    struct Vec;
    struct String;
    enum Some {}
    enum Ok {}

    #[derive(renamed::TensorSerialize, renamed::TensorDeserialize)]
    #[tensor(crate = "renamed")]
    pub(super) struct Named {
        #[tensor]
        pub(super) x: renamed::Tensor,
        #[tensor]
        pub(super) y: ::std::option::Option<::std::vec::Vec<renamed::Tensor>>,
        pub(super) text: ::std::string::String,
    }

    #[derive(renamed::TensorSerialize, renamed::TensorDeserialize)]
    #[tensor(crate = "renamed")]
    pub(super) enum Either {
        Left(#[tensor] renamed::Tensor),
        Right { n: u8 },
    }
}

/// F13.
#[test]
fn the_derive_compiles_whatever_is_in_scope() {
    use hostile_names::{Either, Named};
    let value = (
        Named {
            x: ramp(600),
            y: Some(vec![ramp(3)]),
            text: "t".into(),
        },
        Either::Left(ramp(700)),
    );
    let bytes = serde_tensor::to_vec(&value).unwrap();
    let (named, either): (Named, Either) = serde_tensor::from_slice(&bytes).unwrap();
    assert!(matches!(either, Either::Left(tensor) if tensor == ramp(700)));
    assert_eq!(
        (named.x, named.y, named.text),
        (ramp(600), Some(vec![ramp(3)]), "t".to_owned())
    );
    let bytes = serde_tensor::to_vec(&Either::Right { n: 4 }).unwrap();
    assert!(matches!(
        serde_tensor::from_slice(&bytes).unwrap(),
        Either::Right { n: 4 }
    ));
}

/// F14.
#[test]
fn a_parameter_in_phantom_data_or_a_skipped_field_gets_no_bound() {
    /// Implements nothing of serde's. (Of a skipped field serde itself asks for `Default`.)
    #[derive(Default)]
    struct Opaque;
    struct Nothing;

    #[derive(TensorSerialize, TensorDeserialize)]
    struct Generic<P, S, T> {
        marker: PhantomData<P>,
        #[serde(skip)]
        skipped: Option<Box<S>>,
        #[tensor]
        tensor: T,
    }
    let value = Generic::<Nothing, Opaque, Tensor> {
        marker: PhantomData,
        skipped: Some(Box::new(Opaque)),
        tensor: ramp(600),
    };
    for bytes in both(&Encoder::new(), &value) {
        let read: Generic<Nothing, Opaque, Tensor> = serde_tensor::from_slice(&bytes).unwrap();
        assert_eq!(read.tensor, ramp(600));
        assert!(read.skipped.is_none() && read.marker == PhantomData);
    }
}

/// F15. Each has its edge in `tests/format/limits.rs`; here all that are documented are applied.
#[test]
fn every_documented_limit_is_applied() {
    let limited = |limits: Limits, bytes: &[u8]| {
        Decoder::new()
            .limits(limits)
            .from_slice::<Vec<Tensor>>(bytes)
            .unwrap_err()
            .category()
    };
    let bytes = serde_tensor::to_vec(&vec![ramp(600), ramp(600)]).unwrap();
    serde_tensor::from_slice::<Vec<Tensor>>(&bytes).unwrap();
    assert_eq!(limited(Limits::new().depth(0), &bytes), Category::Limit);
    assert_eq!(limited(Limits::new().rank(0), &bytes), Category::Limit);
    assert_eq!(limited(Limits::new().segments(1), &bytes), Category::Limit);
    assert_eq!(limited(Limits::new().message(100), &bytes), Category::Limit);
    assert_eq!(limited(Limits::new().copies(0), &bytes), Category::Limit);
}
