//! The crate's own tensor.

use std::borrow::Cow;

use bytes::Bytes;

use super::buffer::{from_elements, zeroed};
use super::dtype::{DType, Packed};
use super::element::{Element, elements, little_endian};
use super::shape::{Shape, byte_len, check_bool, element_count, reserved};
use super::view::TensorView;
use crate::error::{Error, Result};

/// A tensor in host memory, which owns its data or shares the buffer that holds it.
///
/// Always row-major. A clone shares the data, and so does a tensor decoded with [`from_bytes`](crate::from_bytes).
/// Two tensors are equal when dtype, shape and bytes are: a NaN equals itself, and 0.0 is not -0.0.
///
/// ```text
/// dtype   f32
/// shape   [2, 3]
/// bytes   00 00 80 3f | 00 00 00 40 | …      row-major, little-endian on every host
///         [0, 0]        [0, 1]
/// ```
///
/// # Examples
///
/// ```
/// use serde_tensor::{DType, Tensor};
///
/// let tensor = Tensor::from_elements(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?;
/// assert_eq!(tensor.dtype(), DType::F32);
/// assert_eq!(tensor.shape(), [2, 3]);
/// assert_eq!(tensor.elements::<f32>()?[4], 5.0);
/// # Ok::<(), serde_tensor::Error>(())
/// ```
#[derive(Clone)]
pub struct Tensor {
    dtype: Packed,
    shape: Shape,
    /// Of the length that dtype and shape ask for; each byte 0 or 1 when the dtype is `bool`.
    bytes: Bytes,
}

impl Tensor {
    /// Copies elements into a tensor.
    ///
    /// # Errors
    ///
    /// `Data` when the shape does not have that many elements.
    ///
    /// # Examples
    ///
    /// ```
    /// use serde_tensor::Tensor;
    ///
    /// let mask = Tensor::from_elements(&[true, false], &[2, 1])?;
    /// assert_eq!(mask.bytes(), [1, 0]);
    /// assert!(Tensor::from_elements(&[1u8, 2, 3], &[2, 2]).is_err());
    /// # Ok::<(), serde_tensor::Error>(())
    /// ```
    pub fn from_elements<E: Element>(elements: &[E], shape: &[usize]) -> Result<Self> {
        check_count(elements.len(), shape)?;
        let mut copy = reserved(elements.len())?;
        copy.extend_from_slice(elements);
        Ok(Self::from_parts(E::DTYPE, shape.into(), from_elements(copy)))
    }

    /// Makes a vector the data of a tensor, without a copy (on a little-endian host).
    ///
    /// # Errors
    ///
    /// `Data` when the shape does not have that many elements.
    ///
    /// # Examples
    ///
    /// ```
    /// use serde_tensor::Tensor;
    ///
    /// let tensor = Tensor::from_vec(vec![1i64, 2, 3, 4], &[2, 2])?;
    /// assert_eq!(tensor.len(), 4);
    /// # Ok::<(), serde_tensor::Error>(())
    /// ```
    pub fn from_vec<E: Element>(elements: Vec<E>, shape: &[usize]) -> Result<Self> {
        check_count(elements.len(), shape)?;
        Ok(Self::from_parts(E::DTYPE, shape.into(), from_elements(elements)))
    }

    /// Makes row-major, little-endian bytes the data of a tensor, without a copy.
    ///
    /// The address may be any; [`elements`](Self::elements) copies when it does not suit the element type.
    ///
    /// # Errors
    ///
    /// `Data` when the bytes are not as many as dtype and shape ask for, or when a `bool` is neither 0 nor 1.
    ///
    /// # Examples
    ///
    /// ```
    /// use serde_tensor::{DType, Tensor};
    ///
    /// // Three elements of four bits each, the first in the low half of the first byte.
    /// let packed = Tensor::from_bytes(DType::F4E2M1Fn, &[3], vec![0x21, 0x03])?;
    /// assert_eq!(packed.len(), 3);
    /// assert_eq!(packed.bytes().len(), 2);
    /// # Ok::<(), serde_tensor::Error>(())
    /// ```
    pub fn from_bytes(dtype: DType, shape: &[usize], bytes: impl Into<Bytes>) -> Result<Self> {
        let bytes = bytes.into();
        check_bytes(dtype, shape, &bytes)?;
        Ok(Self::from_parts(dtype, shape.into(), bytes))
    }

    /// A tensor of rank 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use serde_tensor::Tensor;
    ///
    /// let loss = Tensor::scalar(0.25f32);
    /// assert_eq!(loss.rank(), 0);
    /// assert_eq!(loss.len(), 1);
    /// ```
    pub fn scalar<E: Element>(element: E) -> Self {
        let bytes = Bytes::copy_from_slice(&little_endian(&[element]));
        Self::from_parts(E::DTYPE, Shape::new(), bytes)
    }

    /// A tensor whose bytes are all 0.
    ///
    /// # Errors
    ///
    /// `Limit` when there is no memory for it, or when its length exceeds the address space.
    ///
    /// # Examples
    ///
    /// ```
    /// use serde_tensor::{Category, DType, Tensor};
    ///
    /// assert_eq!(Tensor::zeros(DType::U8, &[2, 2])?.bytes(), [0; 4]);
    /// let error = Tensor::zeros(DType::F64, &[usize::MAX, 2]).unwrap_err();
    /// assert_eq!(error.category(), Category::Limit);
    /// # Ok::<(), serde_tensor::Error>(())
    /// ```
    pub fn zeros(dtype: DType, shape: &[usize]) -> Result<Self> {
        let bytes = zeroed(byte_len(dtype, shape)?)?;
        Ok(Self::from_parts(dtype, shape.into(), bytes))
    }

    /// Parts that were checked against each other already.
    #[inline]
    pub(crate) fn from_parts(dtype: DType, shape: Shape, bytes: Bytes) -> Self {
        Self::of_packed(Packed::of(dtype), shape, bytes)
    }

    /// The same, of a dtype in one number.
    #[inline]
    pub(crate) fn of_packed(dtype: Packed, shape: Shape, bytes: Bytes) -> Self {
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
        // The count was checked when the tensor was made.
        element_count(&self.shape).unwrap_or(0)
    }

    /// Whether there are no elements, because a dim is 0.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// The data: row-major, little-endian, without gaps.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The data, shared: the buffer lives as long as the result does.
    ///
    /// # Examples
    ///
    /// ```
    /// use serde_tensor::Tensor;
    ///
    /// let tensor = Tensor::from_elements(&[1u8, 2], &[2])?;
    /// let shared = tensor.shared_bytes();
    /// assert_eq!(shared.as_ptr(), tensor.bytes().as_ptr());
    /// # Ok::<(), serde_tensor::Error>(())
    /// ```
    #[inline]
    pub fn shared_bytes(&self) -> Bytes {
        self.bytes.clone()
    }

    /// The buffer, not yet shared.
    #[inline]
    pub(crate) fn as_shared(&self) -> &Bytes {
        &self.bytes
    }

    /// The elements, in row-major order.
    ///
    /// Borrowed where the data's address suits `E` and the host is little-endian, as nearly always; copied otherwise.
    ///
    /// # Errors
    ///
    /// `Data` when the tensor's dtype is not that of `E`: bytes are never reinterpreted.
    ///
    /// # Examples
    ///
    /// ```
    /// use serde_tensor::Tensor;
    ///
    /// let tensor = Tensor::from_elements(&[1.5f32, 2.5], &[2])?;
    /// assert_eq!(tensor.elements::<f32>()?.iter().sum::<f32>(), 4.0);
    /// assert!(tensor.elements::<i32>().is_err());
    /// # Ok::<(), serde_tensor::Error>(())
    /// ```
    pub fn elements<E: Element>(&self) -> Result<Cow<'_, [E]>> {
        check_dtype::<E>(self.dtype())?;
        elements(&self.bytes)
    }

    /// The same tensor, borrowed.
    ///
    /// # Examples
    ///
    /// ```
    /// use serde_tensor::Tensor;
    ///
    /// let tensor = Tensor::scalar(7u16);
    /// assert_eq!(tensor.view(), tensor);
    /// ```
    pub fn view(&self) -> TensorView<'_> {
        TensorView::from_parts(self.dtype(), self.shape.clone(), &self.bytes)
    }
}

/// A tensor of one dim, without a copy (on a little-endian host).
impl<E: Element> From<Vec<E>> for Tensor {
    fn from(elements: Vec<E>) -> Self {
        let shape = Shape::from_slice(&[elements.len()]);
        Self::from_parts(E::DTYPE, shape, from_elements(elements))
    }
}

impl PartialEq for Tensor {
    fn eq(&self, other: &Self) -> bool {
        self.dtype == other.dtype && self.shape == other.shape && self.bytes == other.bytes
    }
}

/// Whether bytes may be the data of a tensor.
pub(super) fn check_bytes(dtype: DType, shape: &[usize], bytes: &[u8]) -> Result<()> {
    let expected = byte_len(dtype, shape)?;
    if bytes.len() != expected {
        return Err(Error::data(format!(
            "{} bytes of data, where {dtype} of shape {shape:?} has {expected}",
            bytes.len()
        )));
    }
    if dtype == DType::Bool {
        check_bool(bytes)?;
    }
    Ok(())
}

/// Whether `E` is the type of a tensor's elements.
pub(super) fn check_dtype<E: Element>(dtype: DType) -> Result<()> {
    if dtype == E::DTYPE {
        return Ok(());
    }
    Err(Error::data(format!(
        "the tensor's elements are {dtype}, not {}",
        E::DTYPE
    )))
}

fn check_count(count: usize, shape: &[usize]) -> Result<()> {
    let expected = element_count(shape)?;
    if count == expected {
        return Ok(());
    }
    Err(Error::data(format!(
        "{count} elements, where shape {shape:?} has {expected}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    fn travels<E: Element>(values: &[E]) {
        let tensor = Tensor::from_elements(values, &[values.len()]).unwrap();
        assert_eq!(tensor.dtype(), E::DTYPE);
        assert_eq!(tensor.elements::<E>().unwrap()[..], *values);
        let again = Tensor::from_bytes(E::DTYPE, &[values.len()], tensor.shared_bytes()).unwrap();
        assert_eq!(again, tensor);
        assert_eq!(Tensor::from(values.to_vec()), tensor);
    }

    #[test]
    fn every_element_type_keeps_its_values() {
        travels(&[true, false]);
        travels(&[0u8, 255]);
        travels(&[i8::MIN, 1]);
        travels(&[u16::MAX, 1]);
        travels(&[i16::MIN, 1]);
        travels(&[u32::MAX, 1]);
        travels(&[i32::MIN, 1]);
        travels(&[u64::MAX, 1]);
        travels(&[i64::MIN, 1]);
        travels(&[f16::from_f32(1.5), f16::NEG_INFINITY]);
        travels(&[bf16::from_f32(1.5), bf16::MIN_POSITIVE]);
        travels(&[1.5f32, f32::MIN_POSITIVE]);
        travels(&[1.5f64, f64::MAX]);
        travels::<f32>(&[]);
    }

    #[test]
    fn bytes_are_little_endian() {
        assert_eq!(Tensor::scalar(0x0102_0304u32).bytes(), [4, 3, 2, 1]);
        assert_eq!(Tensor::from(vec![1u16, 2]).bytes(), [1, 0, 2, 0]);
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        assert!(Tensor::from_elements(&[1u8], &[2]).is_err());
        assert!(Tensor::from_vec(vec![1u8], &[0]).is_err());
        assert!(Tensor::from_vec(vec![1u8], &[usize::MAX, 2]).is_err());
        assert!(Tensor::from_bytes(DType::F32, &[2], vec![0; 7]).is_err());
        assert!(Tensor::from_bytes(DType::F32, &[2], vec![0; 12]).is_err());
        assert!(Tensor::from_bytes(DType::Bool, &[2], vec![1, 2]).is_err());
        assert!(Tensor::scalar(1.0f32).elements::<u32>().is_err());
        assert!(Tensor::zeros(DType::U8, &[usize::MAX / 2]).is_err());
    }

    #[test]
    fn an_odd_address_is_copied_on_reading_only() {
        let buffer = Bytes::from(vec![0u8; 32]);
        let odd = 1 + usize::from(buffer.as_ptr().addr() % 2 == 1);
        let tensor = Tensor::from_bytes(DType::F32, &[3], buffer.slice(odd..odd + 12)).unwrap();
        assert_eq!(tensor.bytes().as_ptr(), buffer[odd..].as_ptr());
        assert!(matches!(tensor.elements::<f32>().unwrap(), Cow::Owned(_)));
    }

    #[test]
    fn empty_and_huge_dims_do_not_overflow() {
        let empty = Tensor::zeros(DType::F64, &[usize::MAX, usize::MAX, 0]).unwrap();
        assert_eq!((empty.len(), empty.is_empty(), empty.bytes().len()), (0, true, 0));
        assert!(empty.elements::<f64>().unwrap().is_empty());
    }

    #[test]
    fn tensors_cross_threads() {
        fn check<T: Send + Sync + 'static>() {}
        check::<Tensor>();
        check::<TensorView<'static>>();
    }
}
