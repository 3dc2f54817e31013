//! Segments written at once: each tensor's bytes go straight to their place in the message, the body follows them.

use std::mem;

use super::ties::Ties;
use crate::backend::KeepAlive;
use crate::call::encode::{self, Forecast, Identity, Storage};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::wire::buffer::Buffer;
use crate::wire::checksum::crc32c;
use crate::wire::frame::{Entry, HEADER_LEN, Header};
use crate::wire::pages::expect_filling;
use crate::wire::to_u64;

/// How much room is made beyond a segment, in bytes.
const MOST_AHEAD: usize = 64 << 10;

/// The data section of a frame being written.
pub(crate) struct SinglePass {
    align: u8,
    checksums: bool,
    /// The message from its header to the end of the data; the body waits elsewhere. Empty before the first segment.
    out: Vec<u8>,
    entries: Vec<Entry>,
    tied: Ties,
}

impl SinglePass {
    pub(super) fn new(align: u8, checksums: bool) -> Self {
        Self {
            align,
            checksums,
            out: Vec::new(),
            entries: Vec::new(),
            tied: Ties::default(),
        }
    }

    /// Whether no segment so far can turn out to hold another tensor's bytes.
    #[inline]
    pub(super) fn ties_nothing(&self) -> bool {
        self.tied.is_empty()
    }

    /// The segment, and the offset in it, that holds a tensor's bytes already.
    #[inline]
    pub(super) fn find(&self, identity: Option<&Identity>, len: usize) -> Option<(u64, u64)> {
        if self.tied.is_empty() || len == 0 {
            return None;
        }
        let identity = identity?;
        self.tied.find(identity.device, identity.place?, len)
    }

    /// Where the next segment's bytes, which are `len`, are to be appended; there is room for them.
    pub(super) fn open(&mut self, body: &mut Buffer, len: usize) -> Result<&mut Vec<u8>> {
        if self.out.is_empty() {
            // The buffer at hand, which may be large and warm, is for the tensors; the body so far moves out.
            let mut so_far = Buffer::default();
            so_far.extend_from_slice(body);
            self.out = mem::replace(body, so_far).into_vec();
            self.out.clear();
            self.reserve(encode::take_forecast(), body.len());
            self.out.resize(HEADER_LEN, 0);
        }
        let room = len.saturating_add(1 << self.align);
        if self.out.capacity() - self.out.len() < room {
            // And some more, so that neither the next small segment nor body and table move the message to other memory.
            let more = room.saturating_add(len.min(MOST_AHEAD));
            self.out.try_reserve(more).map_err(|_| no_memory(len))?;
        }
        pad(&mut self.out, self.align)?;
        let offset = to_u64(self.out.len());
        self.entries.push(Entry {
            offset,
            len: 0,
            checksum: 0,
        });
        Ok(&mut self.out)
    }

    /// Reserves what a value said that it will take; where there is no such memory, it is seen to later.
    fn reserve(&mut self, Forecast { bytes, segments }: Forecast, body: usize) {
        /// What a segment takes in body and table, as a rule, and what else is to come of the body.
        const NAMED: usize = 128;
        const REST: usize = 1024;
        let each = segments.saturating_mul((1 << self.align) + NAMED);
        let all = bytes.saturating_add(each).saturating_add(HEADER_LEN + body + REST);
        if segments > 0 {
            let _ = self.out.try_reserve_exact(all);
            expect_filling(&mut self.out);
        }
    }

    /// Ends the segment that was opened last, now that its `len` bytes are there; returns its index.
    pub(super) fn close(&mut self, len: usize) -> u64 {
        let index = to_u64(self.entries.len() - 1);
        if let Some(entry) = self.entries.last_mut() {
            entry.len = to_u64(len);
            if self.checksums {
                entry.checksum = crc32c(&[&self.out[self.out.len() - len..]]);
            }
        }
        index
    }

    /// Lets other tensors share a segment of `len` bytes: they lie where `owner` keeps them from being replaced by others.
    pub(super) fn tie(&mut self, index: u64, device: Device, storage: Storage, len: usize, owner: Box<dyn KeepAlive>) {
        self.tied.insert(device, storage, len, index, owner);
    }

    /// The whole message around a body.
    pub(super) fn into_message(mut self, mut body: Buffer, framed: bool) -> Result<Vec<u8>> {
        if self.entries.is_empty() {
            if !framed {
                return Ok(body.into_vec());
            }
            self.open(&mut body, 0)?;
            self.entries.clear();
        }
        let mut out = self.out;
        let data_offset = self.entries.first().map_or(to_u64(out.len()), |entry| entry.offset);
        let data_len = to_u64(out.len()) - data_offset;
        let body_offset = to_u64(out.len());
        out.extend_from_slice(&body);
        let table_offset = to_u64(out.len());
        for entry in &self.entries {
            entry.write(&mut out);
        }
        let header = Header {
            checksums: self.checksums,
            align: self.align,
            frame_len: to_u64(out.len()),
            body_offset,
            body_len: to_u64(body.len()),
            table_offset,
            segments: u32::try_from(self.entries.len()).map_err(|_| too_many())?,
            data_offset,
            data_len,
            checksum: 0,
        };
        let table = &out[out.len() - self.entries.len() * crate::wire::frame::ENTRY_LEN..];
        let header = header.write(&body, table);
        out[..HEADER_LEN].copy_from_slice(&header);
        Ok(out)
    }
}

#[cold]
pub(super) fn no_memory(len: usize) -> Error {
    Error::limit(format!("no memory for {len} more bytes of a message"))
}

#[cold]
fn too_many() -> Error {
    Error::limit(format!("a frame holds at most {} segments", u32::MAX))
}

/// Appends zeros up to a multiple of `1 << align`.
fn pad(out: &mut Vec<u8>, align: u8) -> Result<()> {
    let len = out
        .len()
        .checked_next_multiple_of(1 << align)
        .ok_or_else(|| Error::limit("a message longer than the address space"))?;
    out.resize(len, 0);
    Ok(())
}
