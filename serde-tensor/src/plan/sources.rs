//! Where the bytes of a message lie, in its order.

use std::borrow::Cow;
use std::iter;

use super::Plan;
use super::segment::{Piece, Segment};
use crate::error::Result;

/// Zeros for the gaps between segments.
static ZEROS: [u8; 4096] = [0; 4096];

/// A part of a message.
#[derive(Clone, Copy)]
pub(crate) enum Source<'p, 'a> {
    /// On the host.
    Bytes(&'p [u8]),
    /// On a device.
    Copied(&'p Piece<'a>, &'p Segment<'a>),
}

impl<'a> Plan<'a> {
    /// The parts of the message, in order.
    pub(crate) fn sources<'p>(&'p self) -> Box<dyn Iterator<Item = Source<'p, 'a>> + 'p> {
        let mut end = self.front.len();
        let segments = self.segments.iter().flat_map(move |segment| {
            let gap = segment.offset - end;
            end = segment.offset + segment.len;
            let pieces = segment.pieces.iter().map(move |piece| match piece {
                Piece::Borrowed(bytes) => Source::Bytes(bytes),
                Piece::Owned(bytes) => Source::Bytes(bytes),
                Piece::Copied { .. } => Source::Copied(piece, segment),
            });
            zeros(gap).chain(pieces)
        });
        let behind = self
            .segments
            .last()
            .map_or(self.front.len(), |last| last.offset + last.len);
        let front = iter::once(Source::Bytes(&self.front));
        Box::new(front.chain(segments).chain(zeros(self.len - behind)))
    }

    /// The bytes of a part in one piece, copied if it is on a device.
    pub(crate) fn contiguous<'p>(&'p self, source: Source<'p, 'a>) -> Result<Cow<'p, [u8]>> {
        match source {
            Source::Bytes(bytes) => Ok(Cow::Borrowed(bytes)),
            Source::Copied(piece, segment) => {
                let mut copy = Vec::new();
                let read = piece.read(&mut |bytes| {
                    copy.extend_from_slice(bytes);
                    Ok(())
                });
                read.map_err(|error| self.name_field(error, segment))?;
                Ok(Cow::Owned(copy))
            }
        }
    }
}

fn zeros<'p, 'a: 'p>(len: usize) -> impl Iterator<Item = Source<'p, 'a>> {
    (0..len)
        .step_by(ZEROS.len())
        .map(move |at| Source::Bytes(&ZEROS[..ZEROS.len().min(len - at)]))
}
