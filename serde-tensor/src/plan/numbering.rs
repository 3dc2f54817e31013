//! The second pass over a value: segments get their numbers in the order in which the body names them.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::segment::{Piece, Segment};
use crate::call::encode::{Identity, Key};
use crate::error::{Error, Result};
use crate::wire::to_u64;

/// Which tensor is in which segment.
pub(crate) struct Numbering<'a> {
    /// A value that is shown several times and shares nothing, as one `Arc<[f32]>` in many fields, has as many places.
    places: HashMap<Key, SmallVec<[Place; 1]>>,
    /// As surveyed; one that was numbered has moved on. A tensor that is skipped while serializing leaves its behind.
    surveyed: Vec<Surveyed<'a>>,
    numbered: Vec<Segment<'a>>,
}

/// A tensor's part of a segment.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// An index of the survey.
    pub(super) segment: usize,
    pub(super) offset: usize,
    pub(super) len: usize,
}

enum Surveyed<'a> {
    Waiting(Segment<'a>),
    Numbered(u64),
}

impl<'a> Numbering<'a> {
    pub(super) fn new(places: HashMap<Key, SmallVec<[Place; 1]>>, segments: Vec<Segment<'a>>) -> Self {
        Self {
            places,
            surveyed: segments.into_iter().map(Surveyed::Waiting).collect(),
            numbered: Vec::new(),
        }
    }

    /// The number of a planned tensor's segment, and the tensor's offset in it; `None` for one that was not planned.
    ///
    /// `at` is where in the body the tensor is.
    pub(crate) fn find(&mut self, identity: Option<&Identity>, len: usize, at: usize) -> Result<Option<(u64, u64)>> {
        let places = identity.and_then(|identity| self.places.get_mut(&identity.key));
        let Some(place) = places.and_then(|places| {
            if places.len() > 1 {
                places.pop()
            } else {
                places.last().copied()
            }
        }) else {
            return Ok(None);
        };
        if place.len != len {
            return Err(Error::data(format!(
                "a tensor of {} bytes became one of {len} while it was being planned",
                place.len
            )));
        }
        let next = to_u64(self.numbered.len());
        let index = match std::mem::replace(&mut self.surveyed[place.segment], Surveyed::Numbered(next)) {
            Surveyed::Waiting(mut segment) => {
                segment.named_at = at;
                self.numbered.push(segment);
                next
            }
            Surveyed::Numbered(index) => {
                self.surveyed[place.segment] = Surveyed::Numbered(index);
                index
            }
        };
        Ok(Some((index, to_u64(place.offset))))
    }

    /// Takes a copy of a tensor that was not planned; returns its segment's number.
    pub(crate) fn push_copy(&mut self, bytes: Vec<u8>) -> u64 {
        let index = self.numbered.len();
        let mut segment = Segment::new(bytes.len());
        segment.pieces.push(Piece::Owned(bytes.into()));
        self.numbered.push(segment);
        to_u64(index)
    }

    pub(super) fn into_segments(self) -> Vec<Segment<'a>> {
        self.numbered
    }
}
