//! Arrays and maps being written.

use serde::Serialize;
use serde::ser;

use super::Serializer;
use crate::error::{Error, Result};
use crate::wire::buffer::Buffer;
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
    Known {
        at: usize,
        len: usize,
    },
    Unknown(Open),
}

impl<'s, 'p> Compound<'s, 'p> {
    #[inline]
    pub(super) fn array(serializer: &'s mut Serializer<'p>, len: Option<usize>) -> Result<Self> {
        Self::start(serializer, Shape::Array, len)
    }

    #[inline]
    pub(super) fn map(serializer: &'s mut Serializer<'p>, len: Option<usize>) -> Result<Self> {
        Self::start(serializer, Shape::Map, len)
    }

    #[inline]
    pub(super) fn in_variant(mut self) -> Self {
        self.levels += 1;
        self
    }

    #[inline]
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

    #[inline(always)]
    fn write<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<()> {
        value
            .serialize(&mut *self.serializer)
            .map_err(|error| self.serializer.locate(error))
    }

    #[inline(always)]
    fn element<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<()> {
        self.write(value)?;
        self.count += 1;
        Ok(())
    }

    #[inline(always)]
    fn field<T: ?Sized + Serialize>(&mut self, name: &'static str, value: &T) -> Result<()> {
        if self.shape == Shape::Map {
            write::str(&mut self.serializer.body, name)?;
        }
        self.element(value)
    }

    #[inline]
    fn skip(&self, name: &'static str) -> Result<()> {
        if self.shape == Shape::Map {
            return Ok(());
        }
        Err(self.serializer.locate(Error::data(format!(
            "field `{name}` is skipped, which a compact message cannot say: fields have no names in it"
        ))))
    }

    #[inline]
    fn close(mut self) -> Result<()> {
        match self.header {
            Header::Known { len, .. } if len == self.count => {}
            _ => self.count_anew()?,
        }
        self.serializer.leave(self.levels);
        Ok(())
    }

    /// States a count that was not known, or that a type got wrong, as some flattened maps do.
    #[cold]
    fn count_anew(&mut self) -> Result<()> {
        let out = &mut self.serializer.body;
        match self.header {
            Header::Unknown(open) => open.close(out, self.count),
            Header::Known { at, len } => {
                let mut header = Buffer::default();
                self.shape.write_header(&mut header, self.count)?;
                let mut old = Buffer::default();
                self.shape.write_header(&mut old, len)?;
                out.replace(at, at + old.len(), &header);
                Ok(())
            }
        }
    }
}

impl Shape {
    #[inline]
    fn write_header(self, out: &mut Buffer, len: usize) -> Result<()> {
        match self {
            Self::Array => write::array(out, len),
            Self::Map => write::map(out, len),
        }
    }
}

impl ser::SerializeSeq for Compound<'_, '_> {
    type Ok = ();
    type Error = Error;

    #[inline(always)]
    fn serialize_element<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<()> {
        self.element(value)
    }

    #[inline]
    fn end(self) -> Result<()> {
        self.close()
    }
}

impl ser::SerializeTuple for Compound<'_, '_> {
    type Ok = ();
    type Error = Error;

    #[inline(always)]
    fn serialize_element<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<()> {
        self.element(value)
    }

    #[inline]
    fn end(self) -> Result<()> {
        self.close()
    }
}

impl ser::SerializeTupleStruct for Compound<'_, '_> {
    type Ok = ();
    type Error = Error;

    #[inline(always)]
    fn serialize_field<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<()> {
        self.element(value)
    }

    #[inline]
    fn end(self) -> Result<()> {
        self.close()
    }
}

impl ser::SerializeTupleVariant for Compound<'_, '_> {
    type Ok = ();
    type Error = Error;

    #[inline(always)]
    fn serialize_field<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<()> {
        self.element(value)
    }

    #[inline]
    fn end(self) -> Result<()> {
        self.close()
    }
}

impl ser::SerializeMap for Compound<'_, '_> {
    type Ok = ();
    type Error = Error;

    #[inline(always)]
    fn serialize_key<T: ?Sized + Serialize>(&mut self, key: &T) -> Result<()> {
        self.write(key)?;
        self.count += 1;
        Ok(())
    }

    #[inline(always)]
    fn serialize_value<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<()> {
        self.write(value)
    }

    #[inline]
    fn end(self) -> Result<()> {
        self.close()
    }
}

impl ser::SerializeStruct for Compound<'_, '_> {
    type Ok = ();
    type Error = Error;

    #[inline(always)]
    fn serialize_field<T: ?Sized + Serialize>(&mut self, name: &'static str, value: &T) -> Result<()> {
        self.field(name, value)
    }

    #[inline]
    fn skip_field(&mut self, name: &'static str) -> Result<()> {
        self.skip(name)
    }

    #[inline]
    fn end(self) -> Result<()> {
        self.close()
    }
}

impl ser::SerializeStructVariant for Compound<'_, '_> {
    type Ok = ();
    type Error = Error;

    #[inline(always)]
    fn serialize_field<T: ?Sized + Serialize>(&mut self, name: &'static str, value: &T) -> Result<()> {
        self.field(name, value)
    }

    #[inline]
    fn skip_field(&mut self, name: &'static str) -> Result<()> {
        self.skip(name)
    }

    #[inline]
    fn end(self) -> Result<()> {
        self.close()
    }
}
