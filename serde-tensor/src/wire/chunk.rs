//! The header of a chunk: a piece of a message, for transports that limit the size of what they carry.

use crate::error::{Error, Result};

const MAGIC: [u8; 4] = *b"\xC1STC";
const VERSION: u8 = 1;

/// The length of the header in bytes.
pub(crate) const HEADER_LEN: usize = 40;

/// Which piece of which message a chunk holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkHeader {
    pub(crate) message: u64,
    pub(crate) message_len: u64,
    pub(crate) offset: u64,
    pub(crate) len: u32,
    /// CRC-32C of the piece.
    pub(crate) checksum: u32,
}

impl ChunkHeader {
    pub(crate) fn write(&self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4] = VERSION;
        bytes[8..16].copy_from_slice(&self.message.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.message_len.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.offset.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.len.to_le_bytes());
        bytes[36..].copy_from_slice(&self.checksum.to_le_bytes());
        bytes
    }

    /// Reads a header; the piece lies inside the message.
    pub(crate) fn read(bytes: &[u8; HEADER_LEN]) -> Result<Self> {
        if bytes[..4] != MAGIC {
            return Err(Error::syntax("a chunk starts with C1 53 54 43").at(0));
        }
        if bytes[4] != VERSION {
            return Err(Error::syntax(format!("unknown chunk version {}", bytes[4])).at(4));
        }
        if bytes[5..8] != [0; 3] {
            return Err(Error::syntax("a reserved byte of a chunk is not zero").at(5));
        }
        let header = Self {
            message: u64::from_le_bytes(array(bytes, 8)),
            message_len: u64::from_le_bytes(array(bytes, 16)),
            offset: u64::from_le_bytes(array(bytes, 24)),
            len: u32::from_le_bytes(array(bytes, 32)),
            checksum: u32::from_le_bytes(array(bytes, 36)),
        };
        let end = header.offset.checked_add(header.len.into());
        if end.is_none_or(|end| end > header.message_len) {
            return Err(Error::syntax(format!(
                "a piece of {} bytes at {} of a message of {}",
                header.len, header.offset, header.message_len
            ))
            .at(24));
        }
        Ok(header)
    }
}

/// `N` bytes at a constant offset.
fn array<const N: usize>(bytes: &[u8; HEADER_LEN], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[at..at + N]);
    out
}
