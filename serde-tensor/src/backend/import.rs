//! What a tensor is made from.

use std::borrow::Cow;

use bytes::Bytes;

use crate::call::decode::Context;
use crate::device::{Device, Transfer};
use crate::error::{Error, Result};
use crate::tensor::{self, DType, Element};
use crate::wire::descriptor::Descriptor;

/// A tensor that arrived: its description, the device it is to land on, and its bytes.
///
/// The bytes are as many as the description asks for, and a bool's are 0 or 1: both were checked.
pub struct Import<'de> {
    pub(crate) descriptor: Descriptor,
    pub(crate) data: Cow<'de, [u8]>,
    pub(crate) segment: Option<&'de [u8]>,
    pub(crate) device: Device,
    pub(crate) context: Context,
}

/// A tensor, and how its bytes got there.
pub struct Imported<T> {
    pub(crate) tensor: T,
    pub(crate) transfer: Transfer,
}

impl<T> Imported<T> {
    /// A tensor and how its bytes got there.
    #[inline]
    pub fn new(tensor: T, transfer: Transfer) -> Self {
        Self { tensor, transfer }
    }

    /// A tensor with a copy of the bytes in memory of its own.
    pub fn copied(tensor: T) -> Self {
        Self::new(tensor, Transfer::Copied)
    }
}

impl<'de> Import<'de> {
    /// The element type.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.descriptor.dtype
    }

    /// The dims; none for a scalar.
    #[inline]
    pub fn shape(&self) -> &[usize] {
        &self.descriptor.shape
    }

    /// The strides in elements, where the bytes are not row-major.
    #[inline]
    pub fn strides(&self) -> Option<&[usize]> {
        self.descriptor.strides.as_deref()
    }

    /// The device that the tensor is to be made on. It is there, or it is the CPU.
    pub fn device(&self) -> Device {
        self.device
    }

    /// The device that the message recorded.
    pub fn recorded(&self) -> Device {
        self.descriptor.device
    }

    /// Whether a gradient is to be accumulated for it.
    pub fn requires_grad(&self) -> bool {
        self.descriptor.requires_grad
    }

    /// The bytes as they arrived, at any address.
    pub fn bytes(&self) -> &[u8] {
        &self.data
    }

    /// The bytes in row-major order: as they arrived, or compacted where they are strided.
    pub fn row_major(&self) -> Result<Cow<'_, [u8]>> {
        match self.strides() {
            None => Ok(Cow::Borrowed(&self.data)),
            Some(_) => {
                self.charge()?;
                self.compacted()
            }
        }
    }

    /// The bytes as elements, in row-major order; another dtype is an error that names both.
    pub fn to_vec<E: Element>(&self) -> Result<Vec<E>> {
        if self.dtype() != E::DTYPE {
            return Err(wrong_dtype::<E>(self.dtype()));
        }
        self.charge()?;
        tensor::elements_to_vec(&self.compacted()?)
    }

    /// The bytes, in row-major order, in memory that may be kept: the message's own buffer where the call shares it and they
    /// lie there at a multiple of `align` bytes (at most 16), else a copy that is.
    ///
    /// Tensors that name the same or overlapping bytes of a message get the same or overlapping memory (a segment is copied
    /// once, and whole), unless [`Decoder::detach`](crate::Decoder::detach) is on.
    pub fn to_bytes(&self, align: usize) -> Result<(Bytes, Transfer)> {
        if self.strides().is_some() {
            let compact = self.row_major()?.into_owned();
            return Ok((tensor::aligned(compact, align), Transfer::Copied));
        }
        let Cow::Borrowed(data) = self.data else {
            return Ok((tensor::aligned_copy(&self.data, align), Transfer::Copied));
        };
        if data.as_ptr().addr().is_multiple_of(align)
            && let Some(shared) = self.context.share(data)
        {
            return Ok((shared, Transfer::Shared));
        }
        let copy = self.context.copy(data, self.segment, align)?;
        Ok((copy, Transfer::Copied))
    }

    /// The segment of the message that the bytes are a part of, and where in it they begin.
    ///
    /// Tensors that name one segment share memory where their bytes overlap: a type that can do that copies a segment once, and
    /// makes its tensors views of the copy. `None` where a tensor is to have memory of its own: its bytes are inline or come
    /// from another format, or the call [detaches](crate::Decoder::detach).
    pub fn segment(&self) -> Option<(&'de [u8], usize)> {
        let segment = self.segment.filter(|_| !self.context.detaches())?;
        let offset = self.data.as_ptr().addr().checked_sub(segment.as_ptr().addr())?;
        (offset.checked_add(self.data.len())? <= segment.len()).then_some((segment, offset))
    }

    /// Uses what a tensor type keeps for as long as one decoding call lasts, such as its copies of [segments](Self::segment);
    /// it starts as the default. `None` under another format, where there is no call.
    pub fn with_state<S: Default + 'static, R>(&self, use_it: impl FnOnce(&mut S) -> R) -> Option<R> {
        self.context.with_state(use_it)
    }

    /// Accounts for a copy of `len` bytes that a tensor type makes of [`bytes`](Self::bytes) itself; the other functions here
    /// do so for theirs. Many tensors may name the same bytes, and [`Limits::copies`](crate::Limits::copies) bounds what they take
    /// together.
    pub fn account(&self, len: usize) -> Result<()> {
        match self.data {
            Cow::Borrowed(data) => self.context.charge(data, len),
            Cow::Owned(_) => Ok(()),
        }
    }

    /// The bytes in row-major order, already accounted for.
    fn compacted(&self) -> Result<Cow<'_, [u8]>> {
        match self.strides() {
            None => Ok(Cow::Borrowed(&self.data)),
            Some(strides) => tensor::compact(self.dtype(), self.shape(), strides, &self.data).map(Cow::Owned),
        }
    }

    /// Accounts for a row-major copy of bytes that are the message's own.
    fn charge(&self) -> Result<()> {
        match self.data {
            Cow::Borrowed(data) => self.context.charge(data, tensor::byte_len(self.dtype(), self.shape())?),
            Cow::Owned(_) => Ok(()),
        }
    }

    /// The bytes for as long as the message is borrowed; `None` where they came through memory of their own.
    #[inline]
    pub(crate) fn borrowed(&self) -> Option<&'de [u8]> {
        match self.data {
            Cow::Borrowed(data) => Some(data),
            Cow::Owned(_) => None,
        }
    }
}

pub(crate) fn wrong_dtype<E: Element>(found: DType) -> Error {
    Error::data(format!("a tensor of {found} where {} is expected", E::DTYPE))
}
