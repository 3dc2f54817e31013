//! A variant with content, a map of one: `{name or index: content}`.

use serde::de::{DeserializeSeed, EnumAccess, VariantAccess, Visitor};
use serde::{Deserialize, Deserializer as _};

use super::Deserializer;
use super::item::Item;
use crate::error::{Category, Error, Result};

pub(super) struct Variant<'d, 'de> {
    deserializer: &'d mut Deserializer<'de>,
}

impl<'d, 'de> Variant<'d, 'de> {
    pub(super) fn new(deserializer: &'d mut Deserializer<'de>) -> Self {
        Self { deserializer }
    }

    /// Reads name or content; an error without a place gets the item's.
    fn located<R>(self, read: impl FnOnce(Item<'_, 'de>) -> Result<R>) -> Result<R> {
        let start = self.deserializer.cursor.position();
        self.deserializer
            .item(read)
            .map_err(|error| self.deserializer.locate(error, start))
    }
}

impl<'de> EnumAccess<'de> for Variant<'_, 'de> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self)> {
        let variant = Variant::new(&mut *self.deserializer).located(|item| seed.deserialize(item))?;
        Ok((variant, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, 'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<()> {
        self.located(|item| {
            <()>::deserialize(item).map_err(|error| match error.category() {
                Category::Data => Error::data(format!("content of a unit variant: {}", error.message())),
                _ => error,
            })
        })
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value> {
        self.located(|item| seed.deserialize(item))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value> {
        self.located(|item| item.deserialize_tuple(len, visitor))
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value> {
        self.located(|item| item.deserialize_struct("", fields, visitor))
    }
}
