//! Memory behind [`Bytes`]: aligned, or owned by a vector of elements.

use bytes::Bytes;

use super::element::{Element, little_endian};
use super::shape::reserved;
use crate::error::Result;
use crate::wire::pages::expect_filling;

/// The strictest alignment an element type has.
pub(crate) const MAX_ALIGN: usize = align_of::<u128>();

/// A copy of `bytes` whose address is a multiple of `align` (at most that of `u128`).
pub(crate) fn aligned_copy(bytes: &[u8], align: usize) -> Bytes {
    let mut copy = Vec::with_capacity(bytes.len());
    expect_filling(&mut copy);
    copy.extend_from_slice(bytes);
    aligned(copy, align)
}

/// The vector's own memory where its address is a multiple of `align` (at most that of `u128`), else a copy.
pub(crate) fn aligned(bytes: Vec<u8>, align: usize) -> Bytes {
    if is_aligned(&bytes, align) {
        return Bytes::from(bytes);
    }
    // Allocators align to 8 or 16 bytes on their own; this is for the others.
    let mut words = vec![0u128; bytes.len().div_ceil(size_of::<u128>())];
    if let Some(place) = bytemuck::cast_slice_mut::<u128, u8>(&mut words).get_mut(..bytes.len()) {
        place.copy_from_slice(&bytes);
    }
    Words::into_bytes(words, bytes.len())
}

/// `len` bytes of 0 at an address that suits every element type, or a `Limit` error.
pub(super) fn zeroed(len: usize) -> Result<Bytes> {
    let count = len.div_ceil(size_of::<u128>());
    let mut words = reserved::<u128>(count)?;
    words.resize(count, 0);
    Ok(Words::into_bytes(words, len))
}

/// The bytes of a vector of elements, in its own memory where the host is little-endian.
pub(super) fn from_elements<E: Element>(elements: Vec<E>) -> Bytes {
    if cfg!(target_endian = "big") && size_of::<E>() > 1 {
        return aligned_copy(&little_endian(&elements), MAX_ALIGN);
    }
    match bytemuck::allocation::try_cast_vec::<E, u8>(elements) {
        Ok(bytes) => Bytes::from(bytes),
        // A vector must be freed with the alignment it was made with, so the elements stay its type.
        Err((_, elements)) => Bytes::from_owner(Elements(elements)),
    }
}

/// Whether the slice starts at a multiple of `align`.
#[inline]
pub(crate) fn is_aligned(bytes: &[u8], align: usize) -> bool {
    let address = bytes.as_ptr().addr();
    match align {
        // A division takes as long as all else that a small tensor needs.
        1 | 2 | 4 | 8 | 16 => address & (align - 1) == 0,
        _ => address.is_multiple_of(align.max(1)),
    }
}

struct Elements<E>(Vec<E>);

impl<E: Element> AsRef<[u8]> for Elements<E> {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
}

struct Words {
    words: Vec<u128>,
    len: usize,
}

impl Words {
    fn into_bytes(words: Vec<u128>, len: usize) -> Bytes {
        Bytes::from_owner(Self { words, len })
    }
}

impl AsRef<[u8]> for Words {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice(&self.words).get(..self.len).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_aligned_whatever_the_source_is() {
        let source: Vec<u8> = (0..100).collect();
        for start in 0..20 {
            for align in [1, 2, 4, 8, MAX_ALIGN] {
                let copy = aligned_copy(&source[start..], align);
                assert!(is_aligned(&copy, align));
                assert_eq!(copy, source[start..]);
            }
        }
        assert!(aligned_copy(&[], 16).is_empty());
        // More than any allocator gives: the vector's address does not do, so its words are copied.
        let copied = aligned(source.clone(), 1 << 30);
        assert!(is_aligned(&copied, MAX_ALIGN));
        assert_eq!(copied, source);
    }

    #[test]
    fn words_show_their_first_bytes_only() {
        let bytes = zeroed(17).unwrap();
        assert_eq!(bytes[..], [0; 17]);
        assert!(is_aligned(&bytes, MAX_ALIGN));
        assert!(zeroed(usize::MAX / 2).is_err());
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn a_vector_keeps_its_memory() {
        let wide = vec![1u32, 2];
        let address = wide.as_ptr().addr();
        let bytes = from_elements(wide);
        assert_eq!(bytes.as_ptr().addr(), address);
        assert_eq!(bytes[..], [1, 0, 0, 0, 2, 0, 0, 0]);

        let narrow = vec![1u8, 2, 3];
        let address = narrow.as_ptr().addr();
        assert_eq!(from_elements(narrow).as_ptr().addr(), address);
    }
}
