//! Writing a plan: vectored, so that tensors go from where they are to where the writer puts them.

use std::io::{self, IoSlice, Write};

use super::Plan;
use super::segment::{Piece, Segment};
use crate::error::{Category, Error, Result};
use crate::wire::path;

/// Zeros for the gaps between segments.
const ZEROS: [u8; 4096] = [0; 4096];

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
        batch.push(&self.front)?;
        let mut position = self.front.len();
        for segment in &self.segments {
            batch.zeros(segment.offset - position)?;
            for piece in &segment.pieces {
                match piece {
                    Piece::Borrowed(bytes) => batch.push(bytes)?,
                    Piece::Owned(bytes) => batch.push(bytes)?,
                    Piece::Copied { .. } => {
                        batch.flush()?;
                        let writer = &mut batch.writer;
                        let written = piece.read(&mut |bytes| writer.write_all(bytes).map_err(Error::from));
                        written.map_err(|error| self.name_field(error, segment))?;
                    }
                }
            }
            position = segment.offset + segment.len;
        }
        batch.zeros(self.len - position)?;
        batch.flush()?;
        batch.writer.flush()?;
        Ok(())
    }
}

impl Plan<'_> {
    /// The error with the path of the tensor that a segment is of, unless the writer met it.
    fn name_field(&self, error: Error, segment: &Segment<'_>) -> Error {
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

    fn zeros(&mut self, mut len: usize) -> Result<()> {
        while len > 0 {
            let part = len.min(ZEROS.len());
            self.push(&ZEROS[..part])?;
            len -= part;
        }
        Ok(())
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
