//! The first pass over a value: which tensors it holds, and which of them overlap in memory.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::numbering::{Numbering, Place};
use super::segment::{Piece, Segment};
use crate::TensorSerialize;
use crate::call::encode::Key;
use crate::device::Device;
use crate::error::Result;
use crate::leaf::{TensorVisitor, Visited};
use crate::ser::Options;
use crate::wire::to_u64;

/// A tensor with bytes.
struct Found<'a> {
    tensor: Visited<'a>,
    len: usize,
    /// Where its bytes are: device, space, first address, end.
    range: Option<(Device, u64, u64, u64)>,
}

/// Surveys a value: which of its tensors go into segments, and what those consist of.
pub(super) fn survey<'a, T: ?Sized + TensorSerialize>(value: &'a T, options: &Options) -> Result<Numbering<'a>> {
    let mut found = Vec::new();
    let mut note = |tensor: Visited<'a>| {
        // One that is at odds with itself is left to fail where it is serialized, which knows its path.
        let Some(len) = tensor.consistent_len() else {
            return Ok(());
        };
        // Empty tensors are always inline.
        if len > 0 {
            let device = tensor.description.device;
            let range = tensor.description.storage.and_then(|storage| {
                let end = storage.address.checked_add(to_u64(len))?;
                Some((device, storage.space, storage.address, end))
            });
            found.push(Found { tensor, len, range });
        }
        Ok(())
    };
    // A type that adds no level to the body, as a newtype, is one to the visitor, so that goes deeper than the body may.
    let depth = options.depth.saturating_mul(4);
    value.visit_tensors(&mut TensorVisitor::new(depth, &mut note))?;
    // Tensors of one storage come to lie side by side, first address first.
    found.sort_by_key(|found| found.range);
    Ok(group(found, options))
}

fn group<'a>(found: Vec<Found<'a>>, options: &Options) -> Numbering<'a> {
    let mut places: HashMap<Key, SmallVec<[Place; 1]>> = HashMap::with_capacity(found.len());
    let mut segments: Vec<Segment<'a>> = Vec::new();
    let mut found = found.into_iter().peekable();
    while let Some(first) = found.next() {
        let mut end = first.range.map_or(0, |(.., end)| end);
        let mut group = vec![first];
        while let Some(next) = found.next_if(|next| overlaps(&group[0], end, next)) {
            end = end.max(next.range.map_or(0, |(.., end)| end));
            group.push(next);
        }
        if group.len() == 1 && group[0].len <= options.inline_limit {
            continue;
        }
        let index = segments.len();
        let shown: Vec<Place> = group.iter().map(|found| found.place(&group[0], index)).collect();
        let keys: Vec<Key> = group.iter().map(|found| found.tensor.key).collect();
        // What fails to be copied is left to fail where it is serialized, which knows its path.
        if let Ok(segment) = merge(group, options) {
            segments.push(segment);
            for (key, place) in keys.into_iter().zip(shown) {
                places.entry(key).or_default().push(place);
            }
        }
    }
    Numbering::new(places, segments)
}

impl Found<'_> {
    /// Where its bytes are in the segment of the group that `first` is the first of.
    fn place(&self, first: &Self, segment: usize) -> Place {
        // Overlapping ranges lie in one address space, so their distances fit it.
        let distance = match (first.range, self.range) {
            (Some((_, _, base, _)), Some((_, _, start, _))) => start.saturating_sub(base),
            _ => 0,
        };
        Place {
            segment,
            offset: usize::try_from(distance).unwrap_or(usize::MAX),
            len: self.len,
        }
    }
}

/// Whether a tensor's range begins inside that of a group, which ends at `end`.
fn overlaps(first: &Found<'_>, end: u64, next: &Found<'_>) -> bool {
    match (first.range, next.range) {
        (Some((device, space, ..)), Some((next_device, next_space, start, _))) => {
            device == next_device && space == next_space && start < end
        }
        _ => false,
    }
}

/// One segment of the bytes that a group of overlapping tensors shows, each byte once.
fn merge<'a>(group: Vec<Found<'a>>, options: &Options) -> Result<Segment<'a>> {
    let offsets: Vec<usize> = group.iter().map(|found| found.place(&group[0], 0).offset).collect();
    let mut segment = Segment::new(0);
    for (Found { tensor, len, .. }, offset) in group.into_iter().zip(offsets) {
        let skip = segment.len.saturating_sub(offset);
        if skip < len {
            segment.pieces.push(Piece::of(tensor.bytes, len, skip, options)?);
            segment.len += len - skip;
        }
    }
    Ok(segment)
}
