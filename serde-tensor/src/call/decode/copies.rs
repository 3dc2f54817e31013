//! Segments that were copied, once for all tensors in them.

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::Bytes;

use crate::tensor::MAX_ALIGN;

/// Copies of segments, by the addresses that they were copied from: first address, and end.
#[derive(Default)]
pub(super) struct Copies(BTreeMap<usize, (usize, Bytes)>);

impl Copies {
    /// The part of a copy that was made of the bytes at these addresses, if it is aligned.
    pub(super) fn part(&self, from: &Range<usize>, align: usize) -> Option<Bytes> {
        // A segment has at most as many copies as an element has bytes, which start within one element.
        let near = self.0.range(..=from.start).rev().take(MAX_ALIGN);
        let mut parts = near.filter(|&(_, &(end, _))| from.end <= end);
        parts.find_map(|(&start, (_, copy))| {
            let part = copy.slice(from.start - start..from.end - start);
            part.as_ptr().addr().is_multiple_of(align).then_some(part)
        })
    }

    pub(super) fn insert(&mut self, from: Range<usize>, copy: Bytes) {
        self.0.insert(from.start, (from.end, copy));
    }
}
