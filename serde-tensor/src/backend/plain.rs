//! A tensor that arrived in the plain case, in which most do.

use std::borrow::Cow;

use bytes::Bytes;

use crate::call::decode::{addresses, bytes_of_plain, is_plain};
use crate::error::Result;
use crate::leaf::Raw;
use crate::tensor::{DType, Packed, Shape};
use crate::wire::descriptor::Dense;

/// A tensor for a type that lives on the host: its description and its data are the message's own, they agree, and nobody wants a report.
///
/// What it holds stays in registers until the tensor is made. All other tensors, and what is at odds with itself, take the way of
/// [`Import`](super::Import), which reads the bytes anew.
#[doc(hidden)]
pub struct Plain<'de> {
    dense: Dense,
    /// The address of the description.
    pub(crate) at: usize,
    data: &'de [u8],
    /// The segment of a frame that the data is a part of.
    segment: Option<&'de [u8]>,
}

impl<'de> Plain<'de> {
    #[inline(always)]
    pub(crate) fn of(raw: &Raw<'de>) -> Option<Self> {
        let (Some(fields), Cow::Borrowed(data), None) = (raw.fields, &raw.data, &raw.spot) else {
            return None;
        };
        let at = addresses(fields).start;
        let dense = Dense::read(fields)?;
        // A bool's bytes are yet to be looked at.
        if dense.len != data.len() || dense.dtype == const { Packed::of(DType::Bool) } || !is_plain(at, dense.rank) {
            return None;
        }
        Some(Self {
            dense,
            at,
            data,
            segment: raw.segment,
        })
    }

    #[inline(always)]
    pub(crate) fn dtype(&self) -> Packed {
        self.dense.dtype
    }

    #[inline(always)]
    pub(crate) fn shape(&self) -> Shape {
        self.dense.shape()
    }

    #[inline(always)]
    pub(crate) fn data(&self) -> &'de [u8] {
        self.data
    }

    /// The data in memory that may be kept, as [`Import::to_bytes`](super::Import::to_bytes) gives it.
    #[inline(always)]
    pub(crate) fn to_bytes(&self, align: usize) -> Result<Bytes> {
        bytes_of_plain(self.at, self.data, self.segment, align)
    }
}
