//! What a tensor says of itself.

use std::borrow::Cow;

use super::Storage;
use crate::device::{Device, Pin};
use crate::error::{Error, Result};
use crate::tensor::{self, DType, Element, Shape};
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

/// A tensor's bytes: lent, or copied to the host piece by piece when they are written.
pub struct HostBytes<'a>(pub(crate) Source<'a>);

pub(crate) enum Source<'a> {
    Borrowed(&'a [u8]),
    Copied(Box<Copier<'a>>),
}

/// Gives all bytes, in order, in pieces, to the function it is given.
pub(crate) type Copier<'a> = dyn Fn(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> + 'a;

impl<'a> HostBytes<'a> {
    /// Bytes on the host that do not change while they are lent.
    #[inline]
    pub fn borrowed(bytes: &'a [u8]) -> Self {
        Self(Source::Borrowed(bytes))
    }

    /// Elements on the host; lent, except on a big-endian host, where they are copied.
    pub fn elements<E: Element>(elements: &'a [E]) -> Self {
        match tensor::little_endian(elements) {
            Cow::Borrowed(bytes) => Self::borrowed(bytes),
            Cow::Owned(bytes) => Self::copied(move |sink| sink(&bytes)),
        }
    }

    /// Bytes that are not on the host, or not in order: `copy` hands all of them to its argument, in pieces, each time it is
    /// called, and returns the first error its argument returns.
    pub fn copied(copy: impl Fn(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> + 'a) -> Self {
        Self(Source::Copied(Box::new(copy)))
    }

    /// The bytes, which are `len`, where they are lent.
    #[inline]
    pub(crate) fn lent(&self, len: usize) -> Result<Option<&'a [u8]>> {
        match self.0 {
            Source::Borrowed(bytes) if bytes.len() == len => Ok(Some(bytes)),
            Source::Borrowed(bytes) => Err(wrong_length(bytes.len(), len)),
            Source::Copied(_) => Ok(None),
        }
    }

    /// Hands all bytes to `sink`, which are `len`, or it is an error.
    pub(crate) fn read(&self, len: usize, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut given = 0usize;
        let mut counted = |piece: &[u8]| {
            given = given.saturating_add(piece.len());
            if given > len {
                Err(wrong_length(given, len))
            } else {
                sink(piece)
            }
        };
        match &self.0 {
            Source::Borrowed(bytes) => counted(bytes)?,
            Source::Copied(copy) => copy(&mut counted)?,
        }
        if given == len {
            Ok(())
        } else {
            Err(wrong_length(given, len))
        }
    }

    /// The bytes in one piece.
    pub(crate) fn to_contiguous(&self, len: usize) -> Result<Cow<'a, [u8]>> {
        if let Some(bytes) = self.lent(len)? {
            return Ok(Cow::Borrowed(bytes));
        }
        let mut copy = Vec::new();
        copy.try_reserve_exact(len)
            .map_err(|_| Error::limit(format!("no memory for a host copy of {len} bytes")))?;
        self.read(len, &mut |piece| {
            copy.extend_from_slice(piece);
            Ok(())
        })?;
        Ok(Cow::Owned(copy))
    }
}

#[cold]
fn wrong_length(given: usize, len: usize) -> Error {
    Error::backend(format!(
        "the tensor's library gives {given} bytes, its dtype, shape and strides ask for {len}"
    ))
}
