//! `serde::Deserializer`: what each method makes of the next item.

use serde::de::Visitor;
use serde::de::value::BorrowedStrDeserializer;

use super::access::{Any, Fields, Floats};
use super::item::Item;
use crate::error::{Error, Result};
use crate::{ext, leaf, wire};

/// Methods for which any item will do that the visitor takes.
macro_rules! any {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            self.by_deserializer(|deserializer| deserializer.any(visitor))
        }
    )*};
}

/// Methods that mostly meet one kind of item, which is tried first.
macro_rules! quick {
    ($($method:ident: $quick:ident => $visit:ident;)*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            match self.rest.$quick() {
                Some(value) => visitor.$visit(value),
                None => self.by_deserializer(|deserializer| deserializer.any(visitor)),
            }
        }
    )*};
}

/// Methods for integers that may be negative.
macro_rules! signed {
    ($($method:ident)*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            if let Some(value) = self.rest.quick_unsigned() {
                return visitor.visit_u64(value);
            }
            match self.rest.quick_negative() {
                Some(value) => visitor.visit_i64(value),
                None => self.by_deserializer(|deserializer| deserializer.any(visitor)),
            }
        }
    )*};
}

impl<'de> serde::Deserializer<'de> for Item<'_, 'de> {
    type Error = Error;

    #[inline]
    fn is_human_readable(&self) -> bool {
        false
    }

    any! {
        deserialize_any deserialize_unit deserialize_i128 deserialize_u128
    }

    quick! {
        deserialize_bool: quick_bool => visit_bool;
        deserialize_u8: quick_unsigned => visit_u64;
        deserialize_u16: quick_unsigned => visit_u64;
        deserialize_u32: quick_unsigned => visit_u64;
        deserialize_u64: quick_unsigned => visit_u64;
        deserialize_f32: quick_f32 => visit_f32;
        deserialize_f64: quick_f64 => visit_f64;
        deserialize_str: quick_str => visit_borrowed_str;
    }

    signed! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
    }

    #[inline]
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.rest.quick_map() {
            Some(len) => self.visit_map::<Fields, V>(len, visitor),
            None => self.by_deserializer(|deserializer| deserializer.any(visitor)),
        }
    }

    #[inline]
    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_str(visitor)
    }

    #[inline]
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_str(visitor)
    }

    #[inline]
    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.rest.quick_name() {
            Some(name) => visitor.visit_borrowed_str(name),
            None => self.by_deserializer(|deserializer| deserializer.identifier(visitor)),
        }
    }

    #[inline]
    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.by_deserializer(|deserializer| deserializer.bytes(visitor))
    }

    #[inline]
    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_bytes(visitor)
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.rest.quick_nil() {
            return visitor.visit_none();
        }
        match self.rest.peek() {
            Some(0xc7..=0xc9 | 0xd4..=0xd8) | None => self.by_deserializer(|deserializer| deserializer.option(visitor)),
            Some(_) => self.visit_bare_some(visitor),
        }
    }

    #[inline]
    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value> {
        self.deserialize_unit(visitor)
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value> {
        if name != leaf::TOKEN && name != ext::TOKEN && name != leaf::LATER_TOKEN {
            return visitor.visit_newtype_struct(self);
        }
        if name == leaf::TOKEN
            && let Some(payload) = self.rest.quick_ext(wire::ext::TENSOR)
        {
            let parts = self.by_deserializer(|deserializer| deserializer.tensor_at_hand(payload))?;
            return visitor.visit_newtype_struct(parts);
        }
        self.by_deserializer(|deserializer| deserializer.newtype(name, visitor))
    }

    #[inline]
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.rest.quick_array() {
            Some(len) => {
                let rest = *self.rest;
                self.visit_array::<Any, V>(rest, len, visitor)
            }
            None => self.by_deserializer(|deserializer| deserializer.sequence(visitor)),
        }
    }

    #[inline]
    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value> {
        if !may_be_f32s::<V::Value>(len) {
            return self.tuple(len, visitor);
        }
        match self.rest.before_f32s(len) {
            Some(rest) => self.visit_array::<Floats, V>(rest, len, visitor),
            None => self.by_deserializer(|deserializer| deserializer.tuple(len, visitor)),
        }
    }

    #[inline]
    fn deserialize_tuple_struct<V: Visitor<'de>>(self, _: &'static str, len: usize, visitor: V) -> Result<V::Value> {
        self.deserialize_tuple(len, visitor)
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        let len = fields.len();
        if !may_be_f32s::<V::Value>(len) {
            return self.structure(len, visitor);
        }
        match self.rest.before_f32s(len) {
            Some(rest) => self.visit_array::<Floats, V>(rest, len, visitor),
            None => self.by_deserializer(|deserializer| deserializer.structure(len, visitor)),
        }
    }

    #[inline]
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        match self.rest.quick_str() {
            Some(variant) => visitor.visit_enum(BorrowedStrDeserializer::new(variant)),
            None => self.by_deserializer(|deserializer| deserializer.variant(name, visitor)),
        }
    }

    #[inline]
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.by_deserializer(|deserializer| deserializer.cursor.skip())?;
        visitor.visit_unit()
    }
}

/// Whether a type has the size of so many `f32`, as vertices, boxes and rotations have.
///
/// If that many floats come next, the optimiser knows it of each when the type's visitor takes them: no check is left, nor anything of
/// what else might have come, and the type is read where it stands. All else of such a type is then not read there, but in a function of its own.
#[inline]
fn may_be_f32s<T>(len: usize) -> bool {
    size_of::<T>() == len * size_of::<f32>()
}
