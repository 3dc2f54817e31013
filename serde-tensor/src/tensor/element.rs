//! The Rust types that stand for a dtype.

use std::borrow::Cow;
use std::fmt;
use std::mem::size_of;

use bytemuck::{CheckedBitPattern, NoUninit};

use super::dtype::DType;
use super::number::FromNumber;
use super::shape::{check_bool, reserved};
use crate::error::{Error, Result};

/// A Rust type whose values are the elements of a tensor.
///
/// Implemented for `bool`, the integers from `u8` to `i64`, `f32`, `f64`, [`half::f16`] and [`half::bf16`]; sealed,
/// because every other part of the crate relies on the layout.
///
/// # Examples
///
/// ```
/// use serde_tensor::{DType, Element};
///
/// fn dtype_of<E: Element>(_: &[E]) -> DType {
///     E::DTYPE
/// }
///
/// assert_eq!(dtype_of(&[1u8, 2]), DType::U8);
/// assert_eq!(dtype_of(&[half::bf16::ONE]), DType::BF16);
/// ```
pub trait Element:
    sealed::Sealed + FromNumber + NoUninit + CheckedBitPattern + PartialEq + fmt::Debug + Send + Sync + 'static
{
    /// The dtype of a tensor of these.
    const DTYPE: DType;
}

mod sealed {
    pub trait Sealed {
        /// Any valid value.
        const ZERO: Self;
    }
}

/// A row an element type: Rust type, dtype, zero.
macro_rules! elements {
    ($($element:ty, $dtype:ident, $zero:expr;)*) => {$(
        impl sealed::Sealed for $element {
            const ZERO: Self = $zero;
        }

        impl Element for $element {
            const DTYPE: DType = DType::$dtype;
        }
    )*};
}

elements! {
    bool, Bool, false;
    u8, U8, 0;
    i8, I8, 0;
    u16, U16, 0;
    i16, I16, 0;
    u32, U32, 0;
    i32, I32, 0;
    u64, U64, 0;
    i64, I64, 0;
    half::f16, F16, half::f16::ZERO;
    half::bf16, BF16, half::bf16::ZERO;
    f32, F32, 0.0;
    f64, F64, 0.0;
}

/// The elements' bytes as they travel; borrowed where the host is little-endian.
pub(crate) fn little_endian<E: Element>(elements: &[E]) -> Cow<'_, [u8]> {
    let bytes = bytemuck::cast_slice::<E, u8>(elements);
    if native::<E>() {
        Cow::Borrowed(bytes)
    } else {
        Cow::Owned(swapped(bytes, size_of::<E>()))
    }
}

/// The elements that `bytes` (little-endian) hold; borrowed where address and host allow it.
///
/// # Errors
///
/// `Data` when the length is no multiple of the element's, or when a `bool` is neither 0 nor 1.
pub(crate) fn elements<E: Element>(bytes: &[u8]) -> Result<Cow<'_, [E]>> {
    check_length::<E>(bytes)?;
    if bytes.is_empty() {
        return Ok(Cow::Borrowed(&[]));
    }
    if !native::<E>() {
        return collect(&swapped(bytes, size_of::<E>())).map(Cow::Owned);
    }
    match bytemuck::checked::try_cast_slice(bytes) {
        Ok(elements) => Ok(Cow::Borrowed(elements)),
        Err(_) => collect(bytes).map(Cow::Owned),
    }
}

/// As [`elements`], always copied.
pub(crate) fn elements_to_vec<E: Element>(bytes: &[u8]) -> Result<Vec<E>> {
    check_length::<E>(bytes)?;
    if native::<E>() {
        collect(bytes)
    } else {
        collect(&swapped(bytes, size_of::<E>()))
    }
}

/// Copies native-endian bytes, at any address, of a length that was checked.
fn collect<E: Element>(bytes: &[u8]) -> Result<Vec<E>> {
    if E::DTYPE == DType::Bool {
        check_bool(bytes)?;
    }
    let mut elements = reserved(bytes.len() / size_of::<E>())?;
    match bytemuck::checked::try_cast_slice::<u8, E>(bytes) {
        Ok(aligned) => elements.extend_from_slice(aligned),
        // `chunks_exact` and `map` keep the exact length known, so this is one loop without growth. The alternative of
        // `unwrap_or` is never taken: the chunk has the element's size, and `bool`, the one type with invalid
        // patterns, was checked above.
        Err(_) => elements.extend(
            bytes
                .chunks_exact(size_of::<E>())
                .map(|chunk| bytemuck::checked::try_pod_read_unaligned(chunk).unwrap_or(E::ZERO)),
        ),
    }
    Ok(elements)
}

fn check_length<E: Element>(bytes: &[u8]) -> Result<()> {
    if bytes.len().is_multiple_of(size_of::<E>()) {
        return Ok(());
    }
    Err(Error::data(format!(
        "{} bytes are no whole number of {} elements",
        bytes.len(),
        E::DTYPE
    )))
}

/// Whether the host's bytes are those of the wire.
const fn native<E>() -> bool {
    cfg!(target_endian = "little") || size_of::<E>() == 1
}

/// Every `size` bytes reversed.
fn swapped(bytes: &[u8], size: usize) -> Vec<u8> {
    let mut swapped = bytes.to_vec();
    for element in swapped.chunks_exact_mut(size) {
        element.reverse();
    }
    swapped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_address_gives_the_same_elements() {
        let mut buffer = [0u8; 64];
        for start in 0..16 {
            let expected = [1.5f32, -0.0, f32::from_bits(0x7fa0_0001)];
            let bytes = little_endian(&expected).into_owned();
            buffer[start..start + 12].copy_from_slice(&bytes);
            let slice = &buffer[start..start + 12];
            let read = elements::<f32>(slice).unwrap();
            let owned = elements_to_vec::<f32>(slice).unwrap();
            for (got, want) in read.iter().chain(&owned).zip(expected.iter().cycle()) {
                assert_eq!(got.to_bits(), want.to_bits());
            }
        }
    }

    #[test]
    fn a_bool_that_is_neither_0_nor_1_is_refused() {
        assert_eq!(elements::<bool>(&[0, 1, 1]).unwrap()[..], [false, true, true]);
        assert!(elements::<bool>(&[0, 2]).is_err());
        assert!(elements_to_vec::<bool>(&[255]).is_err());
    }

    #[test]
    fn a_part_of_an_element_is_refused() {
        assert!(elements::<u16>(&[0; 3]).is_err());
        assert!(elements_to_vec::<u64>(&[0; 12]).is_err());
        assert!(elements::<u64>(&[]).unwrap().is_empty());
    }

    #[test]
    fn swapping_reverses_each_element() {
        assert_eq!(swapped(&[1, 2, 3, 4], 2), [2, 1, 4, 3]);
        assert_eq!(swapped(&[1, 2, 3, 4], 4), [4, 3, 2, 1]);
    }
}
