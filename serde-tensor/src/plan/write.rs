//! Writing a plan: vectored, so that tensors go from where they are to where the writer puts them.

use std::io::{self, IoSlice, Write};

use super::Plan;
use super::segment::Segment;
use super::sources::Source;
use crate::error::{Category, Error, Result};
use crate::wire::path;

/// How many slices are handed to the writer at once; systems take at least 16, Linux 1024.
const BATCH: usize = 256;

impl Plan<'_> {
    /// Writes the message.
    ///
    /// Bytes on the host are handed to the writer where they are. Those on a device are copied to the host piece by piece, so
    /// the memory that is needed does not grow with the tensors.
    ///
    /// # Errors
    ///
    /// `Io` when the writer fails or takes nothing, `Backend` when a copy from a device fails. What was written until then is a part of
    /// a message.
    pub fn write_to(&self, writer: impl Write) -> Result<()> {
        let mut batch = Batch {
            writer,
            slices: Vec::with_capacity(BATCH.min(2 + 2 * self.segments.len())),
        };
        for source in self.sources() {
            match source {
                Source::Bytes(bytes) => batch.push(bytes)?,
                Source::Copied(piece, segment) => {
                    batch.flush()?;
                    let writer = &mut batch.writer;
                    let written = piece.read(&mut |bytes| writer.write_all(bytes).map_err(Error::from));
                    written.map_err(|error| self.name_field(error, segment))?;
                }
            }
        }
        batch.flush()?;
        batch.writer.flush()?;
        Ok(())
    }

    /// The error with the path of the tensor that a segment is of, unless the writer met it.
    pub(super) fn name_field(&self, error: Error, segment: &Segment<'_>) -> Error {
        if error.category() == Category::Io {
            return error;
        }
        let body = &self.front[self.body.clone()];
        error.within(|| path::locate(body, segment.named_at).0)
    }
}

/// Slices that wait to be written together.
struct Batch<'s, W> {
    writer: W,
    slices: Vec<IoSlice<'s>>,
}

impl<'s, W: Write> Batch<'s, W> {
    fn push(&mut self, bytes: &'s [u8]) -> Result<()> {
        if !bytes.is_empty() {
            self.slices.push(IoSlice::new(bytes));
        }
        if self.slices.len() == BATCH {
            self.flush()
        } else {
            Ok(())
        }
    }

    fn flush(&mut self) -> Result<()> {
        let mut left = self.slices.as_mut_slice();
        while !left.is_empty() {
            match self.writer.write_vectored(left) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero).into()),
                Ok(written) => IoSlice::advance_slices(&mut left, written),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.slices.clear();
        Ok(())
    }
}
