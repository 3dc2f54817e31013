//! Any value that a message can hold, with its tensors.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_tensor::__private::TensorVisitor;
use serde_tensor::{Presence, Result, TensorSerialize};

use super::json::Json;
use super::tensor::{FromSource, KeepCpu, SpecTensor, Storages};

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Nil,
    Bool(bool),
    Int(i128),
    Float(f64),
    Str(String),
    Bytes(Vec<u8>),
    Some(Box<Value>),
    List(Vec<Value>),
    Map(Vec<(Value, Value)>),
    Tensor(SpecTensor),
    /// Written only: what arrives is a `Tensor`, whose pin the call's report shows.
    KeepCpu(KeepCpu),
    FromSource(FromSource),
}

impl Value {
    pub(crate) fn from_json(json: &Json, storages: &Storages) -> Self {
        match json {
            Json::Null => Self::Nil,
            Json::Bool(value) => Self::Bool(*value),
            Json::Int(value) => Self::Int(*value),
            Json::Float(value) => Self::Float(*value),
            Json::Str(text) => Self::Str(text.clone()),
            Json::List(items) => Self::List(items.iter().map(|item| Self::from_json(item, storages)).collect()),
            Json::Object(entries) => match (json.get("$tensor"), json.get("$nested")) {
                (Some(tensor), _) => Self::tensor(tensor, storages),
                (_, Some(depth)) => {
                    (1..depth.number()).fold(Self::List(vec![]), |inner, _: u32| Self::List(vec![inner]))
                }
                (None, None) => Self::Map(
                    entries
                        .iter()
                        .map(|(key, value)| (Self::Str(key.clone()), Self::from_json(value, storages)))
                        .collect(),
                ),
            },
        }
    }

    fn tensor(json: &Json, storages: &Storages) -> Self {
        let tensor = SpecTensor::from_json(json, storages);
        match json.get("pin").map(Json::str) {
            None => Self::Tensor(tensor),
            Some("keep_cpu") => Self::KeepCpu(KeepCpu(tensor)),
            Some("source") => Self::FromSource(FromSource(tensor)),
            Some(other) => panic!("unknown pin {other}"),
        }
    }

    /// The tensors, in order, as the sender has them.
    pub(crate) fn tensors(&self) -> Vec<&SpecTensor> {
        match self {
            Self::Tensor(tensor) | Self::KeepCpu(KeepCpu(tensor)) | Self::FromSource(FromSource(tensor)) => {
                vec![tensor]
            }
            Self::List(items) => items.iter().flat_map(Self::tensors).collect(),
            Self::Map(entries) => entries.iter().flat_map(|(_, value)| value.tensors()).collect(),
            _ => Vec::new(),
        }
    }

    /// The value as it arrives where every device is there and nobody says anything of devices.
    pub(crate) fn arrived(&self) -> Self {
        match self {
            Self::KeepCpu(KeepCpu(tensor)) => Self::Tensor(SpecTensor {
                device: serde_tensor::Device::Cpu,
                ..tensor.clone()
            }),
            Self::FromSource(FromSource(tensor)) => Self::Tensor(tensor.clone()),
            Self::List(items) => Self::List(items.iter().map(Self::arrived).collect()),
            Self::Map(entries) => Self::Map(
                entries
                    .iter()
                    .map(|(key, value)| (key.clone(), value.arrived()))
                    .collect(),
            ),
            other => other.clone(),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Nil => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Int(value) => serializer.serialize_i128(*value),
            Self::Float(value) => serializer.serialize_f64(*value),
            Self::Str(text) => serializer.serialize_str(text),
            Self::Bytes(bytes) => serializer.serialize_bytes(bytes),
            Self::Some(value) => serializer.serialize_some(value),
            Self::List(items) => {
                let mut seq = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| seq.serialize_element(item))?;
                seq.end()
            }
            Self::Map(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                entries
                    .iter()
                    .try_for_each(|(key, value)| map.serialize_entry(key, value))?;
                map.end()
            }
            Self::Tensor(tensor) => tensor.serialize(serializer),
            Self::KeepCpu(tensor) => tensor.serialize(serializer),
            Self::FromSource(tensor) => tensor.serialize(serializer),
        }
    }
}

impl TensorSerialize for Value {
    const PRESENCE: Presence = Presence::Maybe;

    fn contains_tensor(&self) -> bool {
        !self.tensors().is_empty()
    }

    fn serialize_tensors<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.serialize(serializer)
    }

    fn visit_tensors<'a>(&'a self, visitor: &mut TensorVisitor<'a, '_>) -> Result<()> {
        match self {
            Self::Tensor(tensor) => tensor.visit_tensors(visitor),
            Self::KeepCpu(tensor) => tensor.visit_tensors(visitor),
            Self::FromSource(tensor) => tensor.visit_tensors(visitor),
            Self::List(items) => items.iter().try_for_each(|item| item.visit_tensors(visitor)),
            Self::Map(entries) => entries.iter().try_for_each(|(_, value)| value.visit_tensors(visitor)),
            _ => Ok(()),
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

    fn visit_u128<E: de::Error>(self, value: u128) -> Result<Value, E> {
        // The vectors have no such number where a value of any type is read.
        i128::try_from(value).map(Value::Int).map_err(E::custom)
    }

    fn visit_f32<E>(self, value: f32) -> Result<Value, E> {
        Ok(Value::Float(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Str(value.to_owned()))
    }

    fn visit_bytes<E>(self, value: &[u8]) -> Result<Value, E> {
        Ok(Value::Bytes(value.to_vec()))
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<Value, D::Error> {
        Value::deserialize(inner).map(|value| Value::Some(Box::new(value)))
    }

    // The one newtype that the wire knows is the tensor.
    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<Value, D::Error> {
        SpecTensor::deserialize(inner).map(Value::Tensor)
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
