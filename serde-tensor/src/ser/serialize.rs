//! `serde::Serializer`: what each method writes.

use serde::Serialize;
use serde::ser::Error as _;

use super::Serializer;
use super::compound::Compound;
use crate::error::{Error, Result};
use crate::wire::{self, write};
use crate::{ext, leaf};

impl<'s, 'p> serde::Serializer for &'s mut Serializer<'p> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Compound<'s, 'p>;
    type SerializeTuple = Compound<'s, 'p>;
    type SerializeTupleStruct = Compound<'s, 'p>;
    type SerializeTupleVariant = Compound<'s, 'p>;
    type SerializeMap = Compound<'s, 'p>;
    type SerializeStruct = Compound<'s, 'p>;
    type SerializeStructVariant = Compound<'s, 'p>;

    #[inline]
    fn is_human_readable(&self) -> bool {
        false
    }

    #[inline]
    fn serialize_bool(self, value: bool) -> Result<()> {
        write::bool(&mut self.body, value);
        Ok(())
    }

    #[inline]
    fn serialize_i8(self, n: i8) -> Result<()> {
        self.serialize_i64(n.into())
    }

    #[inline]
    fn serialize_i16(self, n: i16) -> Result<()> {
        self.serialize_i64(n.into())
    }

    #[inline]
    fn serialize_i32(self, n: i32) -> Result<()> {
        self.serialize_i64(n.into())
    }

    #[inline]
    fn serialize_i64(self, n: i64) -> Result<()> {
        write::signed(&mut self.body, n);
        Ok(())
    }

    #[inline]
    fn serialize_i128(self, n: i128) -> Result<()> {
        match (u64::try_from(n), i64::try_from(n)) {
            (Ok(n), _) => write::unsigned(&mut self.body, n),
            (_, Ok(n)) => write::signed(&mut self.body, n),
            _ => {
                write::ext(&mut self.body, wire::ext::I128, 16)?;
                self.body.put(n.to_be_bytes(), 16);
            }
        }
        Ok(())
    }

    #[inline]
    fn serialize_u8(self, n: u8) -> Result<()> {
        self.serialize_u64(n.into())
    }

    #[inline]
    fn serialize_u16(self, n: u16) -> Result<()> {
        self.serialize_u64(n.into())
    }

    #[inline]
    fn serialize_u32(self, n: u32) -> Result<()> {
        self.serialize_u64(n.into())
    }

    #[inline]
    fn serialize_u64(self, n: u64) -> Result<()> {
        write::unsigned(&mut self.body, n);
        Ok(())
    }

    #[inline]
    fn serialize_u128(self, n: u128) -> Result<()> {
        match u64::try_from(n) {
            Ok(n) => write::unsigned(&mut self.body, n),
            Err(_) => {
                write::ext(&mut self.body, wire::ext::U128, 16)?;
                self.body.put(n.to_be_bytes(), 16);
            }
        }
        Ok(())
    }

    #[inline]
    fn serialize_f32(self, value: f32) -> Result<()> {
        write::f32(&mut self.body, value);
        Ok(())
    }

    #[inline]
    fn serialize_f64(self, value: f64) -> Result<()> {
        write::f64(&mut self.body, value);
        Ok(())
    }

    #[inline]
    fn serialize_char(self, value: char) -> Result<()> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    #[inline]
    fn serialize_str(self, text: &str) -> Result<()> {
        write::str(&mut self.body, text)
    }

    #[inline]
    fn serialize_bytes(self, bytes: &[u8]) -> Result<()> {
        write::bytes(&mut self.body, bytes)
    }

    #[inline]
    fn serialize_none(self) -> Result<()> {
        self.serialize_unit()
    }

    #[inline]
    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Result<()> {
        let start = self.body.len();
        let nested = self.some_at.replace(start) == Some(start);
        if nested {
            self.enter()?;
        }
        value.serialize(&mut *self)?;
        if self.needs_wrap(start) {
            // The wrapping is a level for the reader, also of a `Some` that is in no other.
            self.enter()?;
            self.leave(1);
            self.wrap_some(start)?;
        }
        if nested {
            self.leave(1);
        }
        Ok(())
    }

    #[inline]
    fn serialize_unit(self) -> Result<()> {
        write::nil(&mut self.body);
        Ok(())
    }

    #[inline]
    fn serialize_unit_struct(self, _: &'static str) -> Result<()> {
        self.serialize_unit()
    }

    #[inline]
    fn serialize_unit_variant(self, _: &'static str, index: u32, name: &'static str) -> Result<()> {
        if self.options.compact {
            self.variant(index, name)?;
            self.leave(1);
            self.serialize_unit()
        } else {
            self.serialize_str(name)
        }
    }

    #[inline]
    fn serialize_newtype_struct<T: ?Sized + Serialize>(self, name: &'static str, value: &T) -> Result<()> {
        match name {
            leaf::TOKEN => self.tensor(value),
            ext::TOKEN => self.ext(value),
            _ => value.serialize(self),
        }
    }

    #[inline]
    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        index: u32,
        name: &'static str,
        value: &T,
    ) -> Result<()> {
        self.variant(index, name)?;
        value.serialize(&mut *self).map_err(|error| self.locate(error))?;
        self.leave(1);
        Ok(())
    }

    #[inline]
    fn serialize_seq(self, len: Option<usize>) -> Result<Compound<'s, 'p>> {
        Compound::array(self, len)
    }

    #[inline]
    fn serialize_tuple(self, len: usize) -> Result<Compound<'s, 'p>> {
        Compound::array(self, Some(len))
    }

    #[inline]
    fn serialize_tuple_struct(self, _: &'static str, len: usize) -> Result<Compound<'s, 'p>> {
        Compound::array(self, Some(len))
    }

    #[inline]
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        index: u32,
        name: &'static str,
        len: usize,
    ) -> Result<Compound<'s, 'p>> {
        self.variant(index, name)?;
        Ok(Compound::array(self, Some(len))?.in_variant())
    }

    #[inline]
    fn serialize_map(self, len: Option<usize>) -> Result<Compound<'s, 'p>> {
        Compound::map(self, len)
    }

    #[inline]
    fn serialize_struct(self, _: &'static str, len: usize) -> Result<Compound<'s, 'p>> {
        if self.options.compact {
            Compound::array(self, Some(len))
        } else {
            Compound::map(self, Some(len))
        }
    }

    #[inline]
    fn serialize_struct_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Compound<'s, 'p>> {
        self.variant(index, variant)?;
        Ok(self.serialize_struct(name, len)?.in_variant())
    }

    fn collect_str<T: ?Sized + std::fmt::Display>(self, value: &T) -> Result<()> {
        use std::fmt::Write as _;
        let mut text = String::new();
        write!(text, "{value}").map_err(Error::custom)?;
        self.serialize_str(&text)
    }
}
