//! `serde::Serializer`: what each method writes.

use serde::Serialize;
use serde::ser::Error as _;

use super::Serializer;
use super::compound::{Compound, Shape};
use super::mode::Mode;
use crate::error::{Error, Result};
use crate::wire::{self, write};
use crate::{ext, leaf};

impl<'p, M: Mode> Serializer<'p, M> {
    /// Whether structs are arrays and variants numbers.
    #[inline(always)]
    fn compact(&self) -> bool {
        M::COMPACT.unwrap_or(self.state.options.compact)
    }

    /// The result of an item, whose error has a path if it gets it here.
    #[inline(always)]
    pub(super) fn located(&self, written: Result<()>) -> Result<()> {
        if M::LOCATES {
            written.map_err(|error| self.state.locate(error))
        } else {
            written
        }
    }

    /// The start of a variant with content: a map of one.
    #[inline(always)]
    fn variant(&mut self, index: u32, name: &str) -> Result<()> {
        self.state.enter()?;
        write::map(&mut self.state.body, 1)?;
        if self.compact() {
            write::unsigned(&mut self.state.body, index.into());
            Ok(())
        } else {
            write::str(&mut self.state.body, name)
        }
    }

    /// An array or map, with room for `ahead` bytes of what comes first in it.
    #[inline(always)]
    fn compound<'s>(&'s mut self, shape: Shape, len: Option<usize>, ahead: usize) -> Result<Compound<'s, 'p, M>> {
        self.state.body.ensure(ahead);
        Compound::start(self, shape, len)
    }

    /// An array of a length that is part of the type, as its elements often are: with room for so many numbers.
    #[inline(always)]
    fn tuple<'s>(&'s mut self, len: usize) -> Result<Compound<'s, 'p, M>> {
        self.compound(Shape::Array, Some(len), HEADER + NUMBER * len.min(MANY))
    }
}

/// The longest header of an array or map, in bytes.
const HEADER: usize = 5;

/// The longest number, in bytes.
const NUMBER: usize = 9;

/// The longest field name, with its header, that is sure to find room without a check of its own, in bytes.
const NAME: usize = 16;

/// For how many elements or fields room is made at once.
const MANY: usize = 16;

impl<'s, 'p, M: Mode> serde::Serializer for &'s mut Serializer<'p, M> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Compound<'s, 'p, M>;
    type SerializeTuple = Compound<'s, 'p, M>;
    type SerializeTupleStruct = Compound<'s, 'p, M>;
    type SerializeTupleVariant = Compound<'s, 'p, M>;
    type SerializeMap = Compound<'s, 'p, M>;
    type SerializeStruct = Compound<'s, 'p, M>;
    type SerializeStructVariant = Compound<'s, 'p, M>;

    #[inline(always)]
    fn is_human_readable(&self) -> bool {
        false
    }

    #[inline(always)]
    fn serialize_bool(self, value: bool) -> Result<()> {
        write::bool(&mut self.state.body, value);
        Ok(())
    }

    #[inline(always)]
    fn serialize_i8(self, n: i8) -> Result<()> {
        self.serialize_i64(n.into())
    }

    #[inline(always)]
    fn serialize_i16(self, n: i16) -> Result<()> {
        self.serialize_i64(n.into())
    }

    #[inline(always)]
    fn serialize_i32(self, n: i32) -> Result<()> {
        self.serialize_i64(n.into())
    }

    #[inline(always)]
    fn serialize_i64(self, n: i64) -> Result<()> {
        write::signed(&mut self.state.body, n);
        Ok(())
    }

    #[inline(always)]
    fn serialize_i128(self, n: i128) -> Result<()> {
        match (u64::try_from(n), i64::try_from(n)) {
            (Ok(n), _) => write::unsigned(&mut self.state.body, n),
            (_, Ok(n)) => write::signed(&mut self.state.body, n),
            _ => {
                write::ext(&mut self.state.body, wire::ext::I128, 16)?;
                self.state.body.put(n.to_be_bytes(), 16);
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn serialize_u8(self, n: u8) -> Result<()> {
        write::byte(&mut self.state.body, n);
        Ok(())
    }

    #[inline(always)]
    fn serialize_u16(self, n: u16) -> Result<()> {
        self.serialize_u64(n.into())
    }

    #[inline(always)]
    fn serialize_u32(self, n: u32) -> Result<()> {
        self.serialize_u64(n.into())
    }

    #[inline(always)]
    fn serialize_u64(self, n: u64) -> Result<()> {
        write::unsigned(&mut self.state.body, n);
        Ok(())
    }

    #[inline(always)]
    fn serialize_u128(self, n: u128) -> Result<()> {
        match u64::try_from(n) {
            Ok(n) => write::unsigned(&mut self.state.body, n),
            Err(_) => {
                write::ext(&mut self.state.body, wire::ext::U128, 16)?;
                self.state.body.put(n.to_be_bytes(), 16);
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn serialize_f32(self, value: f32) -> Result<()> {
        write::f32(&mut self.state.body, value);
        Ok(())
    }

    #[inline(always)]
    fn serialize_f64(self, value: f64) -> Result<()> {
        write::f64(&mut self.state.body, value);
        Ok(())
    }

    #[inline(always)]
    fn serialize_char(self, value: char) -> Result<()> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    #[inline(always)]
    fn serialize_str(self, text: &str) -> Result<()> {
        write::str(&mut self.state.body, text)
    }

    #[inline(always)]
    fn serialize_bytes(self, bytes: &[u8]) -> Result<()> {
        write::bytes(&mut self.state.body, bytes)
    }

    #[inline(always)]
    fn serialize_none(self) -> Result<()> {
        self.serialize_unit()
    }

    #[inline(always)]
    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Result<()> {
        let start = self.state.body.len();
        let nested = self.state.some_at.replace(start) == Some(start);
        if nested {
            self.state.enter()?;
        }
        value.serialize(&mut *self)?;
        if self.state.needs_wrap(start) {
            // The wrapping is a level for the reader, also of a `Some` that is in no other.
            self.state.enter()?;
            self.state.leave();
            self.state.wrap_some(start)?;
        }
        if nested {
            self.state.leave();
        }
        Ok(())
    }

    #[inline(always)]
    fn serialize_unit(self) -> Result<()> {
        write::nil(&mut self.state.body);
        Ok(())
    }

    #[inline(always)]
    fn serialize_unit_struct(self, _: &'static str) -> Result<()> {
        self.serialize_unit()
    }

    #[inline(always)]
    fn serialize_unit_variant(self, _: &'static str, index: u32, name: &'static str) -> Result<()> {
        if self.compact() {
            self.variant(index, name)?;
            self.state.leave();
            self.serialize_unit()
        } else {
            self.serialize_str(name)
        }
    }

    #[inline(always)]
    fn serialize_newtype_struct<T: ?Sized + Serialize>(self, name: &'static str, value: &T) -> Result<()> {
        match name {
            leaf::TOKEN => self.state.tensor(value),
            ext::TOKEN => self.state.ext(value),
            _ => value.serialize(self),
        }
    }

    #[inline(always)]
    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        index: u32,
        name: &'static str,
        value: &T,
    ) -> Result<()> {
        self.variant(index, name)?;
        let written = value.serialize(&mut *self);
        self.located(written)?;
        self.state.leave();
        Ok(())
    }

    #[inline(always)]
    fn serialize_seq(self, len: Option<usize>) -> Result<Compound<'s, 'p, M>> {
        self.compound(Shape::Array, len, HEADER)
    }

    #[inline(always)]
    fn serialize_tuple(self, len: usize) -> Result<Compound<'s, 'p, M>> {
        self.tuple(len)
    }

    #[inline(always)]
    fn serialize_tuple_struct(self, _: &'static str, len: usize) -> Result<Compound<'s, 'p, M>> {
        self.tuple(len)
    }

    #[inline(always)]
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        index: u32,
        name: &'static str,
        len: usize,
    ) -> Result<Compound<'s, 'p, M>> {
        self.variant(index, name)?;
        Ok(self.tuple(len)?.in_variant())
    }

    #[inline(always)]
    fn serialize_map(self, len: Option<usize>) -> Result<Compound<'s, 'p, M>> {
        self.compound(Shape::Map, len, HEADER)
    }

    #[inline(always)]
    fn serialize_struct(self, _: &'static str, len: usize) -> Result<Compound<'s, 'p, M>> {
        if self.compact() {
            return self.tuple(len);
        }
        self.compound(Shape::Map, Some(len), HEADER + (NAME + NUMBER) * len.min(MANY))
    }

    #[inline(always)]
    fn serialize_struct_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Compound<'s, 'p, M>> {
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
