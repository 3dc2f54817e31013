//! Messages cut into chunks, for transports that limit the size of what they carry.

use std::borrow::Cow;
use std::hash::{BuildHasher as _, RandomState};

use crate::error::{Error, Result};
use crate::plan::{Plan, Source};
use crate::wire::checksum::crc32c;
use crate::wire::chunk::{ChunkHeader, HEADER_LEN};
use crate::wire::to_u64;

impl<'a> Plan<'a> {
    /// The message in chunks of at most `max` bytes, each with a header of 40 of them; a [`Reassembler`](crate::Reassembler) puts them together again.
    ///
    /// Bytes on the host are read where they are; of tensors on a device, one at a time is copied to the host.
    ///
    /// ```
    /// use serde_tensor::{Plan, Reassembler, Tensor};
    ///
    /// let tensor = Tensor::from_vec(vec![0.5f32; 1000], &[1000])?;
    /// let mut reassembler = Reassembler::new();
    /// let mut arrived = None;
    /// for chunk in Plan::new(&tensor)?.chunks(1024)? {
    ///     arrived = reassembler.push(chunk?)?;
    /// }
    /// assert_eq!(serde_tensor::from_bytes::<Tensor>(arrived.unwrap())?, tensor);
    /// # Ok::<(), serde_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If `max` leaves no room for a byte beside the header.
    pub fn chunks(&self, max: usize) -> Result<Chunks<'_, 'a>> {
        if max <= HEADER_LEN {
            return Err(Error::data(format!(
                "chunks of at most {max} bytes, of which the header takes {HEADER_LEN}"
            )));
        }
        Ok(Chunks {
            plan: self,
            // A length is 32 bits wide.
            piece: (max - HEADER_LEN).min(u32::MAX as usize),
            // Random keys are what the standard library has for the purpose; they tell senders apart.
            message: RandomState::new().hash_one(to_u64(self.len())),
            offset: 0,
            sources: self.sources(),
            present: Cow::Borrowed(&[]),
            read: 0,
            failed: false,
        })
    }
}

/// The chunks of a message, in order. Made by [`Plan::chunks`].
pub struct Chunks<'p, 'a> {
    plan: &'p Plan<'a>,
    /// The most bytes of the message in one chunk.
    piece: usize,
    message: u64,
    offset: usize,
    sources: Box<dyn Iterator<Item = Source<'p, 'a>> + 'p>,
    /// The source being read, and how much of it was.
    present: Cow<'p, [u8]>,
    read: usize,
    failed: bool,
}

impl Chunks<'_, '_> {
    /// The id that tells the message's chunks from those of others.
    pub fn message_id(&self) -> u64 {
        self.message
    }

    fn next_chunk(&mut self, len: usize) -> Result<Vec<u8>> {
        let mut chunk = Vec::with_capacity(HEADER_LEN + len);
        chunk.resize(HEADER_LEN, 0);
        while chunk.len() < HEADER_LEN + len {
            let left = &self.present[self.read..];
            let part = left.len().min(HEADER_LEN + len - chunk.len());
            if part > 0 {
                chunk.extend_from_slice(&left[..part]);
                self.read += part;
                continue;
            }
            let next = self
                .sources
                .next()
                .ok_or_else(|| Error::data("a plan that ends early"))?;
            self.present = self.plan.contiguous(next)?;
            self.read = 0;
        }
        let header = ChunkHeader {
            message: self.message,
            message_len: to_u64(self.plan.len()),
            offset: to_u64(self.offset),
            len: u32::try_from(len).map_err(|_| Error::limit("a piece longer than 4 GiB"))?,
            checksum: crc32c(&[&chunk[HEADER_LEN..]]),
        };
        chunk[..HEADER_LEN].copy_from_slice(&header.write());
        self.offset += len;
        Ok(chunk)
    }
}

impl Iterator for Chunks<'_, '_> {
    type Item = Result<Vec<u8>>;

    fn next(&mut self) -> Option<Result<Vec<u8>>> {
        let len = self.piece.min(self.plan.len() - self.offset);
        if len == 0 || self.failed {
            return None;
        }
        let chunk = self.next_chunk(len);
        self.failed = chunk.is_err();
        Some(chunk)
    }
}
