//! Arrays and maps being written.

use serde::Serialize;
use serde::ser;

use super::Serializer;
use super::mode::Mode;
use crate::error::{Error, Result};
use crate::wire::buffer::Buffer;
use crate::wire::write::{self, open};

/// An array, a map, or a struct as either, being written.
pub struct Compound<'s, 'p, M> {
    serializer: &'s mut Serializer<'p, M>,
    shape: Shape,
    /// Where its header is.
    at: usize,
    /// The count that the header states, if one was known.
    stated: Option<usize>,
    count: usize,
    /// The depth to go back to at its end.
    depth: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Array,
    Map,
}

impl<'s, 'p, M: Mode> Compound<'s, 'p, M> {
    #[inline(always)]
    pub(super) fn start(serializer: &'s mut Serializer<'p, M>, shape: Shape, stated: Option<usize>) -> Result<Self> {
        let depth = serializer.state.enter()?;
        let out = &mut serializer.state.body;
        let at = out.len();
        match (stated, shape) {
            (Some(len), Shape::Array) => write::array(out, len)?,
            (Some(len), Shape::Map) => write::map(out, len)?,
            (None, Shape::Array) => open::array(out),
            (None, Shape::Map) => open::map(out),
        }
        Ok(Self {
            serializer,
            shape,
            at,
            stated,
            count: 0,
            depth,
        })
    }

    #[inline(always)]
    pub(super) fn in_variant(mut self) -> Self {
        self.depth += 1;
        self
    }

    #[inline(always)]
    fn write<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<()> {
        let written = value.serialize(&mut *self.serializer);
        self.serializer.located(written)
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
            write::str(&mut self.serializer.state.body, name)?;
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

    #[inline(always)]
    fn close(self) -> Result<()> {
        if self.stated != Some(self.count) {
            count_anew(
                &mut self.serializer.state.body,
                self.shape,
                self.at,
                self.stated,
                self.count,
            )?;
        }
        self.serializer.state.depth = self.depth;
        Ok(())
    }
}

/// States a count that was not known, or that a type got wrong, as some flattened maps do.
#[cold]
#[inline(never)]
fn count_anew(out: &mut Buffer, shape: Shape, at: usize, stated: Option<usize>, count: usize) -> Result<()> {
    let Some(stated) = stated else {
        return open::close(out, at, count);
    };
    let (mut old, mut new) = (Buffer::default(), Buffer::default());
    for (header, count) in [(&mut old, stated), (&mut new, count)] {
        match shape {
            Shape::Array => write::array(header, count)?,
            Shape::Map => write::map(header, count)?,
        }
    }
    out.replace(at, at + old.len(), &new);
    Ok(())
}

impl<M: Mode> ser::SerializeSeq for Compound<'_, '_, M> {
    type Ok = ();
    type Error = Error;

    #[inline(always)]
    fn serialize_element<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<()> {
        self.element(value)
    }

    #[inline(always)]
    fn end(self) -> Result<()> {
        self.close()
    }
}

impl<M: Mode> ser::SerializeTuple for Compound<'_, '_, M> {
    type Ok = ();
    type Error = Error;

    #[inline(always)]
    fn serialize_element<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<()> {
        self.element(value)
    }

    #[inline(always)]
    fn end(self) -> Result<()> {
        self.close()
    }
}

impl<M: Mode> ser::SerializeTupleStruct for Compound<'_, '_, M> {
    type Ok = ();
    type Error = Error;

    #[inline(always)]
    fn serialize_field<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<()> {
        self.element(value)
    }

    #[inline(always)]
    fn end(self) -> Result<()> {
        self.close()
    }
}

impl<M: Mode> ser::SerializeTupleVariant for Compound<'_, '_, M> {
    type Ok = ();
    type Error = Error;

    #[inline(always)]
    fn serialize_field<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<()> {
        self.element(value)
    }

    #[inline(always)]
    fn end(self) -> Result<()> {
        self.close()
    }
}

impl<M: Mode> ser::SerializeMap for Compound<'_, '_, M> {
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

    #[inline(always)]
    fn serialize_entry<K: ?Sized + Serialize, V: ?Sized + Serialize>(&mut self, key: &K, value: &V) -> Result<()> {
        self.serialize_key(key)?;
        self.serialize_value(value)
    }

    #[inline(always)]
    fn end(self) -> Result<()> {
        self.close()
    }
}

impl<M: Mode> ser::SerializeStruct for Compound<'_, '_, M> {
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

    #[inline(always)]
    fn end(self) -> Result<()> {
        self.close()
    }
}

impl<M: Mode> ser::SerializeStructVariant for Compound<'_, '_, M> {
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

    #[inline(always)]
    fn end(self) -> Result<()> {
        self.close()
    }
}
