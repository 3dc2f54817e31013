//! JSON, `MessagePack`, postcard and CBOR, by the crates that most programs use.

use std::fmt::Debug;

use half::{bf16, f16};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_tensor::{DType, Tensor, TensorDeserialize, TensorSerialize};

use crate::{ramp, rollouts};

/// Through every format, and every way in and out of it.
#[track_caller]
fn comes_back<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    self_describing(value);
    let bytes = postcard::to_stdvec(value).unwrap();
    assert!(postcard::from_bytes::<T>(&bytes).unwrap() == *value, "postcard");
    let bytes = rmp_serde::to_vec(value).unwrap();
    assert!(rmp_serde::from_slice::<T>(&bytes).unwrap() == *value, "MessagePack");
    assert!(
        rmp_serde::from_read::<_, T>(bytes.as_slice()).unwrap() == *value,
        "MessagePack that cannot be borrowed"
    );
    // This crate reads any MessagePack, tensors in the tuple form among it.
    assert!(
        serde_tensor::from_slice::<T>(&bytes).unwrap() == *value,
        "MessagePack read here"
    );
}

/// Through those that say what they hold, names included.
#[track_caller]
fn self_describing<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    let json = serde_json::to_string(value).unwrap();
    assert!(serde_json::from_str::<T>(&json).unwrap() == *value, "JSON text");
    assert!(
        serde_json::from_reader::<_, T>(json.as_bytes()).unwrap() == *value,
        "JSON that cannot be borrowed"
    );
    let tree = serde_json::to_value(value).unwrap();
    assert!(serde_json::from_value::<T>(tree).unwrap() == *value, "a JSON tree");

    let named = rmp_serde::to_vec_named(value).unwrap();
    assert!(
        rmp_serde::from_slice::<T>(&named).unwrap() == *value,
        "MessagePack with names"
    );
    assert!(
        serde_tensor::from_slice::<T>(&named).unwrap() == *value,
        "named MessagePack read here"
    );

    let mut bytes = Vec::new();
    ciborium::into_writer(value, &mut bytes).unwrap();
    assert!(
        ciborium::from_reader::<T, _>(bytes.as_slice()).unwrap() == *value,
        "CBOR"
    );
    let tree = ciborium::Value::serialized(value).unwrap();
    assert!(tree.deserialized::<T>().unwrap() == *value, "a CBOR tree");
}

#[test]
fn derived_types_come_back_from_every_format() {
    for value in rollouts() {
        comes_back(&value);
    }
}

#[test]
fn tensors_of_every_dtype_and_shape_come_back_from_every_format() {
    comes_back(&Tensor::from_elements(&[true, false], &[2]).unwrap());
    comes_back(&Tensor::from_elements(&[f16::from_f32(1.5)], &[1, 1]).unwrap());
    comes_back(&Tensor::from_elements(&[bf16::from_f32(1.5)], &[1]).unwrap());
    comes_back(&Tensor::from_elements(&[f64::MIN_POSITIVE, -0.0], &[2, 1]).unwrap());
    comes_back(&Tensor::from_bytes(DType::C64, &[1], vec![1; 8]).unwrap());
    comes_back(&Tensor::from_bytes(DType::F4E2M1Fn, &[3], vec![0x21, 0x03]).unwrap());
    comes_back(&Tensor::from_bytes(DType::from_dlpack(9, 8).unwrap(), &[3], vec![1, 2, 3]).unwrap());
    comes_back(&Tensor::scalar(5u8));
    comes_back(&ramp(0));
    comes_back(&Tensor::zeros(DType::F32, &[2, 0, 3]).unwrap());
    comes_back(&ramp(1 << 20));
}

#[test]
fn nested_options_of_tensors_come_back_from_formats_that_keep_them() {
    let value = vec![None, Some(None), Some(Some(ramp(600)))];
    let bytes = postcard::to_stdvec(&value).unwrap();
    assert_eq!(
        postcard::from_bytes::<Vec<Option<Option<Tensor>>>>(&bytes).unwrap(),
        value
    );
}

macro_rules! tagged {
    ($($name:ident [$($tag:tt)*];)*) => {$(
        #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
        #[serde($($tag)*)]
        enum $name {
            Wait,
            Newtype(#[tensor] Leaf),
            Struct { #[tensor] x: Option<Tensor>, fast: bool },
        }

        impl $name {
            fn all() -> Vec<Self> {
                vec![Self::Wait, Self::Newtype(Leaf { y: ramp(600) }), Self::Struct { x: Some(ramp(3)), fast: true }]
            }
        }
    )*};
}

#[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
struct Leaf {
    #[tensor]
    y: Tensor,
}

tagged! {
    Internal [tag = "t"];
    Adjacent [tag = "t", content = "c"];
    Untagged [untagged];
}

#[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
struct Flat {
    n: u8,
    #[serde(flatten)]
    #[tensor]
    leaf: Leaf,
}

#[test]
fn every_tagging_comes_back_from_formats_that_describe_themselves() {
    Internal::all().iter().for_each(self_describing);
    Adjacent::all().iter().for_each(self_describing);
    Untagged::all().iter().for_each(self_describing);
    self_describing(&Flat {
        n: 1,
        leaf: Leaf { y: ramp(600) },
    });
}

#[test]
fn a_tensor_is_bytes_in_binary_formats() {
    let tensor = ramp(10_000);
    let mut cbor = Vec::new();
    ciborium::into_writer(&tensor, &mut cbor).unwrap();
    for bytes in [
        rmp_serde::to_vec(&tensor).unwrap(),
        postcard::to_stdvec(&tensor).unwrap(),
        cbor,
    ] {
        assert!(bytes.len() < 10_050, "{}", bytes.len());
        assert!(bytes.windows(10_000).any(|window| window == tensor.bytes()));
    }
    // As bytes, not as an array of integers, which rmp-serde makes of slices by itself.
    assert_eq!(rmp_serde::to_vec(&tensor).unwrap()[..2], [0x92, 0xc4]);
}

#[test]
fn a_tensor_from_a_peers_slice_is_checked_as_one_of_our_own() {
    let honest = rmp_serde::to_vec(&ramp(4)).unwrap();
    let rest = honest.len() - 4;
    for changed in [
        [&honest[..rest - 1], &[3], &honest[rest..rest + 3]].concat(),
        [&honest[..rest - 1], &[5], &honest[rest..], &[0]].concat(),
    ] {
        let error = rmp_serde::from_slice::<Tensor>(&changed).unwrap_err();
        assert!(error.to_string().contains("ask for 4 bytes"), "{error}");
    }
    // A third element is no part of a tensor.
    let tuple = (
        serde_bytes::Bytes::new(&[1, 8, 0, 1, 0, 1, 1]),
        serde_bytes::Bytes::new(&[5]),
    );
    let bytes = rmp_serde::to_vec(&tuple).unwrap();
    assert_eq!(rmp_serde::from_slice::<Tensor>(&bytes).unwrap().bytes(), [5]);
    let bytes = rmp_serde::to_vec(&(tuple.0, tuple.1, serde_bytes::Bytes::new(&[5]))).unwrap();
    assert!(rmp_serde::from_slice::<Tensor>(&bytes).is_err());
    assert!(serde_tensor::from_slice::<Tensor>(&bytes).is_err());
}
