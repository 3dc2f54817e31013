//! A variant with content, a map of one: `{name or index: content}`.

use serde::de::{DeserializeSeed, EnumAccess, VariantAccess, Visitor};
use serde::{Deserialize, Deserializer as _};

use super::Deserializer;
use super::access::located;
use crate::error::{Category, Error, Result};

pub(super) struct Variant<'d, 'de> {
    deserializer: &'d mut Deserializer<'de>,
}

impl<'d, 'de> Variant<'d, 'de> {
    pub(super) fn new(deserializer: &'d mut Deserializer<'de>) -> Self {
        Self { deserializer }
    }
}

impl<'de> EnumAccess<'de> for Variant<'_, 'de> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self)> {
        let variant = located(self.deserializer, seed)?;
        Ok((variant, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, 'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<()> {
        let start = self.deserializer.cursor.position();
        <()>::deserialize(&mut *self.deserializer).map_err(|error| {
            let error = match error.category() {
                Category::Data => Error::data(format!("content of a unit variant: {}", error.message())),
                _ => error,
            };
            self.deserializer.locate(error, start)
        })
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value> {
        located(self.deserializer, seed)
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value> {
        let start = self.deserializer.cursor.position();
        self.deserializer
            .deserialize_tuple(len, visitor)
            .map_err(|error| self.deserializer.locate(error, start))
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value> {
        let start = self.deserializer.cursor.position();
        self.deserializer
            .deserialize_struct("", fields, visitor)
            .map_err(|error| self.deserializer.locate(error, start))
    }
}
