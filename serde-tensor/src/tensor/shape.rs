//! All arithmetic on shapes, strides and lengths; every step is checked.

use smallvec::SmallVec;

use super::dtype::DType;
use crate::error::{Error, Result};

/// The dims, or the strides in elements, of a tensor: up to four without an allocation.
pub(crate) type Shape = SmallVec<[usize; 4]>;

/// The number of elements; 1 for rank 0, and 0 when any dim is 0, whatever the others are.
#[inline]
pub(crate) fn element_count(shape: &[usize]) -> Result<usize> {
    if shape.contains(&0) {
        return Ok(0);
    }
    shape
        .iter()
        .try_fold(1usize, |count, &dim| count.checked_mul(dim))
        .ok_or_else(|| too_large(shape))
}

/// The length of row-major data: `ceil(product(dims) * bits / 8)`.
#[inline]
pub(crate) fn byte_len(dtype: DType, shape: &[usize]) -> Result<usize> {
    bytes_of(dtype, element_count(shape)?).ok_or_else(|| too_large(shape))
}

/// [`byte_len`] of elements of whole bytes, where no product on the way exceeds the address space.
#[inline(always)]
pub(crate) fn quick_byte_len(bits: u8, shape: &[usize]) -> Option<usize> {
    let whole = bits.is_multiple_of(8).then_some(usize::from(bits / 8));
    let len = shape.iter().try_fold(whole?, |len, &dim| len.checked_mul(dim));
    len.filter(|&len| isize::try_from(len).is_ok())
}

/// The length of strided data: `ceil((1 + sum((dim - 1) * stride)) * bits / 8)`, or 0 when any dim is 0.
///
/// Says nothing of whether the strides are acceptable; see [`check_strides`].
pub(crate) fn strided_byte_len(dtype: DType, shape: &[usize], strides: &[usize]) -> Result<usize> {
    check_ranks(shape, strides)?;
    if shape.contains(&0) {
        return Ok(0);
    }
    let last = shape.iter().zip(strides).try_fold(0usize, |sum, (&dim, &stride)| {
        sum.checked_add((dim - 1).checked_mul(stride)?)
    });
    last.and_then(|last| last.checked_add(1))
        .and_then(|count| bytes_of(dtype, count))
        .ok_or_else(|| too_large(shape))
}

/// Whether no two elements share a place, by the rule of the wire.
///
/// Dims of 1 left out and the others sorted by stride, each stride must exceed the extent `sum((dim - 1) * stride)` of
/// those before it. So the data is never shorter than the elements it shows: without this, four bytes and strides of 0
/// could ask a reader for terabytes. With a dim of 0 there is nothing to show, and any strides do.
pub(crate) fn check_strides(shape: &[usize], strides: &[usize]) -> Result<()> {
    check_ranks(shape, strides)?;
    if shape.contains(&0) {
        return Ok(());
    }
    let mut order: SmallVec<[usize; 4]> = (0..shape.len()).filter(|&i| shape[i] > 1).collect();
    order.sort_unstable_by_key(|&i| strides[i]);
    let mut extent = 0usize;
    for (at, &i) in order.iter().enumerate() {
        let (dim, stride) = (shape[i], strides[i]);
        if stride <= extent {
            let why = if at == 0 {
                String::from("its elements would share one place")
            } else {
                format!("the dims of smaller stride already reach {extent} elements far")
            };
            return Err(Error::data(format!(
                "stride {stride} of dim {i} (size {dim}) is refused: {why}"
            )));
        }
        extent = (dim - 1)
            .checked_mul(stride)
            .and_then(|reach| extent.checked_add(reach))
            .ok_or_else(|| too_large(shape))?;
    }
    Ok(())
}

/// The strides of row-major data, in elements.
///
/// Saturates where the shape has no addressable data, which the length checks refuse, or none at all.
pub(crate) fn row_major_strides(shape: &[usize]) -> Shape {
    let mut strides = Shape::from_elem(1, shape.len());
    let mut stride = 1usize;
    for (slot, &dim) in strides.iter_mut().zip(shape).rev() {
        *slot = stride;
        stride = stride.saturating_mul(dim.max(1));
    }
    strides
}

/// Whether strided data is row-major already; the strides of dims of 1, and of empty tensors, do not matter.
pub(crate) fn is_row_major(shape: &[usize], strides: &[usize]) -> bool {
    if shape.len() != strides.len() {
        return false;
    }
    shape.contains(&0)
        || shape
            .iter()
            .zip(strides)
            .zip(row_major_strides(shape))
            .all(|((&dim, &stride), row_major)| dim == 1 || stride == row_major)
}

/// The length in bytes of the data of a tensor with or without strides, which are checked.
#[inline]
pub(crate) fn data_len(dtype: DType, shape: &[usize], strides: Option<&[usize]>) -> Result<usize> {
    let Some(strides) = strides else {
        return byte_len(dtype, shape);
    };
    check_strides(shape, strides)?;
    strided_byte_len(dtype, shape, strides)
}

/// Checks that each byte of a `bool` tensor is 0 or 1.
///
/// # Errors
///
/// `Data`, naming the first byte that is neither.
pub(crate) fn check_bool(bytes: &[u8]) -> Result<()> {
    match not_bool(bytes) {
        None => Ok(()),
        Some(at) => Err(no_bool(bytes[at], at)),
    }
}

/// The place of the first byte that is neither 0 nor 1.
pub(crate) fn not_bool(bytes: &[u8]) -> Option<usize> {
    // A part without an early exit is vectorised.
    const PART: usize = 1024;
    let (part, _) = bytes
        .chunks(PART)
        .enumerate()
        .find(|(_, part)| part.iter().fold(0, |all, byte| all | byte) > 1)?;
    let start = part * PART;
    bytes[start..].iter().position(|&byte| byte > 1).map(|at| start + at)
}

/// The error of a `bool` tensor whose byte at `at` is neither 0 nor 1.
pub(crate) fn no_bool(byte: u8, at: usize) -> Error {
    Error::data(format!("element {at} of a bool tensor is {byte}, neither 0 nor 1"))
}

/// An empty vector with room for exactly `count` elements, or a `Limit` error.
pub(super) fn reserved<E>(count: usize) -> Result<Vec<E>> {
    let mut vec = Vec::new();
    match vec.try_reserve_exact(count) {
        Ok(()) => Ok(vec),
        Err(_) => Err(Error::limit(format!(
            "no memory for {count} elements of {} bytes",
            size_of::<E>()
        ))),
    }
}

/// `ceil(count * bits / 8)`, if it can be addressed.
#[inline]
pub(super) fn bytes_of(dtype: DType, count: usize) -> Option<usize> {
    // The number of bits may need up to 72 bits itself. `isize::MAX` is the longest slice there can be.
    let bits = (count as u128) * u128::from(dtype.bits());
    usize::try_from(bits.div_ceil(8))
        .ok()
        .filter(|&bytes| isize::try_from(bytes).is_ok())
}

fn check_ranks(shape: &[usize], strides: &[usize]) -> Result<()> {
    if shape.len() == strides.len() {
        return Ok(());
    }
    Err(Error::data(format!(
        "{} strides for {} dims",
        strides.len(),
        shape.len()
    )))
}

#[cold]
fn too_large(shape: &[usize]) -> Error {
    Error::limit(format!("a tensor of shape {shape:?} is longer than the address space"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HUGE: usize = usize::MAX;

    #[test]
    fn counts() {
        assert_eq!(element_count(&[]).unwrap(), 1);
        assert_eq!(element_count(&[2, 3]).unwrap(), 6);
        assert_eq!(element_count(&[HUGE, HUGE, 0]).unwrap(), 0);
        assert_eq!(element_count(&[HUGE, 1]).unwrap(), HUGE);
        assert!(element_count(&[HUGE, 2]).is_err());
        assert!(element_count(&[HUGE / 2, HUGE / 2]).is_err());
    }

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn lengths_round_up_and_stop_at_the_address_space() {
        assert_eq!(byte_len(DType::F4E2M1Fn, &[3]).unwrap(), 2);
        assert_eq!(byte_len(DType::F6E2M3Fn, &[5]).unwrap(), 4);
        assert_eq!(byte_len(DType::C128, &[2]).unwrap(), 32);
        assert_eq!(byte_len(DType::F32, &[]).unwrap(), 4);
        // The product in bits overflows; the length in bytes does not.
        assert_eq!(byte_len(DType::F64, &[1 << 59]).unwrap(), 1 << 62);
        assert!(byte_len(DType::F64, &[1 << 60]).is_err());
        assert_eq!(quick_byte_len(64, &[1 << 59]), Some(1 << 62));
        assert_eq!(quick_byte_len(64, &[1 << 60]), None);
        assert_eq!(quick_byte_len(4, &[3]), None);
        assert_eq!(quick_byte_len(16, &[2, 3]), Some(12));
        assert_eq!(quick_byte_len(32, &[]), Some(4));
        assert_eq!(quick_byte_len(32, &[3, 0]), Some(0));
        assert!(byte_len(DType::U8, &[1 << 63]).is_err());
        assert_eq!(byte_len(DType::F4E2M1Fn, &[1 << 63]).unwrap(), 1 << 62);
    }

    #[test]
    fn strided_lengths() {
        let len = |shape: &[usize], strides: &[usize]| strided_byte_len(DType::F32, shape, strides);
        assert_eq!(len(&[2, 3], &[1, 2]).unwrap(), 24);
        assert_eq!(len(&[2, 3], &[3, 1]).unwrap(), 24);
        assert_eq!(len(&[2, 2], &[10, 1]).unwrap(), 48);
        assert_eq!(len(&[], &[]).unwrap(), 4);
        assert_eq!(len(&[0, 3], &[HUGE, HUGE]).unwrap(), 0);
        assert_eq!(len(&[1, 3], &[HUGE, 1]).unwrap(), 12);
        assert!(len(&[2], &[HUGE]).is_err());
        assert!(len(&[3], &[HUGE / 2 + 1]).is_err());
        assert!(len(&[2, 2], &[HUGE / 2, HUGE / 2 + 2]).is_err());
        assert!(len(&[2], &[1, 1]).is_err());
        let bits = strided_byte_len(DType::F4E2M1Fn, &[2, 2], &[1, 4]).unwrap();
        assert_eq!(bits, 3);
    }

    #[test]
    fn the_rule_of_strides() {
        let accepted = |shape: &[usize], strides: &[usize]| check_strides(shape, strides).is_ok();
        assert!(accepted(&[2, 3], &[3, 1]));
        assert!(accepted(&[2, 3], &[1, 2]));
        assert!(accepted(&[4, 2, 3], &[1, 12, 4]));
        assert!(accepted(&[2, 3], &[100, 7]));
        assert!(accepted(&[], &[]));
        assert!(accepted(&[1, 3], &[0, 1]));
        assert!(accepted(&[1, 3], &[HUGE, 1]));
        assert!(accepted(&[2], &[HUGE]));
        assert!(accepted(&[0, 5], &[0, 0]));
        assert!(!accepted(&[2], &[0]));
        assert!(!accepted(&[HUGE], &[0]));
        assert!(!accepted(&[2, 3], &[1, 1]));
        assert!(!accepted(&[3, 3], &[2, 1]), "a window slides over its own data");
        assert!(accepted(&[3, 2], &[2, 1]));
        assert!(!accepted(&[2, 2], &[HUGE, HUGE]));
        assert!(!accepted(&[3, 2], &[HUGE, 1]));
        assert!(!accepted(&[2, 3], &[1]));
    }

    #[test]
    fn a_refused_stride_is_named() {
        let error = check_strides(&[2, 3], &[1, 1]).unwrap_err().to_string();
        assert!(error.contains("stride 1 of dim 1 (size 3)"), "{error}");
    }

    #[test]
    fn row_major() {
        assert_eq!(row_major_strides(&[2, 3, 4])[..], [12, 4, 1]);
        assert_eq!(row_major_strides(&[2, 0, 4])[..], [4, 4, 1]);
        assert!(row_major_strides(&[]).is_empty());
        assert_eq!(row_major_strides(&[2, HUGE, HUGE])[0], HUGE);
        assert!(is_row_major(&[2, 3], &[3, 1]));
        assert!(is_row_major(&[1, 3, 1], &[7, 1, 9]));
        assert!(is_row_major(&[0, 3], &[1, 8]));
        assert!(!is_row_major(&[2, 3], &[1, 2]));
        assert!(!is_row_major(&[2, 3], &[4, 1]));
        assert!(!is_row_major(&[2], &[]));
    }

    #[test]
    fn bools() {
        assert!(check_bool(&[]).is_ok());
        assert!(check_bool(&[0, 1, 1, 0]).is_ok());
        let error = check_bool(&[0, 1, 3, 255]).unwrap_err().to_string();
        assert!(error.contains("element 2") && error.contains("is 3"), "{error}");
    }
}
