//! Tensors and extension values as serde sees them: a sequence of two parts, whatever is asked for.

use std::ops::Range;
use std::rc::Rc;

use serde::de::value::{BorrowedBytesDeserializer, I8Deserializer};
use serde::de::{DeserializeSeed, IntoDeserializer as _, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use crate::call::decode::held::Held;
use crate::error::{Error, Result};

/// A tensor: its description and its data, both borrowed from the message, so that serde's buffers keep them as they are.
pub(super) struct TensorParts<'de> {
    pub(super) fields: &'de [u8],
    pub(super) data: Data<'de>,
    /// The whole segment that the data is a part of. It is given, behind the other two, to whoever asks for a tuple, as
    /// [`Raw`](crate::leaf::Raw) does.
    pub(super) segment: Option<&'de [u8]>,
    /// The whole frame, given behind that.
    pub(super) frame: Option<&'de [u8]>,
}

/// A tensor's data.
#[derive(Clone, Copy)]
pub(super) enum Data<'de> {
    Borrowed(&'de [u8]),
    /// In memory of a tensor library's own. This crate's tensors find it there themselves; whoever asks for the bytes gets a copy.
    /// From an offset in the message, so many bytes.
    Held(&'de Rc<Held>, usize, usize),
}

/// An extension value that is not this format's own.
pub(super) struct ExtParts<'de> {
    pub(super) tag: i8,
    pub(super) bytes: &'de [u8],
}

/// The parts of a tensor that were not taken yet. Each is a field of its own, and not a place in an array, so that none needs to
/// be in memory.
struct TensorRow<'de> {
    fields: Option<&'de [u8]>,
    data: Option<Data<'de>>,
    segment: Option<&'de [u8]>,
    frame: Option<&'de [u8]>,
}

impl<'de> SeqAccess<'de> for TensorRow<'de> {
    type Error = Error;

    #[inline(always)]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        let borrowed = |bytes| BorrowedBytesDeserializer::new(bytes);
        if let Some(fields) = self.fields.take() {
            return seed.deserialize(borrowed(fields)).map(Some);
        }
        match self.data.take() {
            Some(Data::Borrowed(data)) => return seed.deserialize(borrowed(data)).map(Some),
            Some(Data::Held(held, start, len)) => {
                return seed.deserialize(HeldBytes(held, start..start + len)).map(Some);
            }
            None => {}
        }
        match self.segment.take().or_else(|| self.frame.take()) {
            Some(whole) => seed.deserialize(borrowed(whole)).map(Some),
            None => Ok(None),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        let bytes = [self.fields, self.segment, self.frame];
        Some(bytes.iter().flatten().count() + usize::from(self.data.is_some()))
    }
}

/// The parts of an extension value that were not taken yet.
struct ExtRow<'de> {
    tag: Option<i8>,
    bytes: Option<&'de [u8]>,
}

impl<'de> SeqAccess<'de> for ExtRow<'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        if let Some(tag) = self.tag.take() {
            let tag: I8Deserializer<Error> = tag.into_deserializer();
            return seed.deserialize(tag).map(Some);
        }
        match self.bytes.take() {
            Some(bytes) => seed.deserialize(BorrowedBytesDeserializer::new(bytes)).map(Some),
            None => Ok(None),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(usize::from(self.tag.is_some()) + usize::from(self.bytes.is_some()))
    }
}

/// The one thing that either does.
macro_rules! as_sequence {
    ($parts:ident, $this:ident => $sequence:expr, $whole:expr) => {
        impl<'de> serde::Deserializer<'de> for $parts<'de> {
            type Error = Error;

            #[inline]
            fn is_human_readable(&self) -> bool {
                false
            }

            #[inline]
            fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
                let $this = self;
                visitor.visit_seq($sequence)
            }

            #[inline(always)]
            fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value> {
                let $this = self;
                visitor.visit_seq($whole)
            }

            forward_to_deserialize_any! {
                bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
                unit_struct newtype_struct seq tuple_struct map struct enum identifier ignored_any
            }
        }
    };
}

as_sequence!(
    TensorParts,
    this => TensorRow {
        fields: Some(this.fields),
        data: Some(this.data),
        segment: None,
        frame: None,
    },
    TensorRow {
        fields: Some(this.fields),
        data: Some(this.data),
        segment: this.segment,
        frame: this.frame,
    }
);
as_sequence!(
    ExtParts,
    this => ExtRow {
        tag: Some(this.tag),
        bytes: Some(this.bytes),
    },
    ExtRow {
        tag: Some(this.tag),
        bytes: Some(this.bytes),
    }
);

/// Bytes in a library's memory, copied only for whoever looks at them.
struct HeldBytes<'de>(&'de Rc<Held>, Range<usize>);

impl<'de> serde::Deserializer<'de> for HeldBytes<'de> {
    type Error = Error;

    fn is_human_readable(&self) -> bool {
        false
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_byte_buf(self.0.copy(self.1)?)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier
    }
}
