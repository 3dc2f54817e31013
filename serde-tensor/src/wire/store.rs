//! A frame whose segments are somewhere else than in memory, as in a file.

use std::fmt::Debug;

use bytes::Bytes;

use super::frame::Entry;
use crate::error::Result;

/// Where a frame's segments are.
pub(crate) trait Store: Debug + Send + Sync {
    /// A segment's row of the table.
    fn entry(&self, index: u64) -> Result<Entry>;

    /// A segment, held against its checksum, in memory that is aligned as the frame says.
    fn segment(&self, index: u64) -> Result<Bytes>;

    /// A part of a segment, which is inside it. Held against the checksum, if it was not before.
    fn part(&self, index: u64, offset: usize, len: usize) -> Result<Bytes>;

    /// Holds a segment against its checksum, if it was not before, without keeping it.
    fn check(&self, index: u64) -> Result<()>;

    /// Copies a part of a segment, which is inside it, as it is.
    fn copy(&self, index: u64, offset: usize, out: &mut [u8]) -> Result<()>;
}
