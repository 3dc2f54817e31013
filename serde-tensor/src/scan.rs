//! The recursive scan for tensors, over any `Serialize` value.
//!
//! It is what derived types make unnecessary: [`contains_tensor`](crate::contains_tensor) knows from the type where to look. Here for types
//! that derive nothing of this crate, and as the baseline of the benchmark.

use std::fmt;

use serde::ser::{self, Serialize, Serializer};

use crate::leaf;

/// Whether a value holds a tensor, found by walking all of it up to the first.
///
/// It finds tensors wherever serde goes: in sets, structs, enums, newtypes, `flatten`. Elements marked as bulk (`#[tensor] Vec<f32>`)
/// are tensors; unmarked ones are not. A value whose `Serialize` fails before a tensor is met is said to hold none.
///
/// ```
/// use serde_tensor::{Tensor, scan};
///
/// assert!(scan::contains_tensor_dyn(&vec![("a", Some(Tensor::scalar(1.5f32)))]));
/// assert!(!scan::contains_tensor_dyn(&vec![("a", Some(1.5f32))]));
/// ```
pub fn contains_tensor_dyn<T: ?Sized + Serialize>(value: &T) -> bool {
    matches!(value.serialize(Scanner), Err(Stop::Found))
}

/// Why a scan stops early.
#[derive(Debug)]
enum Stop {
    Found,
    Failed,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Found => "a tensor was found",
            Self::Failed => "the value failed to serialize",
        })
    }
}

impl std::error::Error for Stop {}

impl ser::Error for Stop {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::Failed
    }
}

/// Writes nothing, and stops at a tensor.
#[derive(Clone, Copy)]
struct Scanner;

/// Methods for what holds nothing.
macro_rules! empty {
    ($($method:ident($($argument:ty),*);)*) => {$(
        #[inline]
        fn $method(self, $(_: $argument),*) -> Result<(), Stop> {
            Ok(())
        }
    )*};
}

/// Methods for what holds elements.
macro_rules! nested {
    ($($method:ident($($argument:ty),*);)*) => {$(
        #[inline]
        fn $method(self, $(_: $argument),*) -> Result<Self, Stop> {
            Ok(self)
        }
    )*};
}

impl Serializer for Scanner {
    type Ok = ();
    type Error = Stop;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    fn is_human_readable(&self) -> bool {
        false
    }

    empty! {
        serialize_bool(bool);
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
        serialize_i128(i128);
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_u32(u32);
        serialize_u64(u64);
        serialize_u128(u128);
        serialize_f32(f32);
        serialize_f64(f64);
        serialize_char(char);
        serialize_str(&str);
        serialize_bytes(&[u8]);
        serialize_none();
        serialize_unit();
        serialize_unit_struct(&'static str);
        serialize_unit_variant(&'static str, u32, &'static str);
    }

    nested! {
        serialize_seq(Option<usize>);
        serialize_tuple(usize);
        serialize_tuple_struct(&'static str, usize);
        serialize_tuple_variant(&'static str, u32, &'static str, usize);
        serialize_map(Option<usize>);
        serialize_struct(&'static str, usize);
        serialize_struct_variant(&'static str, u32, &'static str, usize);
    }

    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Result<(), Stop> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(self, name: &'static str, value: &T) -> Result<(), Stop> {
        match name {
            leaf::TOKEN | leaf::MAP_TOKEN => Err(Stop::Found),
            _ => value.serialize(self),
        }
    }

    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), Stop> {
        value.serialize(self)
    }

    fn collect_str<T: ?Sized + fmt::Display>(self, _: &T) -> Result<(), Stop> {
        Ok(())
    }
}

/// The traits for elements, which differ in a name alone.
macro_rules! elements {
    ($($compound:ident::$method:ident($($name:ty)?);)*) => {$(
        impl ser::$compound for Scanner {
            type Ok = ();
            type Error = Stop;

            #[inline]
            fn $method<T: ?Sized + Serialize>(&mut self, $(_: $name,)? value: &T) -> Result<(), Stop> {
                value.serialize(*self)
            }

            fn end(self) -> Result<(), Stop> {
                Ok(())
            }
        }
    )*};
}

elements! {
    SerializeSeq::serialize_element();
    SerializeTuple::serialize_element();
    SerializeTupleStruct::serialize_field();
    SerializeTupleVariant::serialize_field();
    SerializeStruct::serialize_field(&'static str);
    SerializeStructVariant::serialize_field(&'static str);
}

impl ser::SerializeMap for Scanner {
    type Ok = ();
    type Error = Stop;

    #[inline]
    fn serialize_key<T: ?Sized + Serialize>(&mut self, key: &T) -> Result<(), Stop> {
        key.serialize(*self)
    }

    #[inline]
    fn serialize_value<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), Stop> {
        value.serialize(*self)
    }

    fn end(self) -> Result<(), Stop> {
        Ok(())
    }
}
