//! A borrowed tensor.

use std::borrow::Cow;

use super::buffer::aligned_copy;
use super::dtype::{DType, Packed};
use super::element::{Element, elements};
use super::host::{Tensor, check_bytes, check_dtype};
use super::shape::{Shape, element_count};
use crate::error::Result;

/// A tensor whose data is borrowed, from a message or from anywhere else.
///
/// Row-major and little-endian, as [`Tensor`] is. Decoding one from a slice copies nothing; a strided tensor in the
/// message is an error then, since its elements do not lie side by side.
///
/// # Examples
///
/// ```
/// use serde_tensor::{DType, TensorView};
///
/// let image = [0u8; 12];
/// let view = TensorView::new(DType::U8, &[2, 2, 3], &image)?;
/// assert_eq!(view.bytes().as_ptr(), image.as_ptr());
/// # Ok::<(), serde_tensor::Error>(())
/// ```
#[derive(Clone)]
pub struct TensorView<'a> {
    dtype: Packed,
    shape: Shape,
    /// Of the length that dtype and shape ask for; each byte 0 or 1 when the dtype is `bool`.
    bytes: &'a [u8],
}

impl<'a> TensorView<'a> {
    /// A tensor of row-major, little-endian bytes, at any address.
    ///
    /// # Errors
    ///
    /// `Data` when the bytes are not as many as dtype and shape ask for, or when a `bool` is neither 0 nor 1.
    pub fn new(dtype: DType, shape: &[usize], bytes: &'a [u8]) -> Result<Self> {
        check_bytes(dtype, shape, bytes)?;
        Ok(Self::from_parts(dtype, shape.into(), bytes))
    }

    /// Parts that were checked against each other already.
    #[inline]
    pub(crate) fn from_parts(dtype: DType, shape: Shape, bytes: &'a [u8]) -> Self {
        Self::of_packed(Packed::of(dtype), shape, bytes)
    }

    /// The same, of a dtype in one number.
    #[inline]
    pub(crate) fn of_packed(dtype: Packed, shape: Shape, bytes: &'a [u8]) -> Self {
        debug_assert_eq!(super::byte_len(dtype.dtype(), &shape).ok(), Some(bytes.len()));
        Self { dtype, shape, bytes }
    }

    /// The dtype in one number.
    #[inline]
    pub(crate) fn packed(&self) -> Packed {
        self.dtype
    }

    /// The type of the elements.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.dtype.dtype()
    }

    /// The dims; empty for a scalar.
    #[inline]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The number of dims.
    #[inline]
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// The number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        // The count was checked when the view was made.
        element_count(&self.shape).unwrap_or(0)
    }

    /// Whether there are no elements, because a dim is 0.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// The data: row-major, little-endian, without gaps.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The elements, in row-major order; borrowed where address and host allow it.
    ///
    /// # Errors
    ///
    /// `Data` when the tensor's dtype is not that of `E`.
    ///
    /// # Examples
    ///
    /// ```
    /// use serde_tensor::{DType, TensorView};
    ///
    /// let view = TensorView::new(DType::I16, &[2], &[1, 0, 255, 255])?;
    /// assert_eq!(view.elements::<i16>()?[..], [1, -1]);
    /// # Ok::<(), serde_tensor::Error>(())
    /// ```
    pub fn elements<E: Element>(&self) -> Result<Cow<'a, [E]>> {
        check_dtype::<E>(self.dtype())?;
        elements(self.bytes)
    }

    /// A tensor of its own, with the data copied to an address that suits the dtype.
    ///
    /// # Examples
    ///
    /// ```
    /// use serde_tensor::{DType, TensorView};
    ///
    /// let view = TensorView::new(DType::U8, &[3], &[1, 2, 3])?;
    /// assert_eq!(view.to_tensor(), view);
    /// # Ok::<(), serde_tensor::Error>(())
    /// ```
    pub fn to_tensor(&self) -> Tensor {
        let bytes = aligned_copy(self.bytes, self.dtype().align());
        Tensor::from_parts(self.dtype(), self.shape.clone(), bytes)
    }
}

impl<'a> From<&'a Tensor> for TensorView<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        tensor.view()
    }
}

impl PartialEq for TensorView<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.dtype == other.dtype && self.shape == other.shape && self.bytes == other.bytes
    }
}

impl PartialEq<Tensor> for TensorView<'_> {
    fn eq(&self, other: &Tensor) -> bool {
        self.dtype() == other.dtype() && *self.shape == *other.shape() && self.bytes == other.bytes()
    }
}

impl PartialEq<TensorView<'_>> for Tensor {
    fn eq(&self, other: &TensorView<'_>) -> bool {
        other == self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_and_tensors_compare_by_dtype_shape_and_bytes() {
        let bytes = [1, 0, 2, 0];
        let view = TensorView::new(DType::U16, &[2], &bytes).unwrap();
        let tensor = Tensor::from(vec![1u16, 2]);
        assert_eq!(view, tensor);
        assert_eq!(tensor, view);
        assert_eq!(TensorView::from(&tensor), view);
        assert_ne!(TensorView::new(DType::I16, &[2], &bytes).unwrap(), view);
        assert_ne!(TensorView::new(DType::U16, &[2, 1], &bytes).unwrap(), view);
        assert_ne!(TensorView::new(DType::U16, &[2], &[1, 0, 3, 0]).unwrap(), tensor);
    }

    #[test]
    fn a_wrong_length_or_bool_is_refused() {
        assert!(TensorView::new(DType::U16, &[2], &[0; 3]).is_err());
        assert!(TensorView::new(DType::Bool, &[1], &[2]).is_err());
    }
}
