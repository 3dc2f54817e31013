//! Items of a message handed to visitors.

use std::sync::Arc;

use serde::Deserializer as _;
use serde::de::value::{BorrowedStrDeserializer, U32Deserializer};
use serde::de::{Error as _, Unexpected, Visitor};

use super::Deserializer;
use super::access::{Any, ByteAccess};
use super::elements::Elements;
use super::parts::{Data, ExtParts, TensorParts};
use super::variant::Variant;
use crate::call::decode::held::Held;
use crate::call::decode::{Check, Deferred, DeferredPlace, addresses};
use crate::error::{Error, Result};
use crate::wire;
use crate::wire::descriptor::{self, Descriptor, Place};
use crate::wire::frame::Frame;
use crate::wire::read::Token;
use crate::wire::to_u64;
use crate::{ext, leaf};

impl<'de> Deserializer<'de> {
    /// Hands the next item to a visitor as what it is.
    #[inline(never)]
    pub(super) fn any<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value> {
        let token = self.cursor.token()?;
        self.visit(token, visitor)
    }

    pub(super) fn visit<V: Visitor<'de>>(&mut self, token: Token<'de>, visitor: V) -> Result<V::Value> {
        match token {
            Token::Nil => visitor.visit_unit(),
            Token::Bool(value) => visitor.visit_bool(value),
            Token::Unsigned(n) => visitor.visit_u64(n),
            Token::Signed(n) => visitor.visit_i64(n),
            Token::F32(value) => visitor.visit_f32(value),
            Token::F64(value) => visitor.visit_f64(value),
            Token::Str(text) => visitor.visit_borrowed_str(self.cursor.utf8(text)?),
            Token::Bytes(bytes) => visitor.visit_borrowed_bytes(bytes),
            Token::Array(len) => self.item(|item| {
                let rest = *item.rest;
                item.visit_array::<Any, V>(rest, len, visitor)
            }),
            Token::Map(len) => self.item(|item| item.visit_map::<Any, V>(len, visitor)),
            Token::Ext(tag, payload) => self.visit_ext(tag, payload, visitor),
        }
    }

    /// A sequence in any form but a short array.
    #[inline(never)]
    pub(super) fn sequence<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value> {
        match self.cursor.token()? {
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

    /// Bytes in any form.
    #[inline(never)]
    pub(super) fn bytes<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value> {
        match self.cursor.token()? {
            Token::Bytes(bytes) => visitor.visit_borrowed_bytes(bytes),
            Token::Array(len) => visitor.visit_byte_buf(self.collect_bytes(len)?),
            Token::Ext(wire::ext::TENSOR, payload) => self.visit_bytes_of(payload, visitor),
            token => self.visit(token, visitor),
        }
    }

    /// An option that may be nothing, or that says itself that it is something.
    #[inline(never)]
    pub(super) fn option<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value> {
        let start = self.cursor.position();
        match self.cursor.token()? {
            Token::Nil => visitor.visit_none(),
            Token::Ext(wire::ext::SOME, payload) => self.visit_wrapped_some(payload, visitor),
            _ => {
                self.cursor.rewind(start);
                self.item(|item| item.visit_bare_some(visitor))
            }
        }
    }

    /// A newtype struct of one of this crate's own names.
    #[inline(never)]
    pub(super) fn newtype<V: Visitor<'de>>(&mut self, name: &'static str, visitor: V) -> Result<V::Value> {
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
                self.item(|item| visitor.visit_newtype_struct(item))
            }
        }
    }

    /// A variant of an enum in any form but a short name.
    #[inline(never)]
    pub(super) fn variant<V: Visitor<'de>>(&mut self, name: &'static str, visitor: V) -> Result<V::Value> {
        match self.cursor.token()? {
            Token::Str(text) => visitor.visit_enum(BorrowedStrDeserializer::new(self.cursor.utf8(text)?)),
            Token::Unsigned(index) => {
                let index = u32::try_from(index)
                    .map_err(|_| Error::invalid_value(Unexpected::Unsigned(index), &"the index of a variant"))?;
                visitor.visit_enum(U32Deserializer::new(index))
            }
            Token::Map(1) => {
                let depth = self.enter()?;
                let value = visitor.visit_enum(Variant::new(self));
                self.depth = depth;
                value
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
    pub(super) fn visit_wrapped_some<V: Visitor<'de>>(&mut self, payload: &'de [u8], visitor: V) -> Result<V::Value> {
        let end = self.cursor.position();
        self.cursor.rewind(end - payload.len());
        let depth = self.enter()?;
        let value = self.item(|item| visitor.visit_some(item));
        self.depth = depth;
        let value = value?;
        if self.cursor.position() == end {
            return Ok(value);
        }
        Err(Error::syntax("an ext 0x53 holds more or less than one value").at(self.cursor.offset_of(end)))
    }

    fn wide(&self, payload: &[u8]) -> Result<[u8; 16]> {
        payload.try_into().map_err(|_| {
            let start = self.cursor.position() - payload.len();
            Error::syntax(format!("a 128-bit integer has {} bytes", payload.len())).at(self.cursor.offset_of(start))
        })
    }

    /// The description and the data that a tensor's payload leads to.
    pub(super) fn tensor(&mut self, payload: &'de [u8]) -> Result<TensorParts<'de>> {
        self.tensor_at_hand(payload)
    }

    /// [`tensor`](Self::tensor) where most tensors are read: its parts need not pass through memory.
    #[inline(always)]
    pub(super) fn tensor_at_hand(&mut self, payload: &'de [u8]) -> Result<TensorParts<'de>> {
        match self.tensor_parts(payload) {
            Ok(parts) => Ok(parts),
            Err(error) => {
                let start = self.cursor.position() - payload.len();
                Err(error.at(self.cursor.offset_of(start)))
            }
        }
    }

    /// A tensor for a type that expects plain numbers.
    #[inline(never)]
    pub(super) fn visit_elements<V: Visitor<'de>>(&mut self, payload: &'de [u8], visitor: V) -> Result<V::Value> {
        let TensorParts { fields, data, .. } = self.tensor(payload)?;
        let descriptor = Descriptor::read(&mut &*fields, self.max_rank)?;
        match data {
            Data::Borrowed(data) => Elements::of(&descriptor, data)?.visit(visitor),
            Data::Held(held, start, len) => Elements::of(&descriptor, &held.copy(start..start + len)?)?.visit(visitor),
        }
    }

    /// [`visit_elements`](Self::visit_elements) for a type that takes bytes.
    #[inline(never)]
    pub(super) fn visit_bytes_of<V: Visitor<'de>>(&mut self, payload: &'de [u8], visitor: V) -> Result<V::Value> {
        let TensorParts { fields, data, .. } = self.tensor(payload)?;
        let descriptor = Descriptor::read(&mut &*fields, self.max_rank)?;
        match data {
            Data::Borrowed(data) => {
                let mut elements = Elements::of(&descriptor, data)?;
                match elements.is_bytes() {
                    true => visitor.visit_borrowed_bytes(data),
                    false => visitor.visit_seq(&mut elements),
                }
            }
            Data::Held(held, start, len) => {
                let copy = held.copy(start..start + len)?;
                let mut elements = Elements::of(&descriptor, &copy)?;
                match elements.is_bytes() {
                    true => visitor.visit_byte_buf(copy),
                    false => visitor.visit_seq(&mut elements),
                }
            }
        }
    }

    #[inline(always)]
    fn tensor_parts(&mut self, payload: &'de [u8]) -> Result<TensorParts<'de>> {
        let (fields, place) = descriptor::split(payload)?;
        let (data, segment) = match place {
            Place::Inline(data) => (Data::Borrowed(data), None),
            Place::Segment { index, offset } if self.held.is_some() => {
                let len = descriptor::data_len(fields, self.max_rank)?;
                (self.held_data(index, offset, len)?, None)
            }
            Place::Segment { index, offset } => {
                let (data, segment) = self.segment_part(fields, index, offset)?;
                (Data::Borrowed(data), Some(segment))
            }
        };
        Ok(TensorParts {
            fields,
            data,
            segment,
            frame: segment.and(self.frame.as_ref()).map(Frame::bytes),
        })
    }

    fn held_data(&self, index: u64, offset: u64, len: usize) -> Result<Data<'de>> {
        let held = self.held.ok_or_else(|| Error::data("the message is gone"))?;
        let range = Held::range(&held.spot(index, offset)?, len)?;
        Ok(Data::Held(held, range.start, range.len()))
    }

    /// The data of a tensor in a segment, and the whole segment.
    fn segment_part(&mut self, fields: &[u8], index: u64, offset: u64) -> Result<(&'de [u8], &'de [u8])> {
        let segment = self.segment(index)?;
        let len = descriptor::data_len(fields, self.max_rank)?;
        let part = usize::try_from(offset)
            .ok()
            .and_then(|offset| segment.get(offset..offset.checked_add(len)?));
        let part = part.ok_or_else(|| {
            Error::syntax(format!(
                "a tensor of {len} bytes at {offset} of segment {index}, which has {}",
                segment.len()
            ))
        })?;
        Ok((part, segment))
    }

    /// A tensor for a type that reads its data later: without it, if it is in a segment and can be had then.
    pub(super) fn tensor_for_later(&mut self, payload: &'de [u8]) -> Result<TensorParts<'de>> {
        if self.loaded.is_none() && (self.checks.is_none() || !self.call.shares()) {
            return self.tensor(payload);
        }
        let start = self.cursor.position() - payload.len();
        self.deferred_parts(payload)
            .map_err(|error| error.at(self.cursor.offset_of(start)))
    }

    fn deferred_parts(&mut self, payload: &'de [u8]) -> Result<TensorParts<'de>> {
        let (fields, place) = descriptor::split(payload)?;
        let Place::Segment { index, offset } = place else {
            return self.tensor_parts(payload);
        };
        let at = addresses(fields).start;
        let len = descriptor::data_len(fields, self.max_rank)?;
        let not_inside = |segment: u64| {
            Error::syntax(format!(
                "a tensor of {len} bytes at {offset} of segment {index}, which has {segment}"
            ))
        };
        if let Some(loaded) = self.loaded {
            let store = loaded.store();
            let entry = store.entry(index)?;
            let start = usize::try_from(offset).ok();
            let start = start.filter(|_| offset.checked_add(to_u64(len)).is_some_and(|end| end <= entry.len));
            let place = DeferredPlace::Store(Arc::clone(store), index, start.ok_or_else(|| not_inside(entry.len))?);
            self.call.defer(Deferred { at, place });
            return Ok(TensorParts {
                fields,
                data: Data::Borrowed(&[]),
                segment: None,
                frame: None,
            });
        }
        let Some(frame) = &self.frame else {
            return self.tensor_parts(payload);
        };
        let (entry, segment) = (frame.entry(index)?, frame.segment(index)?);
        let start = usize::try_from(offset).ok();
        let data = start.and_then(|start| segment.get(start..start.checked_add(len)?));
        let data = data.ok_or_else(|| not_inside(entry.len))?;
        let Some(checks) = &mut self.checks else {
            return self.tensor_parts(payload);
        };
        let check = checks.later.entry(index);
        let check = check.or_insert_with(|| Arc::new(Check::new(index, entry.checksum)));
        let place = DeferredPlace::Memory(Arc::clone(check));
        self.call.defer(Deferred { at, place });
        Ok(TensorParts {
            fields,
            data: Data::Borrowed(data),
            segment: Some(segment),
            frame: Some(frame.bytes()),
        })
    }

    /// A segment's bytes, checked the first time they are asked for.
    fn segment(&mut self, index: u64) -> Result<&'de [u8]> {
        if let Some(loaded) = self.loaded {
            let segment = loaded.segment(index)?;
            self.call.keep(segment);
            return Ok(segment);
        }
        let frame = self
            .frame
            .as_ref()
            .ok_or_else(|| Error::syntax("a tensor is said to be in a segment, and the message is not a frame"))?;
        let segment = frame.segment(index)?;
        if let Some(checks) = &mut self.checks
            && let Some(done) = usize::try_from(index).ok().and_then(|index| checks.done.get_mut(index))
            && !*done
        {
            frame.check_segment(index)?;
            *done = true;
        }
        Ok(segment)
    }

    /// A key or the name of a variant, in any other form than a short string.
    #[inline(never)]
    pub(super) fn identifier<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value> {
        if let Some(name) = self.item(|item| item.rest.quick_str()) {
            return visitor.visit_borrowed_str(name);
        }
        match self.cursor.token()? {
            // The tag of an adjacently tagged enum is a unit variant, which in a compact message is a map of one.
            Token::Map(1) => self.compact_unit(visitor),
            token => self.visit(token, visitor),
        }
    }

    /// The name or index of a unit variant whose map of one was begun.
    pub(super) fn compact_unit<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value> {
        let value = self.item(|item| item.deserialize_str(visitor))?;
        match self.cursor.token()? {
            Token::Nil => Ok(value),
            token => Err(Error::invalid_type(
                unexpected(&token),
                &"nil, the content of a unit variant",
            )),
        }
    }

    /// Integers in an array, as bytes.
    pub(super) fn collect_bytes(&mut self, len: usize) -> Result<Vec<u8>> {
        // An element takes a byte at least, so the input justifies the reservation.
        let mut bytes = Vec::with_capacity(len);
        for _ in 0..len {
            let start = self.cursor.position();
            let token = self.cursor.token()?;
            let byte = match token {
                Token::Unsigned(n) => u8::try_from(n).ok(),
                _ => None,
            };
            let Some(byte) = byte else {
                let error = Error::invalid_type(unexpected(&token), &"an integer from 0 to 255");
                return Err(self.locate(error, start));
            };
            bytes.push(byte);
        }
        Ok(bytes)
    }
}

/// An item in an error's words.
pub(super) fn unexpected<'t>(token: &Token<'t>) -> Unexpected<'t> {
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
