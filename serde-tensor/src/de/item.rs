//! The next item of a message, and the deserializer as one.

use serde::de::Visitor;

use super::Deserializer;
use super::access::{Entries, Fields, Items, more};
use crate::error::{Error, Result};
use crate::wire::rest::Rest;

/// The next item.
///
/// What is left of the message is in the hands of the array or map that the item is in. The deserializer has it whenever it is the one to read.
pub(super) struct Item<'i, 'de> {
    pub(super) deserializer: &'i mut Deserializer<'de>,
    pub(super) rest: &'i mut Rest<'de>,
}

impl<'de> Item<'_, 'de> {
    /// What the deserializer makes of the item.
    #[inline(always)]
    pub(super) fn by_deserializer<R>(self, read: impl FnOnce(&mut Deserializer<'de>) -> R) -> R {
        self.deserializer.cursor.go_on(*self.rest);
        let result = read(self.deserializer);
        *self.rest = self.deserializer.cursor.left();
        result
    }

    /// Hands an array of `len` items, which start at `rest`, to a visitor.
    #[inline]
    pub(super) fn visit_array<K, V: Visitor<'de>>(self, rest: Rest<'de>, len: usize, visitor: V) -> Result<V::Value> {
        let depth = self.deserializer.enter()?;
        let mut items = Items::<K>::new(self.deserializer, rest, len);
        // The value stays where it is made: taken out of its result and put back, it would be copied twice.
        let mut value = visitor.visit_seq(&mut items);
        let (rest, left) = items.left();
        *self.rest = rest;
        if left != 0 && value.is_ok() {
            value = Err(self.deserializer.left_over(rest, left, "elements"));
        }
        self.deserializer.depth = depth;
        value
    }

    /// Reads a struct of so many fields.
    #[inline]
    pub(super) fn structure<V: Visitor<'de>>(self, fields: usize, visitor: V) -> Result<V::Value> {
        if let Some(rest) = self.rest.before_array(fields) {
            return self.visit_array::<Fields, V>(rest, fields, visitor);
        }
        match self.rest.quick_map() {
            Some(len) => self.visit_map::<Fields, V>(len, visitor),
            None => self.by_deserializer(|deserializer| deserializer.any(visitor)),
        }
    }

    /// Reads a tuple.
    #[inline]
    pub(super) fn tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value> {
        match self.rest.before_array(len) {
            Some(rest) => self.visit_array::<Fields, V>(rest, len, visitor),
            None => self.by_deserializer(|deserializer| deserializer.sequence(visitor)),
        }
    }

    /// Hands a map, whose header was taken, to a visitor.
    #[inline]
    pub(super) fn visit_map<K, V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value> {
        let depth = self.deserializer.enter()?;
        let mut entries = Entries::<K>::new(self.deserializer, *self.rest, len);
        let mut value = visitor.visit_map(&mut entries);
        let (rest, left) = entries.left();
        *self.rest = rest;
        if left != 0 && value.is_ok() {
            value = Err(self.deserializer.left_over(rest, left, "entries"));
        }
        self.deserializer.depth = depth;
        value
    }

    /// `Some` of what comes next. One directly inside another is a level of depth, though the bytes do not show it.
    #[inline]
    pub(super) fn visit_bare_some<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let left = self.rest.len();
        if self.deserializer.some_at.replace(left) != Some(left) {
            return visitor.visit_some(self);
        }
        let Self { deserializer, rest } = self;
        let depth = deserializer.enter()?;
        let value = visitor.visit_some(Item {
            deserializer: &mut *deserializer,
            rest,
        });
        deserializer.depth = depth;
        value
    }
}

impl<'de> Deserializer<'de> {
    /// Reads the next item.
    #[inline]
    pub(super) fn item<R>(&mut self, read: impl FnOnce(Item<'_, 'de>) -> R) -> R {
        let mut rest = self.cursor.left();
        let result = read(Item {
            deserializer: self,
            rest: &mut rest,
        });
        self.cursor.go_on(rest);
        result
    }

    /// [`Item::structure`], apart from what is inlined.
    #[inline(never)]
    pub(super) fn structure<V: Visitor<'de>>(&mut self, fields: usize, visitor: V) -> Result<V::Value> {
        self.item(|item| item.structure(fields, visitor))
    }

    /// [`Item::tuple`], apart from what is inlined.
    #[inline(never)]
    pub(super) fn tuple<V: Visitor<'de>>(&mut self, len: usize, visitor: V) -> Result<V::Value> {
        self.item(|item| item.tuple(len, visitor))
    }

    /// The error with the place and path of the element before which so many bytes were left, unless it has its own.
    #[cold]
    #[inline(never)]
    pub(super) fn locate_left(&self, error: Error, left: usize) -> Error {
        self.locate(error, self.cursor.bytes().len() - left)
    }

    /// The error of items that a visitor did not take.
    #[cold]
    #[inline(never)]
    fn left_over(&self, rest: Rest<'de>, left: usize, parts: &str) -> Error {
        let position = self.cursor.bytes().len() - rest.len();
        more(left, parts).at(self.cursor.offset_of(position))
    }
}

/// Methods that read the next item.
macro_rules! by_item {
    ($($method:ident($($name:ident: $argument:ty),*);)*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(self, $($name: $argument,)* visitor: V) -> Result<V::Value> {
            self.item(|item| item.$method($($name,)* visitor))
        }
    )*};
}

impl<'de> serde::Deserializer<'de> for &mut Deserializer<'de> {
    type Error = Error;

    #[inline]
    fn is_human_readable(&self) -> bool {
        false
    }

    by_item! {
        deserialize_any();
        deserialize_bool();
        deserialize_i8();
        deserialize_i16();
        deserialize_i32();
        deserialize_i64();
        deserialize_i128();
        deserialize_u8();
        deserialize_u16();
        deserialize_u32();
        deserialize_u64();
        deserialize_u128();
        deserialize_f32();
        deserialize_f64();
        deserialize_char();
        deserialize_str();
        deserialize_string();
        deserialize_bytes();
        deserialize_byte_buf();
        deserialize_option();
        deserialize_unit();
        deserialize_unit_struct(name: &'static str);
        deserialize_newtype_struct(name: &'static str);
        deserialize_seq();
        deserialize_tuple(len: usize);
        deserialize_tuple_struct(name: &'static str, len: usize);
        deserialize_map();
        deserialize_struct(name: &'static str, fields: &'static [&'static str]);
        deserialize_enum(name: &'static str, variants: &'static [&'static str]);
        deserialize_identifier();
        deserialize_ignored_any();
    }
}
