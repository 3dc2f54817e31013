//! Where the bytes of a message lie, in its order.

use std::borrow::Cow;
use std::iter;

use bytes::Bytes;

use super::Plan;
use super::segment::{Piece, Segment};
use crate::error::Result;

/// Zeros for the gaps between segments.
static ZEROS: [u8; 4096] = [0; 4096];

/// A part of a message.
#[derive(Clone, Copy)]
pub(crate) enum Source<'p, 'a> {
    /// What precedes the data.
    Front(&'p Bytes),
    /// What lies between segments.
    Zeros(&'static [u8]),
    Piece(&'p Piece<'a>, &'p Segment<'a>),
}

impl<'p> Source<'p, '_> {
    /// The bytes where they are, if they may be lent.
    pub(super) fn lent(self) -> Option<&'p [u8]> {
        match self {
            Self::Front(bytes) => Some(bytes),
            Self::Zeros(bytes) => Some(bytes),
            Self::Piece(piece, _) => piece.lent(),
        }
    }
}

impl<'a> Plan<'a> {
    /// The parts of the message, in order.
    pub(crate) fn sources<'p>(&'p self) -> Box<dyn Iterator<Item = Source<'p, 'a>> + 'p> {
        let mut end = self.front.len();
        let segments = self.segments.iter().flat_map(move |segment| {
            let gap = segment.offset - end;
            end = segment.offset + segment.len;
            let pieces = segment.pieces.iter();
            zeros(gap).chain(pieces.map(move |piece| Source::Piece(piece, segment)))
        });
        let behind = self
            .segments
            .last()
            .map_or(self.front.len(), |last| last.offset + last.len);
        let front = iter::once(Source::Front(&self.front));
        Box::new(front.chain(segments).chain(zeros(self.len - behind)))
    }

    /// The bytes of a part in one piece, copied if they cannot be lent.
    pub(crate) fn contiguous<'p>(&'p self, source: Source<'p, 'a>) -> Result<Cow<'p, [u8]>> {
        if let Some(bytes) = source.lent() {
            return Ok(Cow::Borrowed(bytes));
        }
        let mut copy = Vec::new();
        self.read(source, &mut |bytes| {
            copy.extend_from_slice(bytes);
            Ok(())
        })?;
        Ok(Cow::Owned(copy))
    }

    /// The bytes of a part, shared where they can be and copied otherwise.
    pub(super) fn to_bytes(&self, source: Source<'_, 'a>) -> Result<Bytes> {
        match source {
            Source::Front(bytes) => Ok(bytes.clone()),
            Source::Zeros(bytes) => Ok(Bytes::from_static(bytes)),
            Source::Piece(piece, segment) => piece.to_bytes().map_err(|error| self.name_field(error, segment)),
        }
    }

    /// Hands the bytes of a part to `sink`, in order.
    pub(super) fn read(&self, source: Source<'_, 'a>, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        match source {
            Source::Front(bytes) => sink(bytes),
            Source::Zeros(bytes) => sink(bytes),
            Source::Piece(piece, segment) => piece.read(sink).map_err(|error| self.name_field(error, segment)),
        }
    }
}

fn zeros<'p, 'a: 'p>(len: usize) -> impl Iterator<Item = Source<'p, 'a>> {
    (0..len)
        .step_by(ZEROS.len())
        .map(move |at| Source::Zeros(&ZEROS[..ZEROS.len().min(len - at)]))
}
