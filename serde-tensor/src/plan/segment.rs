//! A segment of a plan: the pieces of memory its bytes are in.

#[cfg(unix)]
use std::ptr::NonNull;

use bytes::Bytes;
use smallvec::SmallVec;

use crate::backend::{HostBytes, Source};
use crate::error::{Error, Result};
use crate::ser::Options;
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
    /// The bytes behind the first `skip`.
    Shared {
        bytes: &'a Bytes,
        skip: usize,
    },
    Owned(Bytes),
    /// The bytes behind the first `skip` of the `len` that a tensor gives, which are not lent.
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
            Piece::Borrowed(_) | Piece::Shared { .. } | Piece::Copied { .. } => 0,
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
    pub(super) fn of(bytes: HostBytes<'a>, len: usize, skip: usize, options: &Options) -> Result<Self> {
        let Some(lent) = bytes.lent(len, options.unmodified)? else {
            if options.snapshot {
                let copy = Bytes::from(bytes.to_contiguous(len)?.into_owned());
                return Ok(Self::Owned(copy.slice(skip..)));
            }
            return Ok(Self::Copied { bytes, len, skip });
        };
        Ok(match bytes.0 {
            _ if options.snapshot => Self::Owned(Bytes::copy_from_slice(&lent[skip..])),
            Source::Shared(bytes) => Self::Shared { bytes, skip },
            _ => Self::Borrowed(&lent[skip..]),
        })
    }

    /// How many bytes there are.
    #[cfg(unix)]
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Borrowed(bytes) => bytes.len(),
            Self::Shared { bytes, skip } => bytes.len() - skip,
            Self::Owned(bytes) => bytes.len(),
            Self::Copied { len, skip, .. } => len - skip,
        }
    }

    /// The bytes where they are, if they may be lent.
    pub(crate) fn lent(&self) -> Option<&[u8]> {
        match self {
            Self::Borrowed(bytes) => Some(bytes),
            Self::Shared { bytes, skip } => Some(&bytes[*skip..]),
            Self::Owned(bytes) => Some(bytes),
            Self::Copied { .. } => None,
        }
    }

    /// Where the bytes are at present, if they have an address on the host and are not lent.
    #[cfg(unix)]
    pub(super) fn address(&self) -> Option<NonNull<[u8]>> {
        match self {
            Self::Copied { bytes, len, skip } => {
                let range = bytes.address(*len)?;
                // Inside of a range of memory, which does not wrap.
                let start = range.cast::<u8>().map_addr(|first| first.saturating_add(*skip));
                Some(NonNull::slice_from_raw_parts(start, len - skip))
            }
            Self::Borrowed(_) | Self::Shared { .. } | Self::Owned(_) => None,
        }
    }

    /// The bytes, shared where they can be and copied otherwise.
    pub(super) fn to_bytes(&self) -> Result<Bytes> {
        match self {
            Self::Borrowed(bytes) => Ok(Bytes::copy_from_slice(bytes)),
            Self::Shared { bytes, skip } => Ok(bytes.slice(*skip..)),
            Self::Owned(bytes) => Ok(bytes.clone()),
            Self::Copied { len, skip, .. } => {
                let mut copy = Vec::new();
                copy.try_reserve_exact(len - skip)
                    .map_err(|_| Error::limit(format!("no memory for a host copy of {len} bytes")))?;
                self.read(&mut |piece| {
                    copy.extend_from_slice(piece);
                    Ok(())
                })?;
                Ok(Bytes::from(copy))
            }
        }
    }

    /// Hands the bytes to `sink`, in order.
    pub(super) fn read(&self, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let (bytes, len, mut skip) = match self {
            Self::Borrowed(bytes) => return sink(bytes),
            Self::Shared { bytes, skip } => return sink(&bytes[*skip..]),
            Self::Owned(bytes) => return sink(bytes),
            Self::Copied { bytes, len, skip } => (bytes, *len, *skip),
        };
        bytes.read(len, &mut |piece| {
            let skipped = skip.min(piece.len());
            skip -= skipped;
            sink(&piece[skipped..])
        })
    }
}
