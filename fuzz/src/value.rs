//! Any value that a message can hold, read through `deserialize_any`.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_tensor::Tensor;

/// Any value. Floats are kept as their bits, so that a NaN equals itself.
#[derive(Debug, PartialEq)]
pub enum Value {
    Nil,
    Bool(bool),
    Int(i128),
    /// Above the largest `i128`.
    Wide(u128),
    F32(u32),
    F64(u64),
    Str(String),
    Bytes(Vec<u8>),
    /// Of nil or of `Some`: elsewhere it is not told from its content.
    Some(Box<Value>),
    List(Vec<Value>),
    Map(Vec<(Value, Value)>),
    Tensor(Tensor),
}

impl Value {
    /// How many tensors are inside.
    pub fn tensors(&self) -> usize {
        match self {
            Self::Tensor(_) => 1,
            Self::Some(value) => value.tensors(),
            Self::List(items) => items.iter().map(Self::tensors).sum(),
            Self::Map(entries) => entries.iter().map(|(key, value)| key.tensors() + value.tensors()).sum(),
            _ => 0,
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Nil => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Int(value) => serializer.serialize_i128(*value),
            Self::Wide(value) => serializer.serialize_u128(*value),
            Self::F32(bits) => serializer.serialize_f32(f32::from_bits(*bits)),
            Self::F64(bits) => serializer.serialize_f64(f64::from_bits(*bits)),
            Self::Str(text) => serializer.serialize_str(text),
            Self::Bytes(bytes) => serializer.serialize_bytes(bytes),
            Self::Some(value) => serializer.serialize_some(value),
            Self::List(items) => {
                let mut seq = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| seq.serialize_element(item))?;
                seq.end()
            }
            Self::Map(entries) => {
                // The length is left out, to write the other way of counting too.
                let mut map = serializer.serialize_map(None)?;
                entries
                    .iter()
                    .try_for_each(|(key, value)| map.serialize_entry(key, value))?;
                map.end()
            }
            Self::Tensor(tensor) => tensor.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Nil)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Int(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Int(value.into()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Value, E> {
        Ok(Value::Int(value))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Value, E> {
        Ok(i128::try_from(value).map_or(Value::Wide(value), Value::Int))
    }

    fn visit_f32<E>(self, value: f32) -> Result<Value, E> {
        Ok(Value::F32(value.to_bits()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::F64(value.to_bits()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Str(value.to_owned()))
    }

    fn visit_bytes<E>(self, value: &[u8]) -> Result<Value, E> {
        Ok(Value::Bytes(value.to_vec()))
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<Value, D::Error> {
        Ok(match Value::deserialize(inner)? {
            value @ (Value::Nil | Value::Some(_)) => Value::Some(Box::new(value)),
            value => value,
        })
    }

    // The one newtype that the wire knows is the tensor.
    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<Value, D::Error> {
        Tensor::deserialize(inner).map(Value::Tensor)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Value::Map(entries))
    }
}
