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

/// A part of either.
#[derive(Clone, Copy)]
enum Part<'de> {
    Data(Data<'de>),
    Bytes(&'de [u8]),
    Tag(i8),
}

/// The parts that were not taken yet. Each is a field of its own, and not a place in an array, so that none needs to be in memory.
struct Parts<'de> {
    first: Option<Part<'de>>,
    second: Option<Part<'de>>,
    third: Option<Part<'de>>,
    fourth: Option<Part<'de>>,
}

impl<'de> Parts<'de> {
    #[inline(always)]
    fn next(&mut self) -> Option<Part<'de>> {
        let rest = [&mut self.second, &mut self.third, &mut self.fourth];
        self.first.take().or_else(|| rest.into_iter().find_map(Option::take))
    }
}

impl<'de> SeqAccess<'de> for Parts<'de> {
    type Error = Error;

    #[inline(always)]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        let Some(part) = self.next() else {
            return Ok(None);
        };
        match part {
            Part::Data(Data::Held(held, start, len)) => seed.deserialize(HeldBytes(held, start..start + len)),
            Part::Data(Data::Borrowed(bytes)) | Part::Bytes(bytes) => {
                seed.deserialize(BorrowedBytesDeserializer::new(bytes))
            }
            Part::Tag(tag) => {
                let tag: I8Deserializer<Error> = tag.into_deserializer();
                seed.deserialize(tag)
            }
        }
        .map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        let left = [&self.first, &self.second, &self.third, &self.fourth];
        Some(left.into_iter().flatten().count())
    }
}

/// The one thing that either does.
macro_rules! as_sequence {
    ($parts:ident, $this:ident => $sequence:expr, $more:expr) => {
        impl<'de> serde::Deserializer<'de> for $parts<'de> {
            type Error = Error;

            #[inline]
            fn is_human_readable(&self) -> bool {
                false
            }

            #[inline]
            fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
                let $this = self;
                let [first, second] = $sequence;
                visitor.visit_seq(Parts {
                    first: Some(first),
                    second: Some(second),
                    third: None,
                    fourth: None,
                })
            }

            #[inline(always)]
            fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value> {
                let $this = self;
                let [third, fourth] = $more;
                let [first, second] = $sequence;
                visitor.visit_seq(Parts {
                    first: Some(first),
                    second: Some(second),
                    third,
                    fourth,
                })
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
    this => [Part::Bytes(this.fields), Part::Data(this.data)],
    [this.segment.map(Part::Bytes), this.frame.map(Part::Bytes)]
);
as_sequence!(ExtParts, this => [Part::Tag(this.tag), Part::Bytes(this.bytes)], [None, None]);

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
