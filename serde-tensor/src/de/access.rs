//! Arrays and maps being read.

use serde::de::value::U8Deserializer;
use serde::de::{DeserializeSeed, IntoDeserializer as _, MapAccess, SeqAccess};

use super::Deserializer;
use crate::error::{Error, Result};

/// The items of an array.
pub(super) struct Items<'d, 'de> {
    deserializer: &'d mut Deserializer<'de>,
    left: usize,
}

impl<'d, 'de> Items<'d, 'de> {
    #[inline]
    pub(super) fn new(deserializer: &'d mut Deserializer<'de>, len: usize) -> Self {
        Self {
            deserializer,
            left: len,
        }
    }

    /// How many the visitor did not take.
    #[inline]
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// The error of items that the visitor did not take.
    pub(super) fn left_over(&self) -> Error {
        left_over(self.deserializer, self.left(), "elements")
    }
}

impl<'de> SeqAccess<'de> for Items<'_, 'de> {
    type Error = Error;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        located(self.deserializer, seed).map(Some)
    }

    #[inline]
    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

/// The entries of a map.
pub(super) struct Entries<'d, 'de> {
    deserializer: &'d mut Deserializer<'de>,
    left: usize,
    /// A key was taken and its value was not.
    owing: bool,
}

impl<'d, 'de> Entries<'d, 'de> {
    #[inline]
    pub(super) fn new(deserializer: &'d mut Deserializer<'de>, len: usize) -> Self {
        Self {
            deserializer,
            left: len,
            owing: false,
        }
    }

    /// How many the visitor did not take, or not whole.
    #[inline]
    pub(super) fn left(&self) -> usize {
        self.left + usize::from(self.owing)
    }

    /// The error of entries that the visitor did not take.
    pub(super) fn left_over(&self) -> Error {
        left_over(self.deserializer, self.left(), "entries")
    }
}

#[cold]
#[inline(never)]
fn left_over(deserializer: &Deserializer<'_>, left: usize, parts: &str) -> Error {
    let cursor = &deserializer.cursor;
    more(left, parts).at(cursor.offset_of(cursor.position()))
}

impl<'de> MapAccess<'de> for Entries<'_, 'de> {
    type Error = Error;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        self.owing = true;
        located(self.deserializer, seed).map(Some)
    }

    #[inline]
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        self.owing = false;
        located(self.deserializer, seed)
    }

    #[inline]
    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

/// Reads one item; an error without a place gets the item's.
#[inline]
pub(super) fn located<'de, T: DeserializeSeed<'de>>(deserializer: &mut Deserializer<'de>, seed: T) -> Result<T::Value> {
    let start = deserializer.cursor.position();
    match seed.deserialize(&mut *deserializer) {
        Ok(value) => Ok(value),
        Err(error) => Err(deserializer.locate(error, start)),
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
fn more(left: usize, parts: &str) -> Error {
    Error::data(format!("{left} more {parts} than the type holds"))
}
