//! Arrays and maps being written.

use serde::Serialize;
use serde::ser;

use super::Serializer;
use crate::error::{Error, Result};
use crate::wire::write::{self, Open};

/// An array, a map, or a struct as either, being written.
pub struct Compound<'s, 'p> {
    serializer: &'s mut Serializer<'p>,
    shape: Shape,
    header: Header,
    count: usize,
    /// How many levels of depth end with it: two where it is the content of a variant.
    levels: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Array,
    Map,
}

/// The header that was written first.
#[derive(Clone, Copy)]
enum Header {
    /// At this place, for this many elements.
    Known { at: usize, len: usize },
    Unknown(Open),
}

impl<'s, 'p> Compound<'s, 'p> {
    pub(super) fn array(serializer: &'s mut Serializer<'p>, len: Option<usize>) -> Result<Self> {
        Self::start(serializer, Shape::Array, len)
    }

    pub(super) fn map(serializer: &'s mut Serializer<'p>, len: Option<usize>) -> Result<Self> {
        Self::start(serializer, Shape::Map, len)
    }

    pub(super) fn in_variant(mut self) -> Self {
        self.levels += 1;
        self
    }

    fn start(serializer: &'s mut Serializer<'p>, shape: Shape, len: Option<usize>) -> Result<Self> {
        serializer.enter()?;
        let out = &mut serializer.body;
        let header = match len {
            Some(len) => {
                let at = out.len();
                shape.write_header(out, len)?;
                Header::Known { at, len }
            }
            None => Header::Unknown(match shape {
                Shape::Array => Open::array(out),
                Shape::Map => Open::map(out),
            }),
        };
        Ok(Self {
            serializer,
            shape,
            header,
            count: 0,
            levels: 1,
        })
    }

    #[inline]
    fn write<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<()> {
        value
            .serialize(&mut *self.serializer)
            .map_err(|error| self.serializer.locate(error))
    }

    #[inline]
    fn element<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<()> {
        self.write(value)?;
        self.count += 1;
        Ok(())
    }

    #[inline]
    fn field<T: ?Sized + Serialize>(&mut self, name: &'static str, value: &T) -> Result<()> {
        if self.shape == Shape::Map {
            write::str(&mut self.serializer.body, name)?;
        }
        self.element(value)
    }

    fn skip(&self, name: &'static str) -> Result<()> {
        if self.shape == Shape::Map {
            return Ok(());
        }
        Err(self.serializer.locate(Error::data(format!(
            "field `{name}` is skipped, which a compact message cannot say: fields have no names in it"
        ))))
    }

    fn close(self) -> Result<()> {
        let out = &mut self.serializer.body;
        match self.header {
            Header::Unknown(open) => open.close(out, self.count)?,
            // A type that miscounts its own elements, which some flattened maps do.
            Header::Known { at, len } if len != self.count => {
                let mut header = Vec::new();
                self.shape.write_header(&mut header, self.count)?;
                let mut old = Vec::new();
                self.shape.write_header(&mut old, len)?;
                out.splice(at..at + old.len(), header);
            }
            Header::Known { .. } => {}
        }
        self.serializer.leave(self.levels);
        Ok(())
    }
}

impl Shape {
    fn write_header(self, out: &mut Vec<u8>, len: usize) -> Result<()> {
        match self {
            Self::Array => write::array(out, len),
            Self::Map => write::map(out, len),
        }
    }
}

impl ser::SerializeSeq for Compound<'_, '_> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_element<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<()> {
        self.element(value)
    }

    fn end(self) -> Result<()> {
        self.close()
    }
}

impl ser::SerializeTuple for Compound<'_, '_> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_element<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<()> {
        self.element(value)
    }

    fn end(self) -> Result<()> {
        self.close()
    }
}

impl ser::SerializeTupleStruct for Compound<'_, '_> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_field<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<()> {
        self.element(value)
    }

    fn end(self) -> Result<()> {
        self.close()
    }
}

impl ser::SerializeTupleVariant for Compound<'_, '_> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_field<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<()> {
        self.element(value)
    }

    fn end(self) -> Result<()> {
        self.close()
    }
}

impl ser::SerializeMap for Compound<'_, '_> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_key<T: ?Sized + Serialize>(&mut self, key: &T) -> Result<()> {
        self.write(key)?;
        self.count += 1;
        Ok(())
    }

    #[inline]
    fn serialize_value<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<()> {
        self.write(value)
    }

    fn end(self) -> Result<()> {
        self.close()
    }
}

impl ser::SerializeStruct for Compound<'_, '_> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_field<T: ?Sized + Serialize>(&mut self, name: &'static str, value: &T) -> Result<()> {
        self.field(name, value)
    }

    fn skip_field(&mut self, name: &'static str) -> Result<()> {
        self.skip(name)
    }

    fn end(self) -> Result<()> {
        self.close()
    }
}

impl ser::SerializeStructVariant for Compound<'_, '_> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_field<T: ?Sized + Serialize>(&mut self, name: &'static str, value: &T) -> Result<()> {
        self.field(name, value)
    }

    fn skip_field(&mut self, name: &'static str) -> Result<()> {
        self.skip(name)
    }

    fn end(self) -> Result<()> {
        self.close()
    }
}
