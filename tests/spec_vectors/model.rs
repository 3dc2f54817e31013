//! The Rust types and expressions that the specification names.

use std::collections::BTreeMap;
use std::fmt::Debug;

use serde::de::{DeserializeOwned, Deserializer, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq, Serializer};
use serde::{Deserialize, Serialize};
use serde_tensor::{Encoder, Result, Tensor, TensorDeserialize, TensorSerialize};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Unit;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Newtype(u8);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pair(u8, bool);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Fields {
    a: u8,
    b: String,
}

#[derive(Debug, PartialEq, TensorSerialize, TensorDeserialize)]
pub(crate) struct Sample {
    n: u8,
    #[tensor]
    x: Tensor,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum E {
    Unit,
    Newtype(u8),
    Tuple(u8, u8),
    Struct { a: u8 },
}

/// serde's bytes.
#[derive(Debug, PartialEq)]
pub(crate) struct ByteString(Vec<u8>);

/// A sequence that does not say its length.
#[derive(Debug, PartialEq, Deserialize)]
pub(crate) struct UnknownSeq(Vec<u8>);

/// A map that does not say its length.
#[derive(Debug, PartialEq, Deserialize)]
pub(crate) struct UnknownMap(BTreeMap<String, u8>);

/// An `f32` compared by its bits.
#[derive(Debug, PartialEq)]
pub(crate) struct Bits32(u32);

/// An `f64` compared by its bits.
#[derive(Debug, PartialEq)]
pub(crate) struct Bits64(u64);

/// A vector that travels as a tensor.
#[derive(Debug, PartialEq, TensorSerialize, TensorDeserialize)]
pub(crate) struct F32s(#[tensor] Vec<f32>);

fn tensor(elements: &[u8]) -> Tensor {
    Tensor::from_elements(elements, &[elements.len()]).unwrap()
}

/// An expression of the specification, and what to do with its value.
pub(crate) struct Model {
    pub(crate) expression: &'static str,
    /// Writes the value; compact or named.
    pub(crate) encode: Box<dyn Fn(bool) -> Result<Vec<u8>>>,
    /// Reads bytes as the value's type, checks that they hold the value, and writes what was read.
    pub(crate) decode: Box<Decode>,
}

type Decode = dyn Fn(&[u8], bool) -> Result<Vec<u8>>;

fn model<T>(expression: &'static str, value: impl Fn() -> T + Copy + 'static) -> Model
where
    T: Serialize + DeserializeOwned + PartialEq + Debug,
{
    let encode = move |value: &T, compact| Encoder::new().compact(compact).to_vec(value);
    Model {
        expression,
        encode: Box::new(move |compact| encode(&value(), compact)),
        decode: Box::new(move |bytes, compact| {
            let read: T = serde_tensor::from_slice(bytes)?;
            assert_eq!(read, value(), "{expression}");
            encode(&read, compact)
        }),
    }
}

macro_rules! models {
    ($($expression:expr),* $(,)?) => {
        vec![$(model(stringify!($expression), || $expression)),*]
    };
}

/// Every expression of sections S and A.
#[rustfmt::skip]
pub(crate) fn models() -> Vec<Model> {
    models![
        false, true,
        0u8, 7u8, 127u8, 128u8, 255u16, 256u16, 65535u32, 65536u32, u32::MAX, 1u64 << 32, u64::MAX,
        1i64, -1i8, -32i8, -33i8, i8::MIN, -129i16, i16::MIN, 200i16, -32769i32, i32::MIN, i64::from(i32::MIN) - 1, i64::MIN,
        -1i128, i128::MIN, i128::MAX, i128::from(i64::MIN), i128::from(i64::MIN) - 1, i128::from(u64::MAX), i128::from(u64::MAX) + 1,
        u128::MAX, u128::from(u64::MAX), u128::from(u64::MAX) + 1,
        1.5f32, f32::INFINITY, 1.5f64, 1.0f64, 2.0f64, -0.0f64, Bits32(0x7fa0_0001), Bits64(0xfff4_0000_0000_0001),
        'a', 'ß', '\u{10ffff}',
        String::new(), "x".to_string(), "x".repeat(31), "x".repeat(32), "x".repeat(256),
        ByteString(vec![]), ByteString(vec![1, 2]), ByteString(vec![7; 256]),
        None::<u8>, Some(5u8), Some(None::<u8>), Some(Some(None::<u8>)), Some(Some(Some(None::<u8>))), Some(Some(5u8)), Some(()), Some(Some(())), Some(Unit),
        Some(vec![None::<u8>]), vec![Some(E::Unit), None],
        (), Unit, Newtype(5), Pair(5, true), (1u8, "a".to_string(), None::<bool>),
        vec![1u8, 2], [7u8; 3], vec![1u8; 16], UnknownSeq(vec![1]), UnknownMap(BTreeMap::from([("a".into(), 1)])),
        E::Unit, E::Newtype(7), E::Tuple(1, 2), E::Struct { a: 1 },
        Fields { a: 1, b: "x".into() },
        BTreeMap::from([(5u32, true)]), BTreeMap::from([((1u8, true), E::Unit)]), BTreeMap::from([(E::Unit, 1u8)]),
        Sample { n: 1, x: tensor(&[1, 2]) }, Some(tensor(&[5])), Some(None::<Tensor>),
    ]
}

impl Serialize for ByteString {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for ByteString {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BytesVisitor;

        impl<'de> Visitor<'de> for BytesVisitor {
            type Value = ByteString;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<ByteString, E> {
                Ok(ByteString(bytes.to_vec()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<ByteString, A::Error> {
                let mut bytes = Vec::new();
                while let Some(byte) = seq.next_element()? {
                    bytes.push(byte);
                }
                Ok(ByteString(bytes))
            }
        }

        deserializer.deserialize_bytes(BytesVisitor)
    }
}

impl Serialize for UnknownSeq {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(None)?;
        self.0.iter().try_for_each(|item| seq.serialize_element(item))?;
        seq.end()
    }
}

impl Serialize for UnknownMap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.0
            .iter()
            .try_for_each(|(key, value)| map.serialize_entry(key, value))?;
        map.end()
    }
}

impl Serialize for Bits32 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f32(f32::from_bits(self.0))
    }
}

impl<'de> Deserialize<'de> for Bits32 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f32::deserialize(deserializer).map(|value| Self(value.to_bits()))
    }
}

impl Serialize for Bits64 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(f64::from_bits(self.0))
    }
}

impl<'de> Deserialize<'de> for Bits64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer).map(|value| Self(value.to_bits()))
    }
}
