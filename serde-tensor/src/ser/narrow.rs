//! A serializer for the few things that a tensor or an extension value is made of.

use serde::Serialize;
use serde::ser::{self, Impossible, SerializeSeq, SerializeTuple};

use crate::error::{Error, Result};
use crate::wire::buffer::Buffer;
use crate::wire::descriptor::Fields;

/// Takes what a [`Narrow`] serializer is given; whatever it does not take is an error.
pub(super) trait Parts: Sized {
    /// Takes the elements of a tuple or sequence.
    type Row: Row;

    /// The start of a tuple or sequence.
    fn row(self) -> Result<Self::Row>;

    fn bytes(self, bytes: &[u8]) -> Result<()> {
        let _ = bytes;
        Err(unexpected())
    }

    fn integer(self, n: i8) -> Result<()> {
        let _ = n;
        Err(unexpected())
    }
}

/// Takes the elements of a tuple or sequence.
pub(super) trait Row {
    fn element<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<()>;
    fn end(self) -> Result<()>;
}

/// What is never begun.
pub(super) enum NoRow {}

impl Row for NoRow {
    fn element<T: ?Sized + Serialize>(&mut self, _: &T) -> Result<()> {
        match *self {}
    }

    fn end(self) -> Result<()> {
        match self {}
    }
}

/// What bytes can be appended to.
pub(super) trait Sink {
    fn append(&mut self, bytes: &[u8]);
}

impl Sink for Vec<u8> {
    fn append(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

impl Sink for Fields {
    fn append(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

impl Sink for Buffer {
    fn append(&mut self, bytes: &[u8]) {
        self.put_short(bytes);
    }
}

/// Byte strings, one or a sequence of them, appended to a sink.
pub(super) struct Append<'o, O>(pub(super) &'o mut O);

impl<O: Sink> Parts for Append<'_, O> {
    type Row = Self;

    fn row(self) -> Result<Self> {
        Ok(self)
    }

    fn bytes(self, bytes: &[u8]) -> Result<()> {
        self.0.append(bytes);
        Ok(())
    }
}

impl<O: Sink> Row for Append<'_, O> {
    fn element<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<()> {
        value.serialize(Narrow(Append(self.0)))
    }

    fn end(self) -> Result<()> {
        Ok(())
    }
}

pub(super) struct Narrow<P>(pub(super) P);

#[cold]
pub(super) fn unexpected() -> Error {
    Error::data("a newtype struct with the name of a tensor or extension value does not hold one")
}

impl<R: Row> SerializeSeq for Narrow<R> {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<()> {
        self.0.element(value)
    }

    fn end(self) -> Result<()> {
        self.0.end()
    }
}

impl<R: Row> SerializeTuple for Narrow<R> {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<()> {
        self.0.element(value)
    }

    fn end(self) -> Result<()> {
        self.0.end()
    }
}

/// Methods that refuse what they are given.
macro_rules! refuse {
    ($($method:ident($($argument:ty),*) -> $ok:ty;)*) => {$(
        fn $method(self, $(_: $argument),*) -> Result<$ok> {
            Err(unexpected())
        }
    )*};
}

impl<P: Parts> ser::Serializer for Narrow<P> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Narrow<P::Row>;
    type SerializeTuple = Narrow<P::Row>;
    type SerializeTupleStruct = Impossible<(), Error>;
    type SerializeTupleVariant = Impossible<(), Error>;
    type SerializeMap = Impossible<(), Error>;
    type SerializeStruct = Impossible<(), Error>;
    type SerializeStructVariant = Impossible<(), Error>;

    fn is_human_readable(&self) -> bool {
        false
    }

    #[inline(always)]
    fn serialize_bytes(self, bytes: &[u8]) -> Result<()> {
        self.0.bytes(bytes)
    }

    fn serialize_i8(self, n: i8) -> Result<()> {
        self.0.integer(n)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Narrow<P::Row>> {
        self.0.row().map(Narrow)
    }

    fn serialize_tuple(self, _: usize) -> Result<Narrow<P::Row>> {
        self.0.row().map(Narrow)
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(self, _: &'static str, value: &T) -> Result<()> {
        value.serialize(self)
    }

    fn serialize_some<T: ?Sized + Serialize>(self, _: &T) -> Result<()> {
        Err(unexpected())
    }

    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<()> {
        Err(unexpected())
    }

    refuse! {
        serialize_bool(bool) -> ();
        serialize_i16(i16) -> ();
        serialize_i32(i32) -> ();
        serialize_i64(i64) -> ();
        serialize_u8(u8) -> ();
        serialize_u16(u16) -> ();
        serialize_u32(u32) -> ();
        serialize_u64(u64) -> ();
        serialize_f32(f32) -> ();
        serialize_f64(f64) -> ();
        serialize_char(char) -> ();
        serialize_str(&str) -> ();
        serialize_none() -> ();
        serialize_unit() -> ();
        serialize_unit_struct(&'static str) -> ();
        serialize_unit_variant(&'static str, u32, &'static str) -> ();
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant;
        serialize_map(Option<usize>) -> Self::SerializeMap;
        serialize_struct(&'static str, usize) -> Self::SerializeStruct;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant;
    }
}
