//! Memory that the copies of small tensors have in common.

use bytes::{Bytes, BytesMut};

use crate::tensor::MAX_ALIGN;

/// How many tensors get memory of their own before a slab is begun.
pub(super) const FEW: usize = 8;

/// How much memory is taken at once, in bytes. A tensor that is kept keeps as much.
const CHUNK: usize = 32 << 10;

/// The longest tensor that is put in here, in bytes: few fit badly into what is left.
const LONGEST: usize = 1024;

/// Copies one behind the other, each aligned for every element type: to take memory for each takes longer than all else that a small
/// tensor needs.
#[derive(Default)]
pub(super) struct Slab(BytesMut);

impl Slab {
    /// A copy of a part of a message of `whole` bytes; `None` of one that is long enough for memory of its own.
    #[inline]
    pub(super) fn copy(&mut self, bytes: &[u8], whole: usize) -> Option<Bytes> {
        if bytes.is_empty() || bytes.len() > LONGEST {
            return None;
        }
        let end = bytes.len().next_multiple_of(MAX_ALIGN);
        if self.0.capacity() < end {
            // Not more than the message itself takes, where that is short.
            self.0 = BytesMut::with_capacity(CHUNK.min(whole).max(end));
        }
        self.0.extend_from_slice(bytes);
        if end > bytes.len() {
            self.0.extend_from_slice(&[0; MAX_ALIGN][..end - bytes.len()]);
        }
        let mut copy = self.0.split().freeze();
        copy.truncate(bytes.len());
        Some(copy)
    }
}

#[cfg(test)]
mod tests {
    use super::{CHUNK, LONGEST, Slab};
    use crate::tensor::{MAX_ALIGN, is_aligned};

    #[test]
    fn copies_are_aligned_and_stay_as_they_are() {
        let mut slab = Slab::default();
        let bytes: Vec<u8> = (0..LONGEST).map(|at| u8::try_from(at % 251).unwrap()).collect();
        let lens: Vec<usize> = (1..=LONGEST).step_by(7).chain([LONGEST]).collect();
        let copies: Vec<_> = lens
            .iter()
            .map(|&len| slab.copy(&bytes[..len], CHUNK).unwrap())
            .collect();
        for (copy, len) in copies.iter().zip(lens) {
            assert_eq!(copy[..], bytes[..len]);
            assert!(is_aligned(copy, MAX_ALIGN), "{len}");
        }
        assert!(slab.copy(&[0; LONGEST + 1], CHUNK).is_none());
        assert!(slab.copy(&[], CHUNK).is_none());
    }

    #[test]
    fn a_short_message_takes_little() {
        let mut slab = Slab::default();
        let copy = slab.copy(&[1, 2, 3], 40).unwrap();
        assert!(copy.len() == 3 && slab.0.capacity() <= 40);
    }
}
