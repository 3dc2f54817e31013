//! Tuples of up to 16 values.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::deserialize::{TensorDeserialize, Unmarked};
use super::levels::levels;
use super::presence::{Facts, Presence};
use super::serialize::{Marked, TensorSerialize, contains_tensor};
use crate::leaf::TensorVisitor;

macro_rules! tuples {
    ($(($($name:ident $index:tt),+))+) => {$(
        impl<$($name: TensorSerialize),+> TensorSerialize for ($($name,)+) {
            levels!(all [$($name),+]);

            fn contains_tensor(&self) -> bool {
                $(contains_tensor(&self.$index))||+
            }

            fn serialize_tensors<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                ($(Marked(&self.$index),)+).serialize(serializer)
            }

            fn visit_tensors<'a>(&'a self, visitor: &mut TensorVisitor<'a, '_>) -> crate::Result<()> {
                $(self.$index.visit_tensors(visitor)?;)+
                Ok(())
            }
        }

        impl<'de, $($name: TensorDeserialize<'de>),+> TensorDeserialize<'de> for ($($name,)+) {
            fn deserialize_tensors<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let parts = <($(Unmarked<$name>,)+)>::deserialize(deserializer)?;
                Ok(($(parts.$index.0,)+))
            }
        }
    )+};
}

tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, E 3)
    (A 0, B 1, C 2, E 3, F 4)
    (A 0, B 1, C 2, E 3, F 4, G 5)
    (A 0, B 1, C 2, E 3, F 4, G 5, H 6)
    (A 0, B 1, C 2, E 3, F 4, G 5, H 6, I 7)
    (A 0, B 1, C 2, E 3, F 4, G 5, H 6, I 7, J 8)
    (A 0, B 1, C 2, E 3, F 4, G 5, H 6, I 7, J 8, K 9)
    (A 0, B 1, C 2, E 3, F 4, G 5, H 6, I 7, J 8, K 9, L 10)
    (A 0, B 1, C 2, E 3, F 4, G 5, H 6, I 7, J 8, K 9, L 10, M 11)
    (A 0, B 1, C 2, E 3, F 4, G 5, H 6, I 7, J 8, K 9, L 10, M 11, N 12)
    (A 0, B 1, C 2, E 3, F 4, G 5, H 6, I 7, J 8, K 9, L 10, M 11, N 12, O 13)
    (A 0, B 1, C 2, E 3, F 4, G 5, H 6, I 7, J 8, K 9, L 10, M 11, N 12, O 13, P 14)
    (A 0, B 1, C 2, E 3, F 4, G 5, H 6, I 7, J 8, K 9, L 10, M 11, N 12, O 13, P 14, Q 15)
}
