//! Arrays and maps being read.

use std::marker::PhantomData;
use std::mem;

use serde::de::value::U8Deserializer;
use serde::de::{DeserializeSeed, IntoDeserializer as _, MapAccess, SeqAccess};

use super::Deserializer;
use super::item::Item;
use crate::error::{Error, Result};
use crate::wire::rest::Rest;

/// The items of an array.
///
/// What is left of the message is here and not in the deserializer, for a time: as long as visitor and items are inlined, it is in
/// registers.
pub(super) struct Items<'d, 'de, K> {
    deserializer: &'d mut Deserializer<'de>,
    rest: Rest<'de>,
    left: usize,
    kind: PhantomData<K>,
}

// The kinds of items. One function alone hands those of a kind to a type's visitor, so the visitor is inlined there, and their number,
// where the type says it, is a constant.

/// The fields of a struct, or the elements of a tuple.
pub(super) struct Fields;

/// The same, all of them floats.
pub(super) struct Floats;

/// All others.
pub(super) struct Any;

impl<'d, 'de, K> Items<'d, 'de, K> {
    #[inline]
    pub(super) fn new(deserializer: &'d mut Deserializer<'de>, rest: Rest<'de>, len: usize) -> Self {
        Self {
            deserializer,
            rest,
            left: len,
            kind: PhantomData,
        }
    }

    /// What follows those that the visitor took, and how many it did not take.
    #[inline]
    pub(super) fn left(&self) -> (Rest<'de>, usize) {
        (self.rest, self.left)
    }
}

impl<'de, K> SeqAccess<'de> for Items<'_, 'de, K> {
    type Error = Error;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        located(self.deserializer, &mut self.rest, seed).map(Some)
    }

    #[inline]
    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

/// The entries of a map; what is left of the message is here, as in [`Items`].
pub(super) struct Entries<'d, 'de, K> {
    deserializer: &'d mut Deserializer<'de>,
    rest: Rest<'de>,
    left: usize,
    /// A key was taken and its value was not.
    owing: bool,
    kind: PhantomData<K>,
}

impl<'d, 'de, K> Entries<'d, 'de, K> {
    #[inline]
    pub(super) fn new(deserializer: &'d mut Deserializer<'de>, rest: Rest<'de>, len: usize) -> Self {
        Self {
            deserializer,
            rest,
            left: len,
            owing: false,
            kind: PhantomData,
        }
    }

    /// What follows those that the visitor took, and how many it did not take, or not whole.
    #[inline]
    pub(super) fn left(&self) -> (Rest<'de>, usize) {
        (self.rest, self.left + usize::from(self.owing))
    }
}

impl<'de, K> MapAccess<'de> for Entries<'_, 'de, K> {
    type Error = Error;

    #[inline]
    fn next_key_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        self.owing = true;
        located(self.deserializer, &mut self.rest, seed).map(Some)
    }

    #[inline]
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        self.owing = false;
        located(self.deserializer, &mut self.rest, seed)
    }

    #[inline]
    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

/// Reads one item; an error without a place gets the item's.
#[inline]
pub(super) fn located<'de, T: DeserializeSeed<'de>>(
    deserializer: &mut Deserializer<'de>,
    rest: &mut Rest<'de>,
    seed: T,
) -> Result<T::Value> {
    // A copy, so that only its address is given to what is not inlined.
    let mut own = *rest;
    let value = seed.deserialize(Item {
        deserializer,
        rest: &mut own,
    });
    let left = mem::replace(rest, own).len();
    match value {
        Ok(value) => Ok(value),
        Err(error) => Err(deserializer.locate_left(error, left)),
    }
}

/// A byte string as a sequence of integers.
pub(super) struct ByteAccess<'de> {
    left: std::slice::Iter<'de, u8>,
}

impl<'de> ByteAccess<'de> {
    #[inline]
    pub(super) fn new(bytes: &'de [u8]) -> Self {
        Self { left: bytes.iter() }
    }

    #[inline]
    pub(super) fn end(&self) -> Result<()> {
        match self.left.len() {
            0 => Ok(()),
            left => Err(more(left, "bytes")),
        }
    }
}

impl<'de> SeqAccess<'de> for ByteAccess<'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        let Some(&byte) = self.left.next() else {
            return Ok(None);
        };
        let byte: U8Deserializer<Error> = byte.into_deserializer();
        seed.deserialize(byte).map(Some)
    }

    #[inline]
    fn size_hint(&self) -> Option<usize> {
        Some(self.left.len())
    }
}

#[cold]
pub(super) fn more(left: usize, parts: &str) -> Error {
    Error::data(format!("{left} more {parts} than the type holds"))
}
