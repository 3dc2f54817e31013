//! Memory of libtorch's own, filled with bytes.
#![allow(
    unsafe_code,
    reason = "tch can only fill a tensor from a slice by zeroing it first, or without checking the slice's length"
)]

use std::ptr;

use ::tch::{Device, Kind, Tensor};

use super::{fault, signed};
use crate::{Error, Result};

/// A new tensor on the CPU of the given row-major shape, with a copy of `bytes` and then zeros for its elements.
///
/// More bytes than it has are an error.
pub(super) fn filled(kind: Kind, size: &[i64], bytes: &[u8]) -> Result<Tensor> {
    let len = byte_len(kind, size)?;
    if bytes.len() > len {
        return Err(Error::backend(format!("{} bytes for a tensor of {len}", bytes.len())));
    }
    let tensor = Tensor::f_empty(size, (kind, Device::Cpu)).map_err(|error| fault("libtorch has no memory", error))?;
    if len == 0 {
        return Ok(tensor);
    }
    let memory = tensor.data_ptr().cast::<u8>();
    if memory.is_null() {
        return Err(Error::backend("libtorch made a tensor without memory"));
    }
    // SAFETY: `f_empty` with a kind, the CPU and no layout makes a dense row-major tensor in an allocation of its own, of
    // at least numel * itemsize = `len` bytes (at::empty, "Returns a tensor filled with uninitialized data"), to whose
    // first element `data_ptr` points; that it is not null was seen above. The tensor was made in this function, so there
    // is no other handle by which its memory could be read, written, moved or freed meanwhile. `bytes` is borrowed memory
    // that existed before, so the two do not overlap, and `bytes.len() <= len` was checked: both writes stay inside.
    unsafe {
        ptr::copy_nonoverlapping(bytes.as_ptr(), memory, bytes.len());
        ptr::write_bytes(memory.add(bytes.len()), 0, len - bytes.len());
    }
    Ok(tensor)
}

/// The length of a row-major tensor's memory. Empty ones too must have a shape whose strides libtorch can compute.
fn byte_len(kind: Kind, size: &[i64]) -> Result<usize> {
    let mut extent = kind.elt_size_in_bytes();
    let mut empty = false;
    for &dim in size {
        let dim = usize::try_from(dim).ok();
        empty |= dim == Some(0);
        extent = dim
            .and_then(|dim| extent.checked_mul(dim.max(1)))
            .filter(|&extent| signed(extent).is_ok())
            .ok_or_else(|| Error::backend(format!("libtorch has no tensors of sizes {size:?}")))?;
    }
    Ok(if empty { 0 } else { extent })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_of_the_elements_and_none_overflows() {
        assert_eq!(byte_len(Kind::Float, &[]).unwrap(), 4);
        assert_eq!(byte_len(Kind::ComplexDouble, &[2, 3]).unwrap(), 96);
        assert_eq!(byte_len(Kind::Half, &[0, 1 << 40]).unwrap(), 0);
        for size in [&[-1][..], &[1 << 62, 1 << 62], &[i64::MAX], &[0, 1 << 62, 1 << 62]] {
            assert!(byte_len(Kind::Double, size).is_err(), "{size:?}");
        }
    }

    #[test]
    fn bytes_and_then_zeros() {
        let tensor = filled(Kind::Uint8, &[4], &[1, 2]).unwrap();
        let mut read = [9; 4];
        tensor.f_copy_data_u8(&mut read, 4).unwrap();
        assert_eq!(read, [1, 2, 0, 0]);
        assert!(filled(Kind::Uint8, &[1], &[1, 2]).is_err());
    }
}
