//! MessagePack as serde's data model: `docs/spec/`, sections on values.

mod access;
mod elements;
mod parts;
mod variant;

use std::sync::Arc;

use bytes::Bytes;
use serde::de::value::{BorrowedStrDeserializer, U32Deserializer};
use serde::de::{Error as _, Unexpected, Visitor};

use access::{ByteAccess, Entries, Items};
use elements::Elements;
use parts::{ExtParts, TensorParts};
use variant::Variant;

use crate::call::decode::{Call, Options, default_options};
use crate::device::Report;
use crate::error::{Error, Result};
use crate::wire::descriptor::{self, Descriptor, Place};
use crate::wire::frame::{Frame, MAGIC};
use crate::wire::read::{Cursor, Token};
use crate::wire::{self, path, to_u64};
use crate::{ext, leaf};

/// The `serde::Deserializer` behind [`from_slice`](crate::from_slice): use `&mut` of it, then [`end`](Self::end).
///
/// It is not human-readable, and it describes itself: `deserialize_any` works for every value but an extension that is not
/// this format's own. It belongs to its thread.
///
/// ```
/// use serde::Deserialize;
///
/// let bytes = serde_tensor::to_vec(&("step", 7))?;
/// let mut deserializer = serde_tensor::Deserializer::from_slice(&bytes)?;
/// let value = <(&str, u8)>::deserialize(&mut deserializer)?;
/// deserializer.end()?;
/// assert_eq!(value, ("step", 7));
/// # Ok::<(), serde_tensor::Error>(())
/// ```
pub struct Deserializer<'de> {
    cursor: Cursor<'de>,
    frame: Option<Frame<'de>>,
    /// Which segments' checksums were checked; empty where there are none.
    verified: Vec<bool>,
    /// The message and whatever follows it.
    input: &'de [u8],
    depth: usize,
    /// Where the last `Some` began, to see `Some(Some(…))`: a type may be nothing else, without end.
    some_at: Option<usize>,
    options: Arc<Options>,
    call: Call<'de>,
}

impl<'de> Deserializer<'de> {
    /// A deserializer with the default options. It reads the header of a frame, and nothing else yet.
    ///
    /// # Errors
    ///
    /// If the bytes start like a frame and are none.
    pub fn from_slice(bytes: &'de [u8]) -> Result<Self> {
        Self::open(bytes, default_options(), None, false)
    }

    /// Opens a message at the front of `input`, which is `owner`'s if tensors may share it.
    pub(crate) fn open(input: &'de [u8], options: Arc<Options>, owner: Option<Bytes>, record: bool) -> Result<Self> {
        let limits = &options.limits;
        if input.is_empty() {
            return Err(Error::eof("the message is empty").at(0));
        }
        let frame = match input[0] == MAGIC[0] {
            true => Some(Frame::open(input, limits.segments)?),
            false => None,
        };
        let len = frame.as_ref().map_or(input.len(), Frame::len);
        if to_u64(len) > limits.message {
            return Err(Error::limit(format!(
                "a message of {len} bytes, above the limit of {}",
                limits.message
            )));
        }
        let (body, offset) = match &frame {
            Some(frame) => (&input[frame.body()], to_u64(frame.body().start)),
            None => (input, 0),
        };
        let verified = vec![false; frame.as_ref().map_or(0, Frame::checked_segments)];
        Ok(Self {
            cursor: Cursor::new(body, offset),
            frame,
            verified,
            input,
            depth: limits.depth,
            some_at: None,
            call: Call::enter(Arc::clone(&options), owner, body, offset, len, record),
            options,
        })
    }

    /// Checks that the message ends where its value does, and that nothing follows it.
    ///
    /// # Errors
    ///
    /// If bytes are left over (`Syntax`, with the offset of the first), or if a tensor met an error that serde hid
    /// while it tried the variants of an untagged enum.
    pub fn end(self) -> Result<()> {
        let ended = self.check_end();
        self.finish()?;
        ended
    }

    pub(crate) fn check_end(&self) -> Result<()> {
        let rest = self.rest()?;
        match rest.len() {
            0 => Ok(()),
            left => Err(left_over(left, to_u64(self.input.len() - left))),
        }
    }

    /// What follows the message. Bytes left over inside a frame's body are an error.
    pub(crate) fn rest(&self) -> Result<&'de [u8]> {
        let left = self.cursor.rest();
        match &self.frame {
            None => Ok(left),
            Some(frame) if left.is_empty() => Ok(&self.input[frame.len()..]),
            Some(_) => Err(left_over(left.len(), self.cursor.offset_of(self.cursor.position()))),
        }
    }

    /// Ends the call.
    pub(crate) fn finish(self) -> Result<Report> {
        self.call.finish()
    }

    /// The error with the place and path of the element at `start`, unless it has its own.
    #[cold]
    pub(crate) fn locate(&self, error: Error, start: usize) -> Error {
        if error.has_path() {
            return error;
        }
        self.call
            .recover(error)
            .at(self.cursor.offset_of(start))
            .within(|| path::locate(self.cursor.bytes(), start).0)
    }

    #[inline]
    fn enter(&mut self) -> Result<()> {
        match self.depth.checked_sub(1) {
            Some(depth) => {
                self.depth = depth;
                Ok(())
            }
            None => Err(Error::limit(format!(
                "the value nests deeper than the limit of {}",
                self.options.limits.depth
            ))),
        }
    }

    #[inline]
    fn leave(&mut self) {
        self.depth += 1;
    }

    /// Hands the next item to a visitor as what it is.
    #[inline(never)]
    fn any<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value> {
        let token = self.cursor.token()?;
        self.visit(token, visitor)
    }

    fn visit<V: Visitor<'de>>(&mut self, token: Token<'de>, visitor: V) -> Result<V::Value> {
        match token {
            Token::Nil => visitor.visit_unit(),
            Token::Bool(value) => visitor.visit_bool(value),
            Token::Unsigned(n) => visitor.visit_u64(n),
            Token::Signed(n) => visitor.visit_i64(n),
            Token::F32(value) => visitor.visit_f32(value),
            Token::F64(value) => visitor.visit_f64(value),
            Token::Str(text) => visitor.visit_borrowed_str(self.cursor.utf8(text)?),
            Token::Bytes(bytes) => visitor.visit_borrowed_bytes(bytes),
            Token::Array(len) => self.visit_array(len, visitor),
            Token::Map(len) => self.visit_map(len, visitor),
            Token::Ext(tag, payload) => self.visit_ext(tag, payload, visitor),
        }
    }

    fn visit_array<V: Visitor<'de>>(&mut self, len: usize, visitor: V) -> Result<V::Value> {
        self.enter()?;
        let mut items = Items::new(self, len);
        let value = visitor.visit_seq(&mut items)?;
        items.end()?;
        self.leave();
        Ok(value)
    }

    fn visit_map<V: Visitor<'de>>(&mut self, len: usize, visitor: V) -> Result<V::Value> {
        self.enter()?;
        let mut entries = Entries::new(self, len);
        let value = visitor.visit_map(&mut entries)?;
        entries.end()?;
        self.leave();
        Ok(value)
    }

    #[inline(never)]
    fn visit_ext<V: Visitor<'de>>(&mut self, tag: u8, payload: &'de [u8], visitor: V) -> Result<V::Value> {
        match tag {
            wire::ext::SOME => self.visit_wrapped_some(payload, visitor),
            wire::ext::TENSOR => visitor.visit_newtype_struct(self.tensor(payload)?),
            wire::ext::I128 => visitor.visit_i128(i128::from_be_bytes(self.wide(payload)?)),
            wire::ext::U128 => visitor.visit_u128(u128::from_be_bytes(self.wide(payload)?)),
            _ => Err(Error::data(format!(
                "extension type {} ({tag:#04x}) is not this format's own; decode it as an `Ext`",
                tag.cast_signed()
            ))),
        }
    }

    /// `Some` around a value that would read as nothing.
    fn visit_wrapped_some<V: Visitor<'de>>(&mut self, payload: &'de [u8], visitor: V) -> Result<V::Value> {
        let end = self.cursor.position();
        self.cursor.rewind(end - payload.len());
        self.enter()?;
        let value = visitor.visit_some(&mut *self)?;
        self.leave();
        if self.cursor.position() == end {
            return Ok(value);
        }
        Err(Error::syntax("an ext 0x53 holds more or less than one value").at(self.cursor.offset_of(end)))
    }

    /// `Some` of what comes next. One directly inside another is a level of depth, though the bytes do not show it.
    #[inline]
    fn visit_bare_some<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value> {
        let start = self.cursor.position();
        if self.some_at.replace(start) != Some(start) {
            return visitor.visit_some(self);
        }
        self.enter()?;
        let value = visitor.visit_some(&mut *self)?;
        self.leave();
        Ok(value)
    }

    fn wide(&self, payload: &[u8]) -> Result<[u8; 16]> {
        payload.try_into().map_err(|_| {
            let start = self.cursor.position() - payload.len();
            Error::syntax(format!("a 128-bit integer has {} bytes", payload.len())).at(self.cursor.offset_of(start))
        })
    }

    /// The description and the data that a tensor's payload leads to.
    fn tensor(&mut self, payload: &'de [u8]) -> Result<TensorParts<'de>> {
        let start = self.cursor.position() - payload.len();
        self.tensor_parts(payload)
            .map_err(|error| error.at(self.cursor.offset_of(start)))
    }

    /// A tensor for a type that expects plain numbers.
    #[inline(never)]
    fn elements(&mut self, payload: &'de [u8]) -> Result<Elements<'de>> {
        let TensorParts { fields, data, .. } = self.tensor(payload)?;
        let descriptor = Descriptor::read(&mut &*fields, self.options.limits.rank)?;
        Elements::of(&descriptor, data)
    }

    fn tensor_parts(&mut self, payload: &'de [u8]) -> Result<TensorParts<'de>> {
        let (fields, place) = descriptor::split(payload)?;
        let (data, segment) = match place {
            Place::Inline(data) => (data, None),
            Place::Segment { index, offset } => {
                let segment = self.segment(index)?;
                let len = Descriptor::read(&mut &*fields, self.options.limits.rank)?.data_len()?;
                let part = usize::try_from(offset)
                    .ok()
                    .and_then(|offset| segment.get(offset..offset.checked_add(len)?));
                let part = part.ok_or_else(|| {
                    Error::syntax(format!(
                        "a tensor of {len} bytes at {offset} of segment {index}, which has {}",
                        segment.len()
                    ))
                })?;
                (part, Some(segment))
            }
        };
        Ok(TensorParts { fields, data, segment })
    }

    /// A segment's bytes, checked the first time they are asked for.
    fn segment(&mut self, index: u64) -> Result<&'de [u8]> {
        let frame = self
            .frame
            .as_ref()
            .ok_or_else(|| Error::syntax("a tensor is said to be in a segment, and the message is not a frame"))?;
        let segment = frame.segment(index)?;
        if let Some(verified) = usize::try_from(index)
            .ok()
            .and_then(|index| self.verified.get_mut(index))
            && !*verified
        {
            frame.check_segment(index)?;
            *verified = true;
        }
        Ok(segment)
    }

    /// The name or index of a unit variant whose map of one was begun.
    fn compact_unit<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value> {
        let value = serde::Deserializer::deserialize_str(&mut *self, visitor)?;
        match self.cursor.token()? {
            Token::Nil => Ok(value),
            token => Err(Error::invalid_type(
                unexpected(&token),
                &"nil, the content of a unit variant",
            )),
        }
    }

    /// Integers in an array, as bytes.
    fn collect_bytes(&mut self, len: usize) -> Result<Vec<u8>> {
        // An element takes a byte at least, so the input justifies the reservation.
        let mut bytes = Vec::with_capacity(len);
        for _ in 0..len {
            let start = self.cursor.position();
            match self.cursor.token()? {
                Token::Unsigned(n) if n <= 0xff => bytes.push((n & 0xff) as u8),
                token => {
                    let error = Error::invalid_type(unexpected(&token), &"an integer from 0 to 255");
                    return Err(self.locate(error, start));
                }
            }
        }
        Ok(bytes)
    }
}

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
        let start = self.cursor.position();
        // The tag of an adjacently tagged enum is a unit variant, which in a compact message is a map of one.
        match self.cursor.quick_map() {
            Some(1) => self.compact_unit(visitor),
            Some(_) => {
                self.cursor.rewind(start);
                self.any(visitor)
            }
            None => self.deserialize_str(visitor),
        }
    }

    #[inline]
    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.cursor.token()? {
            Token::Bytes(bytes) => visitor.visit_borrowed_bytes(bytes),
            Token::Array(len) => visitor.visit_byte_buf(self.collect_bytes(len)?),
            Token::Ext(wire::ext::TENSOR, payload) => {
                let mut elements = self.elements(payload)?;
                match elements.as_bytes() {
                    Some(bytes) => visitor.visit_borrowed_bytes(bytes),
                    None => visitor.visit_seq(&mut elements),
                }
            }
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
        if name != leaf::TOKEN && name != ext::TOKEN {
            return visitor.visit_newtype_struct(self);
        }
        let start = self.cursor.position();
        match self.cursor.token()? {
            Token::Ext(wire::ext::TENSOR, payload) if name == leaf::TOKEN => {
                let parts = self.tensor(payload)?;
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
            Token::Ext(wire::ext::TENSOR, payload) => {
                let mut elements = self.elements(payload)?;
                let value = visitor.visit_seq(&mut elements)?;
                elements.end()?;
                Ok(value)
            }
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
        self.deserialize_map(visitor)
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

/// An item in an error's words.
fn unexpected<'t>(token: &Token<'t>) -> Unexpected<'t> {
    match *token {
        Token::Nil => Unexpected::Unit,
        Token::Bool(value) => Unexpected::Bool(value),
        Token::Unsigned(n) => Unexpected::Unsigned(n),
        Token::Signed(n) => Unexpected::Signed(n),
        Token::F32(value) => Unexpected::Float(value.into()),
        Token::F64(value) => Unexpected::Float(value),
        Token::Str(text) => match std::str::from_utf8(text) {
            Ok(text) => Unexpected::Str(text),
            Err(_) => Unexpected::Other("a string that is not UTF-8"),
        },
        Token::Bytes(bytes) => Unexpected::Bytes(bytes),
        Token::Array(_) => Unexpected::Seq,
        Token::Map(_) => Unexpected::Map,
        Token::Ext(wire::ext::TENSOR, _) => Unexpected::Other("tensor"),
        Token::Ext(wire::ext::SOME, _) => Unexpected::Option,
        Token::Ext(..) => Unexpected::Other("extension value"),
    }
}

#[cold]
fn left_over(count: usize, at: u64) -> Error {
    Error::syntax(format!("{count} bytes are left over after the value")).at(at)
}
