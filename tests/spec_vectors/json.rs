//! JSON as the specification's pages use it: the order of an object's keys counts, and integers are exact.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::page::unhex;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Str(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    pub(crate) fn parse(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_else(|e| panic!("{e} in {text}"))
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Json> {
        match self {
            Self::Object(entries) => entries.iter().find(|(k, _)| k == key).map(|(_, v)| v),
            _ => None,
        }
    }

    pub(crate) fn at(&self, key: &str) -> &Json {
        self.get(key).unwrap_or_else(|| panic!("no {key:?} in {self:?}"))
    }

    pub(crate) fn str(&self) -> &str {
        match self {
            Self::Str(text) => text,
            other => panic!("{other:?} is no string"),
        }
    }

    pub(crate) fn number<N: TryFrom<i128>>(&self) -> N {
        match self {
            Self::Int(n) => N::try_from(*n).ok().unwrap_or_else(|| panic!("{n} does not fit")),
            other => panic!("{other:?} is no integer"),
        }
    }

    pub(crate) fn is_true(&self) -> bool {
        *self == Self::Bool(true)
    }

    pub(crate) fn numbers<N: TryFrom<i128>>(&self) -> Vec<N> {
        match self {
            Self::List(items) => items.iter().map(Json::number).collect(),
            other => panic!("{other:?} is no list"),
        }
    }

    /// Hex in one string or in a list of them.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        match self {
            Self::List(parts) => parts.iter().flat_map(Json::bytes).collect(),
            text => unhex(text.str()),
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Int(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Int(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Str(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Json::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Json::Object(entries))
    }
}
