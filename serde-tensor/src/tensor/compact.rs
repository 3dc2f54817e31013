//! Strided data gathered into row-major order.

use smallvec::SmallVec;

use super::dtype::DType;
use super::shape::{Shape, byte_len, reserved, strided_byte_len};
use crate::error::{Error, Result};

/// One step of the walk over the elements: a size above 1 and a stride in elements.
#[derive(Clone, Copy)]
struct Axis {
    dim: usize,
    stride: usize,
}

type Axes = SmallVec<[Axis; 4]>;

/// The elements of strided `bytes` in row-major order; sub-byte elements are packed, least significant bits first.
///
/// Strides of 0 are read here (a backend may show one element many times); what a reader accepts is another matter, see
/// `check_strides`.
///
/// # Errors
///
/// `Data` when `bytes` is shorter than what shape and strides reach, `Limit` when the result has no memory.
pub(crate) fn compact(dtype: DType, shape: &[usize], strides: &[usize], bytes: &[u8]) -> Result<Vec<u8>> {
    let reach = strided_byte_len(dtype, shape, strides)?;
    if bytes.len() < reach {
        return Err(Error::data(format!(
            "{} bytes of data, where strides {strides:?} of shape {shape:?} reach {reach} bytes far",
            bytes.len()
        )));
    }
    let len = byte_len(dtype, shape)?;
    let mut out = reserved::<u8>(len)?;
    if len == 0 {
        return Ok(out);
    }
    let axes = merged(shape, strides);
    let bits = usize::from(dtype.bits());
    if bits.is_multiple_of(8) {
        gather_bytes(&mut out, len, bytes, &axes, bits / 8);
    } else {
        out.resize(len, 0);
        gather_bits(&mut out, bytes, &axes, bits);
    }
    Ok(out)
}

/// The dims above 1, outermost first, with neighbours joined where one continues the other.
fn merged(shape: &[usize], strides: &[usize]) -> Axes {
    let mut axes = Axes::new();
    for (&dim, &stride) in shape.iter().zip(strides).filter(|(dim, _)| **dim > 1) {
        match axes.last_mut() {
            Some(outer) if dim.checked_mul(stride) == Some(outer.stride) => {
                // No overflow: the product of all dims was checked.
                outer.dim *= dim;
                outer.stride = stride;
            }
            _ => axes.push(Axis { dim, stride }),
        }
    }
    axes
}

/// Appends `len` bytes: the elements, each of `size` whole bytes.
fn gather_bytes(out: &mut Vec<u8>, len: usize, bytes: &[u8], axes: &[Axis], size: usize) {
    let (outer, inner) = match axes {
        [outer @ .., inner] => (outer, *inner),
        [] => (axes, Axis { dim: 1, stride: 1 }),
    };
    if inner.stride == 1 {
        for start in Offsets::new(outer) {
            let row = bytes.get(start * size..).unwrap_or_default();
            out.extend_from_slice(row.get(..inner.dim * size).unwrap_or_default());
        }
        return;
    }
    out.resize(len, 0);
    // A fixed size makes the copy of an element one load and one store.
    match size {
        1 => gather_tiles(out, bytes, outer, inner, 1, row::<1>),
        2 => gather_tiles(out, bytes, outer, inner, 2, row::<2>),
        4 => gather_tiles(out, bytes, outer, inner, 4, row::<4>),
        8 => gather_tiles(out, bytes, outer, inner, 8, row::<8>),
        16 => gather_tiles(out, bytes, outer, inner, 16, row::<16>),
        _ => gather_tiles(out, bytes, outer, inner, size, |to, from, stride| {
            for (i, place) in to.chunks_exact_mut(size).enumerate() {
                let start = i * stride * size;
                place.copy_from_slice(&from[start..start + size]);
            }
        }),
    }
}

/// Fills `out` in tiles of the innermost axis and of the outer axis along which `bytes` is densest.
///
/// A tile reads each line of memory completely while it is in cache; a row of a large transposed matrix would read one element
/// of each of many lines, measured four times as slow.
fn gather_tiles(
    out: &mut [u8],
    bytes: &[u8],
    outer: &[Axis],
    inner: Axis,
    size: usize,
    row: impl Fn(&mut [u8], &[u8], usize),
) {
    const TILE: usize = 32;
    // Where the elements of each outer axis go, beside where they come from.
    let mut place = inner.dim;
    let mut to_axes: Axes = outer
        .iter()
        .rev()
        .map(|axis| {
            let to = Axis {
                dim: axis.dim,
                stride: place,
            };
            place *= axis.dim;
            to
        })
        .collect();
    to_axes.reverse();
    let mut from_axes = Axes::from_slice(outer);
    let densest = (0..outer.len()).min_by_key(|&i| outer[i].stride);
    let one = Axis { dim: 1, stride: 0 };
    let (from_tall, to_tall) = densest.map_or((one, one), |i| (from_axes.remove(i), to_axes.remove(i)));

    for (from, to) in Offsets::new(&from_axes).zip(Offsets::new(&to_axes)) {
        for top in (0..from_tall.dim).step_by(TILE) {
            for left in (0..inner.dim).step_by(TILE) {
                let width = TILE.min(inner.dim - left);
                for i in top..from_tall.dim.min(top + TILE) {
                    let from = from + i * from_tall.stride + left * inner.stride;
                    let to = to + i * to_tall.stride + left;
                    row(
                        &mut out[to * size..][..width * size],
                        &bytes[from * size..],
                        inner.stride,
                    );
                }
            }
        }
    }
}

/// Fills `to` with elements of `N` bytes, `stride` elements apart in `from`.
fn row<const N: usize>(to: &mut [u8], from: &[u8], stride: usize) {
    let places = to.as_chunks_mut::<N>().0.iter_mut();
    if let (0, Some(element)) = (stride, from.first_chunk::<N>()) {
        places.for_each(|place| *place = *element);
        return;
    }
    for (place, element) in places.zip(from.chunks(stride.max(1) * N)) {
        if let Some(element) = element.first_chunk::<N>() {
            *place = *element;
        }
    }
}

/// Fills `out`, all zero, with elements that are no whole number of bytes.
fn gather_bits(out: &mut [u8], bytes: &[u8], axes: &[Axis], bits: usize) {
    for (to, from) in Offsets::new(axes).enumerate() {
        // Elements longer than a byte go a byte at a time; a step of 8 bits keeps the position within the byte.
        for (step, piece) in (0..bits).step_by(8).enumerate() {
            let width = (bits - piece).min(8);
            let (byte, shift) = place(from, bits);
            let value = read_bits(bytes, byte + step, shift) & (0xff >> (8 - width));
            let (byte, shift) = place(to, bits);
            write_bits(out, byte + step, shift, value);
        }
    }
}

/// The byte, and the bit in it, at which element `n` starts.
fn place(n: usize, bits: usize) -> (usize, usize) {
    // Not `n * bits / 8`, whose product may exceed a `usize` where the place does not.
    let bit = (n % 8) * bits;
    ((n / 8) * bits + bit / 8, bit % 8)
}

/// Eight bits; those beyond the data are 0.
fn read_bits(bytes: &[u8], byte: usize, shift: usize) -> u8 {
    let at = |i: usize| bytes.get(i).copied().unwrap_or(0);
    let [low, _] = (u16::from_le_bytes([at(byte), at(byte + 1)]) >> shift).to_le_bytes();
    low
}

fn write_bits(out: &mut [u8], byte: usize, shift: usize, value: u8) {
    let spread = (u16::from(value) << shift).to_le_bytes();
    for (place, bits) in out.iter_mut().skip(byte).zip(spread) {
        *place |= bits;
    }
}

/// The offsets, in elements, of a walk over all axes, the last fastest; one offset when there are none.
struct Offsets<'a> {
    axes: &'a [Axis],
    index: Shape,
    next: Option<usize>,
}

impl<'a> Offsets<'a> {
    fn new(axes: &'a [Axis]) -> Self {
        Self {
            axes,
            index: Shape::from_elem(0, axes.len()),
            next: Some(0),
        }
    }
}

impl Iterator for Offsets<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let current = self.next?;
        // No overflow: the offset of the last element was checked.
        let mut offset = current;
        for (axis, index) in self.axes.iter().zip(&mut self.index).rev() {
            if *index + 1 < axis.dim {
                *index += 1;
                self.next = Some(offset + axis.stride);
                return Some(current);
            }
            offset -= *index * axis.stride;
            *index = 0;
        }
        self.next = None;
        Some(current)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Element by element and bit by bit: slow, and too simple to be wrong in the same way.
    fn oracle(bits: usize, shape: &[usize], strides: &[usize], bytes: &[u8]) -> Vec<u8> {
        let count: usize = shape.iter().product();
        let mut out = vec![0u8; (count * bits).div_ceil(8)];
        for n in 0..count {
            let (mut rest, mut from) = (n, 0);
            for (&dim, &stride) in shape.iter().zip(strides).rev() {
                from += (rest % dim) * stride;
                rest /= dim;
            }
            for bit in 0..bits {
                let (from, to) = (from * bits + bit, n * bits + bit);
                out[to / 8] |= (bytes[from / 8] >> (from % 8) & 1) << (to % 8);
            }
        }
        out
    }

    #[test]
    fn every_layout_and_size_agrees_with_the_oracle() {
        let layouts: &[(&[usize], &[usize])] = &[
            (&[], &[]),
            (&[5], &[1]),
            (&[5], &[3]),
            (&[2, 3], &[3, 1]),
            (&[2, 3], &[1, 2]),
            (&[3, 4], &[5, 1]),
            (&[2, 3, 4], &[1, 2, 6]),
            (&[2, 3, 4], &[12, 1, 3]),
            (&[4, 2, 3], &[1, 12, 4]),
            (&[2, 1, 3], &[3, 99, 1]),
            (&[1, 1], &[7, 7]),
            (&[3, 2], &[0, 1]),
            (&[3, 2], &[1, 0]),
            (&[2, 2, 2, 2, 2], &[1, 2, 4, 8, 16]),
            (&[33, 70], &[1, 33]),
            (&[3, 5, 40], &[1, 120, 3]),
        ];
        let bytes: Vec<u8> = (0..=255u8)
            .map(|i| i.wrapping_mul(151) ^ 0x5a)
            .cycle()
            .take(if cfg!(miri) { 1000 } else { 40_000 })
            .collect();
        for bits in [1, 3, 4, 6, 8, 12, 16, 24, 32, 64, 100, 128] {
            let dtype = DType::from_dlpack(200, bits).unwrap();
            // Miri takes minutes for the large ones.
            let few = |shape: &[usize]| !cfg!(miri) || shape.iter().product::<usize>() < 30;
            for &(shape, strides) in layouts.iter().filter(|(shape, _)| few(shape)) {
                let got = compact(dtype, shape, strides, &bytes).unwrap();
                let want = oracle(bits.into(), shape, strides, &bytes);
                assert_eq!(got, want, "{bits} bits, {shape:?}, {strides:?}");
            }
        }
    }

    #[test]
    fn data_that_is_too_short_is_refused() {
        let reach = strided_byte_len(DType::U16, &[2, 3], &[1, 2]).unwrap();
        assert!(compact(DType::U16, &[2, 3], &[1, 2], &vec![0; reach]).is_ok());
        assert!(compact(DType::U16, &[2, 3], &[1, 2], &vec![0; reach - 1]).is_err());
    }

    #[test]
    fn an_empty_tensor_needs_no_data() {
        let none = compact(DType::F32, &[2, 0, usize::MAX], &[usize::MAX, 9, 0], &[]).unwrap();
        assert!(none.is_empty());
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri ends where memory does")]
    fn a_result_without_memory_is_an_error() {
        assert!(compact(DType::U8, &[1 << 30, 1 << 30], &[0, 0], &[1]).is_err());
    }
}
