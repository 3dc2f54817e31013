//! Numbers: alone they are numbers, in a marked row they are a tensor of one dimension.

use half::{bf16, f16};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::deserialize::{TensorDeserialize, into_array};
use super::presence::Presence;
use super::serialize::TensorSerialize;
use crate::leaf::{self, TensorVisitor};

/// The impls of an element, given how one alone is written and read.
macro_rules! elements {
    ($($element:ty: |$value:ident| $write:expr, $read:expr;)*) => {$(
        impl TensorSerialize for $element {
            const PRESENCE: Presence = Presence::Never;
            const BULK: bool = true;

            fn contains_tensor(&self) -> bool {
                false
            }

            fn serialize_tensors<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let $value = *self;
                $write.serialize(serializer)
            }

            fn visit_tensors<'a>(&'a self, _: &mut TensorVisitor<'a, '_>) -> crate::Result<()> {
                Ok(())
            }

            fn serialize_row<S: Serializer>(row: &[Self], serializer: S) -> Result<S::Ok, S::Error> {
                leaf::serialize_slice(row, serializer)
            }

            fn serialize_array<S: Serializer>(array: &[Self], serializer: S) -> Result<S::Ok, S::Error> {
                leaf::serialize_slice(array, serializer)
            }

            fn visit_row<'a>(row: &'a [Self], visitor: &mut TensorVisitor<'a, '_>) -> crate::Result<()> {
                visitor.slice(row)
            }
        }

        impl<'de> TensorDeserialize<'de> for $element {
            fn deserialize_tensors<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Deserialize::deserialize(deserializer).map($read)
            }

            fn deserialize_row<D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Self>, D::Error> {
                leaf::deserialize_vec(deserializer)
            }

            fn deserialize_array<D: Deserializer<'de>, const N: usize>(
                deserializer: D,
            ) -> Result<[Self; N], D::Error> {
                into_array(leaf::deserialize_vec(deserializer)?)
            }
        }
    )*};
}

elements! {
    bool: |value| value, <Self as From<Self>>::from;
    u8: |value| value, <Self as From<Self>>::from;
    i8: |value| value, <Self as From<Self>>::from;
    u16: |value| value, <Self as From<Self>>::from;
    i16: |value| value, <Self as From<Self>>::from;
    u32: |value| value, <Self as From<Self>>::from;
    i32: |value| value, <Self as From<Self>>::from;
    u64: |value| value, <Self as From<Self>>::from;
    i64: |value| value, <Self as From<Self>>::from;
    f32: |value| value, <Self as From<Self>>::from;
    f64: |value| value, <Self as From<Self>>::from;
    // Half-precision numbers alone travel as `f32`, which holds each of them exactly.
    f16: |value| f32::from(value), Self::from_f32;
    bf16: |value| f32::from(value), Self::from_f32;
}
