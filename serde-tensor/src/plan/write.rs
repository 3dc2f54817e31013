//! Writing a plan: vectored, so that tensors go from where they are to where the writer puts them.

use std::io::{self, IoSlice, Write};

use super::Plan;
use super::segment::Segment;
use crate::error::{Category, Error, Result};
use crate::wire::path;

/// How many slices are handed to the writer at once; systems take at least 16, Linux 1024.
pub(super) const BATCH: usize = 256;

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
        let mut batch = Batch::new(writer, 2 + 2 * self.segments.len());
        for source in self.sources() {
            match source.lent() {
                Some(bytes) => batch.push(bytes)?,
                None => {
                    batch.flush()?;
                    let writer = &mut batch.writer;
                    self.read(source, &mut |bytes| writer.write_all(bytes).map_err(Error::from))?;
                }
            }
        }
        batch.finish()
    }

    /// Copies the message to the front of `slice`, such as shared memory or a place in a ring buffer. What lies behind
    /// [`len`](Self::len) is left as it is.
    ///
    /// Tensors that are decoded from there want it at a multiple of the alignment of segments, 64 bytes if no other was
    /// [asked for](crate::Encoder::align); elsewhere they are copied.
    ///
    /// ```
    /// use serde_tensor::{Plan, Tensor};
    ///
    /// let tensor = Tensor::from_vec(vec![0.5f32; 1000], &[1000])?;
    /// let plan = Plan::new(&tensor)?;
    /// let mut memory = [0; 8192];
    /// plan.copy_to_slice(&mut memory)?;
    /// assert_eq!(serde_tensor::from_slice::<Tensor>(&memory[..plan.len()])?, tensor);
    /// # Ok::<(), serde_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `Limit` when `slice` is too short, which says both lengths and leaves it as it is; `Backend` when a copy from a device fails.
    pub fn copy_to_slice(&self, slice: &mut [u8]) -> Result<()> {
        let given = slice.len();
        let mut rest = slice.get_mut(..self.len).ok_or_else(|| {
            Error::limit(format!(
                "a message of {} bytes does not fit a slice of {given}",
                self.len
            ))
        })?;
        for source in self.sources() {
            self.read(source, &mut |bytes| {
                let (place, behind) = std::mem::take(&mut rest)
                    .split_at_mut_checked(bytes.len())
                    .ok_or_else(|| Error::backend("a tensor gives more bytes than were planned"))?;
                place.copy_from_slice(bytes);
                rest = behind;
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The parts of the message where they are, for writers of other kinds; `None` if some cannot be lent, as those on a device.
    ///
    /// There may be more of them than a system takes at once.
    pub fn io_slices(&self) -> Option<Vec<IoSlice<'_>>> {
        let lent = self.sources().map(|source| source.lent().map(IoSlice::new));
        lent.filter(|slice| slice.as_ref().is_none_or(|slice| !slice.is_empty()))
            .collect()
    }

    /// Checks, by their numbers, the segments with bytes that cannot be lent: those were read for their checksum when the plan was made, and
    /// again when they were written.
    pub(crate) fn check_read_twice(&self, check: impl Fn(u64) -> Result<()>) -> Result<()> {
        (0..).zip(&self.segments).try_for_each(|(index, segment)| {
            match segment.pieces.iter().all(|piece| piece.lent().is_some()) {
                true => Ok(()),
                false => check(index).map_err(|error| self.name_field(error, segment)),
            }
        })
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
pub(super) struct Batch<'s, W> {
    writer: W,
    slices: Vec<IoSlice<'s>>,
}

impl<'s, W: Write> Batch<'s, W> {
    /// For about `expected` slices.
    pub(super) fn new(writer: W, expected: usize) -> Self {
        Self {
            writer,
            slices: Vec::with_capacity(BATCH.min(expected)),
        }
    }

    pub(super) fn push(&mut self, bytes: &'s [u8]) -> Result<()> {
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

    pub(super) fn finish(mut self) -> Result<()> {
        self.flush()?;
        self.writer.flush()?;
        Ok(())
    }
}
