//! The bytes on the wire: MessagePack, tensor descriptors, frames. Knows nothing of serde.
//!
//! `docs/spec/` is the reference; the numbers in comments are its sections.

pub(crate) mod buffer;
pub(crate) mod checksum;
pub(crate) mod chunk;
pub(crate) mod descriptor;
pub(crate) mod frame;
pub(crate) mod front;
pub(crate) mod pages;
pub(crate) mod path;
pub(crate) mod read;
pub(crate) mod rest;
pub(crate) mod store;
pub(crate) mod tensors;
mod text;
pub(crate) mod varint;
pub(crate) mod write;

/// MessagePack extension types of this format.
pub(crate) mod ext {
    /// A value that would read as nothing, kept as something: `Some(None)`, `Some(())`.
    pub(crate) const SOME: u8 = 0x53;
    /// A tensor.
    pub(crate) const TENSOR: u8 = 0x54;
    /// An `i128` outside the 64-bit range, 16 bytes big-endian.
    pub(crate) const I128: u8 = 0x49;
    /// A `u128` outside the 64-bit range, 16 bytes big-endian.
    pub(crate) const U128: u8 = 0x55;

    /// Whether a type is one of these.
    pub(crate) fn is_own(tag: u8) -> bool {
        matches!(tag, SOME | TENSOR | I128 | U128)
    }
}

/// The nil byte, which `Option` shares with `()`.
pub(crate) const NIL: u8 = 0xc0;

/// A `usize` on the wire. Every host has at most 64-bit addresses.
pub(crate) fn to_u64(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
