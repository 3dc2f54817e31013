//! A tensor read where its type's field is not marked: as the plain sequence of numbers that the field used to be.

use serde::de::value::{
    BoolDeserializer, F32Deserializer, F64Deserializer, I8Deserializer, I16Deserializer, I32Deserializer,
    I64Deserializer, U8Deserializer, U16Deserializer, U32Deserializer, U64Deserializer,
};
use serde::de::{DeserializeSeed, IntoDeserializer, SeqAccess, Visitor};

use crate::error::{Error, Result};
use crate::tensor::{DType, check_bool};
use crate::wire::descriptor::Descriptor;

/// The elements of a row-major tensor of one dim.
pub(super) struct Elements<'a> {
    dtype: DType,
    left: &'a [u8],
}

impl<'a> Elements<'a> {
    /// The elements, if the tensor is one that a vector of numbers is written as.
    pub(super) fn of(descriptor: &Descriptor, data: &'a [u8]) -> Result<Self> {
        let dtype = descriptor.dtype;
        if descriptor.shape.len() != 1 || descriptor.strides.is_some() || size(dtype).is_none() {
            return Err(Error::data(format!(
                "a tensor of {dtype}{:?} where a plain sequence is expected: mark the field `#[tensor]`",
                descriptor.shape
            )));
        }
        let len = descriptor.data_len()?;
        if data.len() != len {
            return Err(Error::data(format!(
                "a tensor's dtype and shape ask for {len} bytes, its data has {}",
                data.len()
            )));
        }
        if dtype == DType::Bool {
            check_bool(data)?;
        }
        Ok(Self { dtype, left: data })
    }

    /// Whether they are the byte string that their data is.
    pub(super) fn is_bytes(&self) -> bool {
        self.dtype == DType::U8
    }

    /// Hands all of them to a visitor.
    pub(super) fn visit<'de, V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value> {
        let value = visitor.visit_seq(&mut self)?;
        self.end()?;
        Ok(value)
    }

    fn count(&self) -> usize {
        size(self.dtype).map_or(0, |size| self.left.len() / size)
    }

    fn end(&self) -> Result<()> {
        match self.count() {
            0 => Ok(()),
            left => Err(Error::data(format!("{left} more elements than the type holds"))),
        }
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (element, left) = self
            .left
            .split_first_chunk()
            .ok_or_else(|| Error::eof("a tensor's data is cut short"))?;
        self.left = left;
        Ok(*element)
    }
}

/// The size in bytes of an element that a plain number can be.
fn size(dtype: DType) -> Option<usize> {
    match dtype {
        DType::Bool | DType::U8 | DType::I8 => Some(1),
        DType::U16 | DType::I16 | DType::F16 | DType::BF16 => Some(2),
        DType::U32 | DType::I32 | DType::F32 => Some(4),
        DType::U64 | DType::I64 | DType::F64 => Some(8),
        _ => None,
    }
}

/// Reads an element of a primitive type with that type's own deserializer.
macro_rules! read {
    ($elements:ident, $seed:ident, $primitive:ident, $deserializer:ident) => {{
        let element: $deserializer<Error> = $primitive::from_le_bytes($elements.take()?).into_deserializer();
        $seed.deserialize(element)
    }};
}

impl<'de> SeqAccess<'de> for Elements<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        if self.left.is_empty() {
            return Ok(None);
        }
        let value = match self.dtype {
            DType::Bool => {
                let element: BoolDeserializer<Error> = (self.take::<1>()? != [0]).into_deserializer();
                seed.deserialize(element)
            }
            DType::I8 => read!(self, seed, i8, I8Deserializer),
            DType::I16 => read!(self, seed, i16, I16Deserializer),
            DType::I32 => read!(self, seed, i32, I32Deserializer),
            DType::I64 => read!(self, seed, i64, I64Deserializer),
            // `half` serializes its types as the integers of their bits.
            DType::U16 | DType::F16 | DType::BF16 => read!(self, seed, u16, U16Deserializer),
            DType::U32 => read!(self, seed, u32, U32Deserializer),
            DType::U64 => read!(self, seed, u64, U64Deserializer),
            DType::F32 => read!(self, seed, f32, F32Deserializer),
            DType::F64 => read!(self, seed, f64, F64Deserializer),
            _ => read!(self, seed, u8, U8Deserializer),
        };
        value.map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.count())
    }
}
