//! Wrappers of the standard library that serde serializes by itself: ranges, orderings, wrapping numbers.
//!
//! The mark does not reach through them, so they claim what their content claims unmarked.

use std::cmp::Reverse;
use std::num::{Saturating, Wrapping};
use std::ops::{Bound, Range, RangeFrom, RangeInclusive, RangeTo};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::deserialize::TensorDeserialize;
use super::levels::levels;
use super::presence::{Facts, Presence};
use super::serialize::TensorSerialize;
use crate::leaf::TensorVisitor;
use crate::scan::contains_tensor_dyn;

macro_rules! wrappers {
    ($($wrapper:ident)*) => {$(
        impl<T: TensorSerialize> TensorSerialize for $wrapper<T>
        where
            Self: Serialize,
        {
            levels!(T => .by_serde());

            fn contains_tensor(&self) -> bool {
                Self::PRESENCE != Presence::Never && contains_tensor_dyn(self)
            }

            fn serialize_tensors<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.serialize(serializer)
            }

            /// Nothing: serde alone sees what is inside.
            fn visit_tensors<'a>(&'a self, _: &mut TensorVisitor<'a, '_>) -> crate::Result<()> {
                Ok(())
            }
        }

        impl<'de, T> TensorDeserialize<'de> for $wrapper<T>
        where
            Self: Deserialize<'de>,
        {
            fn deserialize_tensors<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::deserialize(deserializer)
            }
        }
    )*};
}

wrappers!(Range RangeFrom RangeInclusive RangeTo Bound Reverse Wrapping Saturating);
