//! A segment of a plan: the pieces of memory its bytes are in.

use smallvec::SmallVec;

use crate::backend::{HostBytes, Source};
use crate::error::{Error, Result};
use crate::wire::checksum;

/// Bytes that travel as one segment.
pub(crate) struct Segment<'a> {
    /// In the message.
    pub(super) offset: usize,
    pub(super) len: usize,
    /// Where in the body a tensor first names it.
    pub(super) named_at: usize,
    pub(super) pieces: SmallVec<[Piece<'a>; 1]>,
}

/// A part of a segment that lies in one place.
pub(crate) enum Piece<'a> {
    Borrowed(&'a [u8]),
    Owned(Vec<u8>),
    /// The bytes behind the first `skip` of the `len` that a tensor copies from its device.
    Copied {
        bytes: HostBytes<'a>,
        len: usize,
        skip: usize,
    },
}

impl Segment<'_> {
    pub(super) fn new(len: usize) -> Self {
        Self {
            offset: 0,
            len,
            named_at: 0,
            pieces: SmallVec::new(),
        }
    }

    /// How many of its bytes the plan holds itself.
    pub(super) fn copied(&self) -> usize {
        let held = |piece: &Piece<'_>| match piece {
            Piece::Owned(bytes) => bytes.len(),
            Piece::Borrowed(_) | Piece::Copied { .. } => 0,
        };
        self.pieces.iter().map(held).sum()
    }

    pub(super) fn checksum(&self) -> Result<u32> {
        let mut sum = 0;
        for piece in &self.pieces {
            piece.read(&mut |bytes| {
                sum = checksum::append(sum, bytes);
                Ok(())
            })?;
        }
        Ok(sum)
    }
}

impl<'a> Piece<'a> {
    /// The bytes of a tensor of `len` behind the first `skip`.
    pub(super) fn of(bytes: HostBytes<'a>, len: usize, skip: usize, snapshot: bool) -> Result<Self> {
        if let Source::Borrowed(borrowed) = bytes.0 {
            if borrowed.len() != len {
                return Err(Error::backend(format!(
                    "the tensor's library lends {} bytes, its dtype, shape and strides ask for {len}",
                    borrowed.len()
                )));
            }
            return Ok(if snapshot {
                Self::Owned(borrowed[skip..].to_vec())
            } else {
                Self::Borrowed(&borrowed[skip..])
            });
        }
        if snapshot {
            let mut copy = bytes.to_contiguous(len)?.into_owned();
            copy.drain(..skip);
            return Ok(Self::Owned(copy));
        }
        Ok(Self::Copied { bytes, len, skip })
    }

    /// Hands the bytes to `sink`, in order.
    pub(super) fn read(&self, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        match self {
            Self::Borrowed(bytes) => sink(bytes),
            Self::Owned(bytes) => sink(bytes),
            Self::Copied { bytes, len, skip } => {
                let mut skip = *skip;
                bytes.read(*len, &mut |piece| {
                    let skipped = skip.min(piece.len());
                    skip -= skipped;
                    sink(&piece[skipped..])
                })
            }
        }
    }
}
