//! `serde::Deserializer`: what each method makes of the next item.

use serde::de::value::{BorrowedStrDeserializer, U32Deserializer};
use serde::de::{Error as _, Unexpected, Visitor};

use super::Deserializer;
use super::access::ByteAccess;
use super::items::unexpected;
use super::parts::ExtParts;
use super::variant::Variant;
use crate::error::{Error, Result};
use crate::wire;
use crate::wire::read::Token;
use crate::{ext, leaf};

/// Methods for which any item will do that the visitor takes.
macro_rules! any {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            self.any(visitor)
        }
    )*};
}

/// Methods that mostly meet one kind of item, which is tried first.
macro_rules! quick {
    ($($method:ident: $quick:ident => $visit:ident;)*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            match self.cursor.$quick() {
                Some(value) => visitor.$visit(value),
                None => self.any(visitor),
            }
        }
    )*};
}

impl<'de> serde::Deserializer<'de> for &mut Deserializer<'de> {
    type Error = Error;

    #[inline]
    fn is_human_readable(&self) -> bool {
        false
    }

    any! {
        deserialize_any deserialize_bool deserialize_unit deserialize_i128 deserialize_u128
    }

    quick! {
        deserialize_u8: quick_unsigned => visit_u64;
        deserialize_u16: quick_unsigned => visit_u64;
        deserialize_u32: quick_unsigned => visit_u64;
        deserialize_u64: quick_unsigned => visit_u64;
        deserialize_i8: quick_unsigned => visit_u64;
        deserialize_i16: quick_unsigned => visit_u64;
        deserialize_i32: quick_unsigned => visit_u64;
        deserialize_i64: quick_unsigned => visit_u64;
        deserialize_f32: quick_f32 => visit_f32;
        deserialize_f64: quick_f64 => visit_f64;
        deserialize_str: quick_str => visit_borrowed_str;
    }

    #[inline]
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.cursor.quick_map() {
            Some(len) => self.visit_map(len, visitor),
            None => self.any(visitor),
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
        match self.cursor.quick_str() {
            Some(name) => visitor.visit_borrowed_str(name),
            None => self.identifier(visitor),
        }
    }

    #[inline]
    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.cursor.token()? {
            Token::Bytes(bytes) => visitor.visit_borrowed_bytes(bytes),
            Token::Array(len) => visitor.visit_byte_buf(self.collect_bytes(len)?),
            Token::Ext(wire::ext::TENSOR, payload) => self.visit_bytes_of(payload, visitor),
            token => self.visit(token, visitor),
        }
    }

    #[inline]
    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_bytes(visitor)
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let start = self.cursor.position();
        match self.cursor.peek()? {
            wire::NIL => {
                self.cursor.token()?;
                visitor.visit_none()
            }
            0xc7..=0xc9 | 0xd4..=0xd8 => match self.cursor.token()? {
                Token::Ext(wire::ext::SOME, payload) => self.visit_wrapped_some(payload, visitor),
                _ => {
                    self.cursor.rewind(start);
                    self.visit_bare_some(visitor)
                }
            },
            _ => self.visit_bare_some(visitor),
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
            && let Some(payload) = self.cursor.quick_ext(wire::ext::TENSOR)
        {
            let parts = self.tensor_at_hand(payload)?;
            return visitor.visit_newtype_struct(parts);
        }
        let start = self.cursor.position();
        match self.cursor.token()? {
            Token::Ext(wire::ext::TENSOR, payload) if name == leaf::TOKEN => {
                let parts = self.tensor(payload)?;
                visitor.visit_newtype_struct(parts)
            }
            Token::Ext(wire::ext::TENSOR, payload) if name == leaf::LATER_TOKEN => {
                let parts = self.tensor_for_later(payload)?;
                visitor.visit_newtype_struct(parts)
            }
            Token::Ext(tag, bytes) if name == ext::TOKEN && !wire::ext::is_own(tag) => {
                visitor.visit_newtype_struct(ExtParts {
                    tag: tag.cast_signed(),
                    bytes,
                })
            }
            // Another form of a tensor, or what is none at all: the visitor says.
            _ => {
                self.cursor.rewind(start);
                visitor.visit_newtype_struct(self)
            }
        }
    }

    #[inline]
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if let Some(len) = self.cursor.quick_array() {
            return self.visit_array(len, visitor);
        }
        match self.cursor.token()? {
            Token::Array(len) => self.visit_array(len, visitor),
            Token::Bytes(bytes) => {
                let mut bytes = ByteAccess::new(bytes);
                let value = visitor.visit_seq(&mut bytes)?;
                bytes.end()?;
                Ok(value)
            }
            Token::Ext(wire::ext::TENSOR, payload) => self.visit_elements(payload, visitor),
            token => self.visit(token, visitor),
        }
    }

    #[inline]
    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value> {
        self.deserialize_seq(visitor)
    }

    #[inline]
    fn deserialize_tuple_struct<V: Visitor<'de>>(self, _: &'static str, _: usize, visitor: V) -> Result<V::Value> {
        self.deserialize_seq(visitor)
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        if let Some(len) = self.cursor.quick_map() {
            return self.visit_map(len, visitor);
        }
        match self.cursor.quick_array() {
            Some(len) => self.visit_array(len, visitor),
            None => self.any(visitor),
        }
    }

    #[inline]
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        match self.cursor.token()? {
            Token::Str(text) => visitor.visit_enum(BorrowedStrDeserializer::new(self.cursor.utf8(text)?)),
            Token::Unsigned(index) => {
                let index = u32::try_from(index)
                    .map_err(|_| Error::invalid_value(Unexpected::Unsigned(index), &"the index of a variant"))?;
                visitor.visit_enum(U32Deserializer::new(index))
            }
            Token::Map(1) => {
                self.enter()?;
                let value = visitor.visit_enum(Variant::new(self))?;
                self.leave();
                Ok(value)
            }
            Token::Map(len) => Err(Error::data(format!(
                "a map of {len} entries, where a variant of `{name}` is a map of one"
            ))),
            token => Err(Error::invalid_type(
                unexpected(&token),
                &format!("a variant of `{name}`: its name, its index, or a map of one").as_str(),
            )),
        }
    }

    #[inline]
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.cursor.skip()?;
        visitor.visit_unit()
    }
}
