//! What a tensor says of itself.

use std::ops::{Deref, Range};

use super::Storage;
use crate::device::{Device, Pin};
use crate::error::Result;
use crate::tensor::{self, DType, Packed, Shape};
use crate::wire::descriptor::{self, Fields, Short};

/// What a tensor is: dtype, shape, strides, device.
///
/// ```
/// use serde_tensor::backend::Description;
/// use serde_tensor::{DType, Device};
///
/// let description = Description::new(DType::F16, &[3, 2]).strides(&[1, 3]).device(Device::Cuda(0));
/// # let _ = description;
/// ```
#[derive(Clone, Debug)]
pub struct Description<'a> {
    dtype: Packed,
    pub(crate) shape: Dims<'a>,
    pub(crate) strides: Option<Shape>,
    pub(crate) device: Device,
    pub(crate) requires_grad: bool,
    /// The bytes are at hand, though the tensor counts as one of its device.
    pub(crate) on_host: bool,
    pub(crate) storage: Option<Storage>,
}

/// A tensor of the host's, row-major and without a gradient: the bytes are as many as dtype and shape ask for.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct AtHand<'a> {
    pub(crate) dtype: Packed,
    pub(crate) shape: &'a [usize],
    pub(crate) bytes: &'a [u8],
}

impl AtHand<'_> {
    /// The addresses of its bytes.
    #[inline]
    pub(crate) fn range(&self) -> Range<usize> {
        let range = self.bytes.as_ptr_range();
        range.start.addr()..range.end.addr()
    }
}

/// A shape that the tensor has at hand, or that was put together to describe it.
#[derive(Clone, Debug)]
pub(crate) enum Dims<'a> {
    Borrowed(&'a [usize]),
    Owned(Shape),
}

impl Deref for Dims<'_> {
    type Target = [usize];

    #[inline]
    fn deref(&self) -> &[usize] {
        match self {
            Self::Borrowed(dims) => dims,
            Self::Owned(dims) => dims,
        }
    }
}

impl<'a> Description<'a> {
    /// A row-major tensor on the CPU that does not require a gradient and shares its bytes with none.
    #[inline]
    pub fn new(dtype: DType, shape: &[usize]) -> Self {
        Self::of(Packed::of(dtype), Dims::Owned(Shape::from_slice(shape)))
    }

    /// The same, of a tensor that has its shape at hand: writing many small tensors is then faster.
    ///
    /// ```
    /// use serde_tensor::DType;
    /// use serde_tensor::backend::Description;
    ///
    /// struct Counts { shape: Vec<usize>, counts: Vec<u32> }
    ///
    /// impl Counts {
    ///     fn describe(&self) -> Description<'_> {
    ///         Description::borrowed(DType::U32, &self.shape)
    ///     }
    /// }
    /// # let counts = Counts { shape: vec![2], counts: vec![3, 4] };
    /// # let _ = (counts.describe(), &counts.counts);
    /// ```
    #[inline]
    pub fn borrowed(dtype: DType, shape: &'a [usize]) -> Self {
        Self::packed(Packed::of(dtype), shape)
    }

    /// The same, of a dtype in one number.
    #[inline]
    pub(crate) fn packed(dtype: Packed, shape: &'a [usize]) -> Self {
        Self::of(dtype, Dims::Borrowed(shape))
    }

    #[inline]
    fn of(dtype: Packed, shape: Dims<'a>) -> Self {
        Self {
            dtype,
            shape,
            strides: None,
            device: Device::Cpu,
            requires_grad: false,
            on_host: false,
            storage: None,
        }
    }

    /// Strides, in elements, one a dim. They must lead no two indices to one place: dims of 1 left out and sorted by
    /// stride, each exceeds the extent of those before it. Row-major ones are the same as none.
    #[must_use]
    pub fn strides(mut self, strides: &[usize]) -> Self {
        self.strides = (!tensor::is_row_major(&self.shape, strides)).then(|| Shape::from_slice(strides));
        self
    }

    /// Where the tensor is.
    #[must_use]
    #[inline]
    pub fn device(mut self, device: Device) -> Self {
        self.device = device;
        self
    }

    /// Whether a gradient is accumulated for it.
    #[must_use]
    #[inline]
    pub fn requires_grad(mut self, requires_grad: bool) -> Self {
        self.requires_grad = requires_grad;
        self
    }

    /// Where its bytes are: tensors whose ranges overlap travel, and arrive, as one.
    #[must_use]
    #[inline]
    pub fn storage(mut self, storage: Storage) -> Self {
        self.storage = Some(storage);
        self
    }

    pub(crate) fn dtype(&self) -> DType {
        self.dtype.dtype()
    }

    /// Where the bytes are.
    #[inline]
    pub(crate) fn bytes_on(&self) -> Device {
        if self.on_host { Device::Cpu } else { self.device }
    }

    /// The description as it travels.
    pub(crate) fn fields(&self, pin: Pin) -> Fields {
        descriptor::fields(
            self.dtype.pair(),
            self.requires_grad,
            pin,
            self.device,
            &self.shape,
            self.strides.as_deref(),
        )
    }

    /// The description as it travels, if it is short.
    #[inline(always)]
    pub(crate) fn short(&self, pin: Pin) -> Option<Short> {
        if self.strides.is_some() {
            return None;
        }
        Short::of(self.dtype.pair(), self.requires_grad, pin, self.device, &self.shape)
    }

    /// The length of the data in bytes, after checking shape and strides.
    #[inline(always)]
    pub(crate) fn data_len(&self) -> Result<usize> {
        let [_, bits] = self.dtype.pair();
        match tensor::quick_byte_len(bits, &self.shape) {
            Some(len) if self.strides.is_none() => Ok(len),
            _ => self.checked_data_len(),
        }
    }

    #[cold]
    fn checked_data_len(&self) -> Result<usize> {
        tensor::data_len(self.dtype(), &self.shape, self.strides.as_deref())
    }
}
