//! Rows of values: slices, vectors, arrays, sets; and `Option` and `Result`.

use std::collections::{BTreeSet, BinaryHeap, HashSet, LinkedList, VecDeque};
use std::hash::{BuildHasher, Hash};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::deserialize::{TensorDeserialize, Unmarked, deserialize_each};
use super::levels::levels;
use super::presence::{Facts, Presence};
use super::serialize::{Marked, TensorSerialize, any_contains, contains_tensor, visit_each};
use crate::leaf::TensorVisitor;

impl<T: TensorSerialize> TensorSerialize for Option<T> {
    levels!(T => .optional());

    fn contains_tensor(&self) -> bool {
        self.as_ref().is_some_and(contains_tensor)
    }

    fn serialize_tensors<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_ref().map(Marked).serialize(serializer)
    }

    fn visit_tensors<'a>(&'a self, visitor: &mut TensorVisitor<'a, '_>) -> crate::Result<()> {
        visit_each(self, visitor)
    }
}

impl<'de, T: TensorDeserialize<'de>> TensorDeserialize<'de> for Option<T> {
    fn deserialize_tensors<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Option::<Unmarked<T>>::deserialize(deserializer)?.map(|value| value.0))
    }
}

impl<T: TensorSerialize, E: TensorSerialize> TensorSerialize for Result<T, E> {
    levels!(either [T, E]);

    fn contains_tensor(&self) -> bool {
        match self {
            Ok(value) => contains_tensor(value),
            Err(error) => contains_tensor(error),
        }
    }

    fn serialize_tensors<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_ref().map(Marked).map_err(Marked).serialize(serializer)
    }

    fn visit_tensors<'a>(&'a self, visitor: &mut TensorVisitor<'a, '_>) -> crate::Result<()> {
        match self {
            Ok(value) => value.visit_tensors(visitor),
            Err(error) => error.visit_tensors(visitor),
        }
    }
}

impl<'de, T: TensorDeserialize<'de>, E: TensorDeserialize<'de>> TensorDeserialize<'de> for Result<T, E> {
    fn deserialize_tensors<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let result = Result::<Unmarked<T>, Unmarked<E>>::deserialize(deserializer)?;
        Ok(result.map(|value| value.0).map_err(|error| error.0))
    }
}

impl<T: TensorSerialize> TensorSerialize for [T] {
    levels!(T => .row(T::BULK));

    fn contains_tensor(&self) -> bool {
        T::BULK || any_contains(self)
    }

    fn serialize_tensors<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        T::serialize_row(self, serializer)
    }

    fn visit_tensors<'a>(&'a self, visitor: &mut TensorVisitor<'a, '_>) -> crate::Result<()> {
        T::visit_row(self, visitor)
    }
}

impl<T: TensorSerialize> TensorSerialize for Vec<T> {
    levels!(T => .row(T::BULK));

    fn contains_tensor(&self) -> bool {
        self.as_slice().contains_tensor()
    }

    fn serialize_tensors<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        T::serialize_row(self, serializer)
    }

    fn visit_tensors<'a>(&'a self, visitor: &mut TensorVisitor<'a, '_>) -> crate::Result<()> {
        T::visit_row(self, visitor)
    }
}

impl<'de, T: TensorDeserialize<'de>> TensorDeserialize<'de> for Vec<T> {
    fn deserialize_tensors<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize_row(deserializer)
    }
}

impl<T: TensorSerialize, const N: usize> TensorSerialize for [T; N] {
    levels!(T => .array(T::BULK, N));

    fn contains_tensor(&self) -> bool {
        self.as_slice().contains_tensor()
    }

    fn serialize_tensors<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        T::serialize_array(self, serializer)
    }

    fn visit_tensors<'a>(&'a self, visitor: &mut TensorVisitor<'a, '_>) -> crate::Result<()> {
        T::visit_row(self, visitor)
    }
}

impl<'de, T: TensorDeserialize<'de>, const N: usize> TensorDeserialize<'de> for [T; N] {
    fn deserialize_tensors<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize_array(deserializer)
    }
}

/// Collections that are a row of values on the wire and not a slice in memory: never one tensor.
macro_rules! collections {
    ($($collection:ident <T $(: $bound:path $(| $more:path)?)? $(, $hasher:ident)?>)*) => {$(
        impl<T: TensorSerialize $(, $hasher)?> TensorSerialize for $collection<T $(, $hasher)?> {
            levels!(T => .optional());

            fn contains_tensor(&self) -> bool {
                any_contains(self)
            }

            fn serialize_tensors<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_seq(self.iter().map(Marked))
            }

            fn visit_tensors<'a>(&'a self, visitor: &mut TensorVisitor<'a, '_>) -> crate::Result<()> {
                visit_each(self, visitor)
            }
        }

        impl<'de, T $(, $hasher)?> TensorDeserialize<'de> for $collection<T $(, $hasher)?>
        where
            T: TensorDeserialize<'de> $(+ $bound $(+ $more)?)?,
            $($hasher: BuildHasher + Default,)?
        {
            fn deserialize_tensors<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserialize_each(deserializer)
            }
        }
    )*};
}

collections! {
    VecDeque<T>
    LinkedList<T>
    BinaryHeap<T: Ord>
    BTreeSet<T: Ord>
    HashSet<T: Eq | Hash, H>
}
