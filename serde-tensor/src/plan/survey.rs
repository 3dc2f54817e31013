//! The first pass over a value: which tensors it holds, and which of them overlap in memory.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::numbering::{Numbering, Place};
use super::segment::{Piece, Segment};
use crate::TensorSerialize;
use crate::call::encode::Key;
use crate::device::Device;
use crate::error::Result;
use crate::leaf::{Lending, TensorVisitor, Visited};
use crate::ser::Options;
use crate::wire::to_u64;

/// A tensor with bytes.
struct Found<'a> {
    key: Key,
    bytes: Lending<'a>,
    len: usize,
    /// Where its bytes are: device, space, first address, end.
    range: Option<(Device, u64, u64, u64)>,
}

/// Surveys a value: which of its tensors go into segments, and what those consist of.
pub(super) fn survey<'a, T: ?Sized + TensorSerialize>(value: &'a T, options: &Options) -> Result<Numbering<'a>> {
    let mut found = Vec::new();
    let mut note = |tensor: Visited<'a>| {
        // One that is at odds with itself is left to fail where it is serialized, which knows its path. Empty ones are always inline.
        if let Some(len) = tensor.consistent_len().filter(|len| *len > 0) {
            let range = tensor.description.storage.and_then(|storage| {
                let end = storage.address.checked_add(to_u64(len))?;
                Some((tensor.description.device, storage.space, storage.address, end))
            });
            found.push(Found {
                key: tensor.key,
                bytes: tensor.bytes,
                len,
                range,
            });
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
    let mut places: HashMap<Key, SmallVec<[Place; 1]>> = HashMap::new();
    let mut segments: Vec<Segment<'a>> = Vec::new();
    let mut found = found.into_iter();
    while let [first, ..] = found.as_slice() {
        let count = overlapping(found.as_slice());
        if count == 1 && first.len <= options.inline_limit {
            found.next();
            continue;
        }
        let group: SmallVec<[Found<'a>; 1]> = found.by_ref().take(count).collect();
        let index = segments.len();
        let shown: SmallVec<[(Key, Place); 1]> = group
            .iter()
            .map(|found| (found.key, found.place(&group[0], index)))
            .collect();
        // What fails to be copied is left to fail where it is serialized, which knows its path.
        if let Ok(segment) = merge(group, &shown, options) {
            segments.push(segment);
            for (key, place) in shown {
                places.entry(key).or_default().push(place);
            }
        }
    }
    Numbering::new(places, segments)
}

/// How many tensors, from the first on, overlap in memory, each with one before it.
fn overlapping(found: &[Found<'_>]) -> usize {
    let Some(Found {
        range: Some((device, space, _, end)),
        ..
    }) = found.first()
    else {
        return 1;
    };
    let mut end = *end;
    let others = found[1..].iter().take_while(|next| match next.range {
        Some((next_device, next_space, start, next_end)) => {
            let overlaps = (next_device, next_space) == (*device, *space) && start < end;
            end = end.max(next_end);
            overlaps
        }
        None => false,
    });
    1 + others.count()
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

/// One segment of the bytes that a group of overlapping tensors shows, each byte once.
fn merge<'a>(group: SmallVec<[Found<'a>; 1]>, shown: &[(Key, Place)], options: &Options) -> Result<Segment<'a>> {
    let mut segment = Segment::new(0);
    for (Found { bytes, len, .. }, (_, place)) in group.into_iter().zip(shown) {
        let skip = segment.len.saturating_sub(place.offset);
        if skip < len {
            segment.pieces.push(Piece::of(bytes.get()?, len, skip, options)?);
            segment.len += len - skip;
        }
    }
    Ok(segment)
}
