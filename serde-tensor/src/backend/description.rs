//! What a tensor says of itself.

use super::Storage;
use crate::device::{Device, Pin};
use crate::error::Result;
use crate::tensor::{self, DType, Shape};
use crate::wire::descriptor::{self, Fields};

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
pub struct Description {
    pub(crate) dtype: DType,
    pub(crate) shape: Shape,
    pub(crate) strides: Option<Shape>,
    pub(crate) device: Device,
    pub(crate) requires_grad: bool,
    pub(crate) storage: Option<Storage>,
}

impl Description {
    /// A row-major tensor on the CPU that does not require a gradient and shares its bytes with none.
    #[inline]
    pub fn new(dtype: DType, shape: &[usize]) -> Self {
        Self {
            dtype,
            shape: Shape::from_slice(shape),
            strides: None,
            device: Device::Cpu,
            requires_grad: false,
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
    pub fn device(mut self, device: Device) -> Self {
        self.device = device;
        self
    }

    /// Whether a gradient is accumulated for it.
    #[must_use]
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

    /// The description as it travels.
    #[inline]
    pub(crate) fn fields(&self, pin: Pin) -> Fields {
        descriptor::fields(
            self.dtype,
            self.requires_grad,
            pin,
            self.device,
            &self.shape,
            self.strides.as_deref(),
        )
    }

    /// The length of the data in bytes, after checking shape and strides.
    #[inline]
    pub(crate) fn data_len(&self) -> Result<usize> {
        tensor::data_len(self.dtype, &self.shape, self.strides.as_deref())
    }
}
