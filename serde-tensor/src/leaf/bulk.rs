//! Vectors and slices of elements, which travel as tensors of one dim: in bulk, not element by element.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde::{Deserializer, Serializer};

use super::raw::{collect, collect_seeds, content, rest_of_tuple};
use super::{Raw, Slice, TOKEN, map_form, place, serialize_source};
use crate::backend::{HostOnly, Imported};
use crate::error::{Error, Result};
use crate::tensor::{Element, Number};

/// Serializes elements as a tensor of one dim.
pub(crate) fn serialize_slice<E: Element, S: Serializer>(elements: &[E], serializer: S) -> Result<S::Ok, S::Error> {
    serialize_source(&Slice(elements), serializer)
}

/// Deserializes the elements of a tensor of one dim, or of a plain sequence, as fields were written before they were marked.
pub(crate) fn deserialize_vec<'de, E: Element, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<E>, D::Error> {
    match deserializer.deserialize_newtype_struct(TOKEN, BulkVisitor(PhantomData))? {
        Bulk::Elements(elements) => Ok(elements),
        Bulk::Tensor(raw) => place(raw, &HostOnly, |import| match import.shape() {
            [_] => Ok(Imported::copied(import.to_vec()?)),
            shape => Err(Error::data(format!(
                "a tensor of shape {shape:?} where one of one dim is expected"
            ))),
        }),
    }
}

enum Bulk<'de, E> {
    Tensor(Raw<'de>),
    Elements(Vec<E>),
}

struct BulkVisitor<E>(PhantomData<E>);

impl<'de, E: Element> Visitor<'de> for BulkVisitor<E> {
    type Value = Bulk<'de, E>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a tensor of one dim or a sequence of {}", E::DTYPE)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        content(deserializer, self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        match seq.next_element_seed(FirstSeed::<E>(PhantomData))? {
            None => Ok(Bulk::Elements(Vec::new())),
            Some(First::Fields(fields)) => rest_of_tuple(fields, seq).map(Bulk::Tensor),
            Some(First::Element(first)) => {
                let mut elements = vec![first];
                elements.append(&mut collect_seeds(seq, || NumberSeed(PhantomData))?);
                Ok(Bulk::Elements(elements))
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        map_form::visit(map).map(Bulk::Tensor)
    }

    fn visit_bytes<F: serde::de::Error>(self, bytes: &[u8]) -> Result<Self::Value, F> {
        bytes
            .iter()
            .map(|&byte| element(Number::Unsigned(byte.into())))
            .collect::<Result<_, F>>()
            .map(Bulk::Elements)
    }
}

/// The first thing in a sequence, which tells a tensor's tuple from plain elements.
enum First<'de, E> {
    Fields(Cow<'de, [u8]>),
    Element(E),
}

struct FirstSeed<E>(PhantomData<E>);

impl<'de, E: Element> DeserializeSeed<'de> for FirstSeed<E> {
    type Value = First<'de, E>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        // A format that does not tell its types holds the tuple, so bytes are what to ask it for.
        if deserializer.is_human_readable() {
            deserializer.deserialize_any(self)
        } else {
            deserializer.deserialize_bytes(self)
        }
    }
}

impl<'de, E: Element> Visitor<'de> for FirstSeed<E> {
    type Value = First<'de, E>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a tensor's description or a number for {}", E::DTYPE)
    }

    fn visit_borrowed_bytes<F>(self, bytes: &'de [u8]) -> Result<Self::Value, F> {
        Ok(First::Fields(Cow::Borrowed(bytes)))
    }

    fn visit_bytes<F>(self, bytes: &[u8]) -> Result<Self::Value, F> {
        Ok(First::Fields(Cow::Owned(bytes.to_vec())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        Ok(First::Fields(Cow::Owned(collect(seq)?)))
    }

    fn visit_bool<F: serde::de::Error>(self, value: bool) -> Result<Self::Value, F> {
        element(Number::Bool(value)).map(First::Element)
    }

    fn visit_u64<F: serde::de::Error>(self, n: u64) -> Result<Self::Value, F> {
        element(Number::Unsigned(n)).map(First::Element)
    }

    fn visit_i64<F: serde::de::Error>(self, n: i64) -> Result<Self::Value, F> {
        element(signed(n)).map(First::Element)
    }

    fn visit_f32<F: serde::de::Error>(self, value: f32) -> Result<Self::Value, F> {
        element(Number::F32(value)).map(First::Element)
    }

    fn visit_f64<F: serde::de::Error>(self, value: f64) -> Result<Self::Value, F> {
        element(Number::F64(value)).map(First::Element)
    }
}

/// One plain element.
struct NumberSeed<E>(PhantomData<E>);

impl<'de, E: Element> DeserializeSeed<'de> for NumberSeed<E> {
    type Value = E;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<E, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<E: Element> Visitor<'_> for NumberSeed<E> {
    type Value = E;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a number for {}", E::DTYPE)
    }

    fn visit_bool<F: serde::de::Error>(self, value: bool) -> Result<E, F> {
        element(Number::Bool(value))
    }

    fn visit_u64<F: serde::de::Error>(self, n: u64) -> Result<E, F> {
        element(Number::Unsigned(n))
    }

    fn visit_i64<F: serde::de::Error>(self, n: i64) -> Result<E, F> {
        element(signed(n))
    }

    fn visit_f32<F: serde::de::Error>(self, value: f32) -> Result<E, F> {
        element(Number::F32(value))
    }

    fn visit_f64<F: serde::de::Error>(self, value: f64) -> Result<E, F> {
        element(Number::F64(value))
    }
}

/// Some formats give every integer as a signed one.
fn signed(n: i64) -> Number {
    u64::try_from(n).map_or(Number::Signed(n), Number::Unsigned)
}

fn element<E: Element, F: serde::de::Error>(number: Number) -> Result<E, F> {
    E::from_number(number).ok_or_else(|| F::custom(format_args!("{number} does not fit an element of {}", E::DTYPE)))
}
