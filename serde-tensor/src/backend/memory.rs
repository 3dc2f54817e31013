//! Messages in memory of a tensor library's own.

use std::any::Any;

use crate::error::Result;

/// A whole message in memory of a tensor library's own, which its tensors can be made to share.
///
/// [`Decoder::from_memory`](crate::Decoder::from_memory) decodes it. The part that is MessagePack is copied out first, and segments are read only where a
/// type does not [share](super::TensorBackend::shares) the memory, so that no reference into memory is held that a library can write to.
pub trait Memory: Any {
    /// The length of the message in bytes, which does not change.
    fn len(&self) -> usize;

    /// Copies the bytes at an offset, as many as `out` holds. Asked for more than there are it fails.
    fn read(&self, offset: usize, out: &mut [u8]) -> Result<()>;

    /// Whether there is no message.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
