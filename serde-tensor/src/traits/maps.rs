//! Maps whose values hold tensors; the keys need only serde.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::deserialize::{TensorDeserialize, Unmarked};
use super::levels::levels;
use super::presence::{Facts, Presence};
use super::serialize::{Marked, TensorSerialize, any_contains, visit_each};
use crate::leaf::TensorVisitor;

macro_rules! maps {
    ($($map:ident <K $(: $bound:path $(| $more:path)?)?, V $(, $hasher:ident)?>)*) => {$(
        impl<K: Serialize, V: TensorSerialize $(, $hasher)?> TensorSerialize for $map<K, V $(, $hasher)?> {
            levels!(V => .optional());

            fn contains_tensor(&self) -> bool {
                any_contains(self.values())
            }

            fn serialize_tensors<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(Some(self.len()))?;
                for (key, value) in self {
                    map.serialize_entry(key, &Marked(value))?;
                }
                map.end()
            }

            fn visit_tensors<'a>(&'a self, visitor: &mut TensorVisitor<'a, '_>) -> crate::Result<()> {
                visit_each(self.values(), visitor)
            }
        }

        impl<'de, K, V $(, $hasher)?> TensorDeserialize<'de> for $map<K, V $(, $hasher)?>
        where
            K: Deserialize<'de> $(+ $bound $(+ $more)?)?,
            V: TensorDeserialize<'de>,
            $($hasher: BuildHasher + Default,)?
        {
            fn deserialize_tensors<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let pairs = deserializer.deserialize_map(PairVisitor(PhantomData))?;
                Ok(pairs.into_iter().collect())
            }
        }
    )*};
}

maps! {
    BTreeMap<K: Ord, V>
    HashMap<K: Eq | Hash, V, H>
}

/// Reads the entries in their order. Building a map from all of them at once takes half the time of inserting one by
/// one, and the last of equal keys wins in both.
struct PairVisitor<K, V>(PhantomData<(K, V)>);

impl<'de, K: Deserialize<'de>, V: TensorDeserialize<'de>> Visitor<'de> for PairVisitor<K, V> {
    type Value = Vec<(K, V)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        /// What may be reserved on the word of the input alone, in bytes.
        const RESERVE: usize = 1 << 20;
        let most = RESERVE / size_of::<(K, V)>().max(1);
        let mut pairs = Vec::with_capacity(map.size_hint().unwrap_or(0).min(most));
        while let Some((key, value)) = map.next_entry::<K, Unmarked<V>>()? {
            pairs.push((key, value.0));
        }
        Ok(pairs)
    }
}
