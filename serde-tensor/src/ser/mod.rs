//! serde's data model in MessagePack: `docs/spec/`, sections on values.

mod compound;
mod narrow;
mod single;
mod tensor;

use serde::Serialize;
use serde::ser::Error as _;

use compound::Compound;
use single::SinglePass;

use crate::call::encode::{self, Call};
use crate::device::DeviceCopies;
use crate::error::{Error, Result};
use crate::ext;
use crate::leaf;
use crate::plan::Numbering;
use crate::wire::buffer::Buffer;
use crate::wire::read::{Cursor, Token};
use crate::wire::{self, path, write};

/// What the caller of an encoding call chose.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) compact: bool,
    pub(crate) framed: bool,
    /// log2 of the segments' alignment.
    pub(crate) align: u8,
    pub(crate) inline_limit: usize,
    pub(crate) checksums: bool,
    pub(crate) device_copies: DeviceCopies,
    pub(crate) snapshot: bool,
    pub(crate) depth: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            compact: false,
            framed: false,
            align: 6,
            inline_limit: 512,
            checksums: false,
            device_copies: DeviceCopies::default(),
            snapshot: false,
            depth: 128,
        }
    }
}

/// The `serde::Serializer` behind [`to_vec`](crate::to_vec): use `&mut` of it, then [`into_vec`](Self::into_vec).
///
/// It is not human-readable. Made by [`new`](Self::new), or with options by [`Encoder::serializer`](crate::Encoder::serializer). It belongs to its
/// thread.
///
/// ```
/// use serde::Serialize;
///
/// let mut serializer = serde_tensor::Serializer::new();
/// ("step", 7).serialize(&mut serializer)?;
/// assert_eq!(serializer.into_vec()?, serde_tensor::to_vec(&("step", 7))?);
/// # Ok::<(), serde_tensor::Error>(())
/// ```
pub struct Serializer<'p> {
    body: Buffer,
    segments: Segments<'p>,
    options: Options,
    depth: usize,
    /// Where the body ended when the last `Some` began, to see `Some(Some(…))`.
    some_at: Option<usize>,
    last_copy: crate::device::WarnOnce<crate::Device>,
    _call: Call,
}

/// Where tensors above the inline limit go.
pub(crate) enum Segments<'p> {
    /// Into the message, at once.
    Single(SinglePass),
    /// Nowhere: they are borrowed by a plan, and here they are only numbered.
    Plan(Numbering<'p>),
}

impl Serializer<'static> {
    /// A serializer with the default options.
    pub fn new() -> Self {
        Self::single(Options::default(), Vec::new())
    }

    /// A serializer that writes a whole message into `out`, whose content is lost and whose memory is used.
    pub(crate) fn single(options: Options, out: Vec<u8>) -> Self {
        let single = SinglePass::new(options.align, options.checksums);
        Self::over(Buffer::reusing(out), Segments::Single(single), options)
    }

    /// The message: plain when every tensor is inline, else a frame.
    ///
    /// # Errors
    ///
    /// If no value was serialized.
    pub fn into_vec(self) -> Result<Vec<u8>> {
        if self.body.is_empty() {
            return Err(Error::data("no value was serialized"));
        }
        match self.segments {
            Segments::Single(single) => single.into_message(self.body, self.options.framed),
            Segments::Plan(_) => Ok(self.body.into_vec()),
        }
    }
}

impl Default for Serializer<'static> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'p> Serializer<'p> {
    /// A serializer of a plan's body.
    pub(crate) fn planned(options: Options, numbering: Numbering<'p>) -> Self {
        Self::over(Buffer::default(), Segments::Plan(numbering), options)
    }

    fn over(body: Buffer, segments: Segments<'p>, options: Options) -> Self {
        Self {
            body,
            segments,
            depth: options.depth,
            options,
            some_at: None,
            last_copy: crate::device::WarnOnce::new(),
            _call: Call::enter(),
        }
    }

    /// The body and the segments of a plan.
    pub(crate) fn into_plan(self) -> (Vec<u8>, Option<Numbering<'p>>) {
        match self.segments {
            Segments::Plan(numbering) => (self.body.into_vec(), Some(numbering)),
            Segments::Single(_) => (self.body.into_vec(), None),
        }
    }

    /// The error with the path of the element that was being written, and, if a tensor met it, as that met it.
    #[cold]
    pub(crate) fn locate(&self, error: Error) -> Error {
        if error.has_path() {
            return error;
        }
        encode::recover(error).within(|| path::of_next(&self.body))
    }

    #[inline]
    fn enter(&mut self) -> Result<()> {
        match self.depth.checked_sub(1) {
            Some(depth) => {
                self.depth = depth;
                Ok(())
            }
            None => Err(self.locate(Error::limit(format!(
                "the value nests deeper than the limit of {}",
                self.options.depth
            )))),
        }
    }

    #[inline]
    fn leave(&mut self, levels: usize) {
        self.depth += levels;
    }

    /// The start of a variant with content: a map of one.
    #[inline]
    fn variant(&mut self, index: u32, name: &str) -> Result<()> {
        self.enter()?;
        write::map(&mut self.body, 1)?;
        if self.options.compact {
            write::unsigned(&mut self.body, index.into());
            Ok(())
        } else {
            write::str(&mut self.body, name)
        }
    }

    /// Puts an ext `0x53` around the value at `start`.
    fn wrap_some(&mut self, start: usize) -> Result<()> {
        let mut header = Buffer::default();
        write::ext(&mut header, wire::ext::SOME, self.body.len() - start)?;
        self.body.replace(start, start, &header);
        Ok(())
    }

    /// Whether the value at `start` would read as nothing, or as a `Some` of its own.
    #[inline]
    fn needs_wrap(&self, start: usize) -> bool {
        match self.body.get(start) {
            Some(&wire::NIL) => true,
            Some(0xc7..=0xc9 | 0xd4..=0xd8) => {
                let token = Cursor::new(&self.body[start..], 0).token();
                matches!(token, Ok(Token::Ext(wire::ext::SOME, _)))
            }
            _ => false,
        }
    }
}

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
