//! Decoding from a reader: one aligned buffer, which tensors share.

use std::io::{self, Read};
use std::iter;

use bytes::Bytes;
use serde::de::DeserializeOwned;

use crate::decoder::Decoder;
use crate::device::Report;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::wire::frame::{ALIGN_RANGE, HEADER_LEN, Header, MAGIC};
use crate::wire::to_u64;

impl Decoder {
    /// Reads and decodes a value: exactly one frame, or a plain message to the end of the reader. Tensors share the buffer that
    /// it was read into.
    ///
    /// # Errors
    ///
    /// See [`Category`](crate::Category); `Eof` when the reader ends early, `Io` when it fails.
    pub fn from_reader<R: Read, T: DeserializeOwned>(&self, reader: R) -> Result<T> {
        self.from_bytes(read_message(reader, &self.options().limits)?)
    }

    /// [`from_reader`](Self::from_reader), and what was decided for each tensor.
    ///
    /// # Errors
    ///
    /// As [`from_reader`](Self::from_reader).
    pub fn from_reader_with_report<R: Read, T: DeserializeOwned>(&self, reader: R) -> Result<(T, Report)> {
        self.from_bytes_with_report(read_message(reader, &self.options().limits)?)
    }
}

/// Reads one message.
fn read_message(mut reader: impl Read, limits: &Limits) -> Result<Bytes> {
    match first_byte(&mut reader)? {
        None => Err(Error::eof("the message is empty").at(0)),
        Some(first) if first == MAGIC[0] => read_frame(first, reader, limits),
        Some(first) => read_plain(first, reader, limits),
    }
}

/// The first byte of whatever comes next; `None` if nothing does.
pub(super) fn first_byte(reader: &mut impl Read) -> Result<Option<u8>> {
    let mut byte = [0];
    loop {
        match reader.read(&mut byte) {
            Ok(0) => return Ok(None),
            Ok(_) => return Ok(Some(byte[0])),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn read_plain(first: u8, reader: impl Read, limits: &Limits) -> Result<Bytes> {
    let mut buffer = vec![first];
    // One more than allowed, to see whether there is more.
    reader.take(limits.message).read_to_end(&mut buffer)?;
    check_limit(to_u64(buffer.len()), limits)?;
    Ok(buffer.into())
}

/// Reads the rest of a frame into a buffer in which its segments are aligned as the frame says.
pub(super) fn read_frame(first: u8, mut reader: impl Read, limits: &Limits) -> Result<Bytes> {
    let mut start = [0; HEADER_LEN];
    start[0] = first;
    let read = read_up_to(&mut reader, &mut start[1..])?;
    if read < HEADER_LEN - 1 {
        return Err(Error::eof(format!(
            "a frame's header takes {HEADER_LEN} bytes, the reader ended after {}",
            1 + read
        ))
        .at(to_u64(1 + read)));
    }
    let header = Header::read(&start)?;
    check_limit(header.frame_len, limits)?;
    let len =
        usize::try_from(header.frame_len).map_err(|_| Error::limit("a frame that exceeds the address space").at(8))?;
    let align = 1usize << header.align;

    let mut buffer = Vec::new();
    let wanted = len.saturating_add(align);
    if buffer.try_reserve_exact(wanted.min(limits.reserve)).is_err() {
        return Err(Error::limit(format!("no memory for a frame of {len} bytes")).at(8));
    }
    let gap = gap(&buffer, align);
    buffer.resize(gap, 0);
    buffer.extend_from_slice(&start);
    let left = len.saturating_sub(HEADER_LEN);
    reader.take(to_u64(left)).read_to_end(&mut buffer)?;
    let there = buffer.len() - gap;
    if there < len {
        return Err(Error::eof(format!("the frame has {len} bytes, the reader ended after {there}")).at(to_u64(there)));
    }
    aligned_frame(buffer, gap, align)
}

/// The frame behind `gap` bytes of `buffer`, moved if the buffer was, as it grew, to where that does not align it.
fn aligned_frame(buffer: Vec<u8>, old_gap: usize, align: usize) -> Result<Bytes> {
    if gap(&buffer, align) == old_gap {
        return Ok(Bytes::from(buffer).slice(old_gap..));
    }
    let frame = &buffer[old_gap..];
    aligned(frame.len(), iter::once(frame), align)
}

/// Parts of a message of `len` bytes in one buffer, in which its segments are aligned as it says.
pub(super) fn join<'p>(len: usize, parts: impl Iterator<Item = &'p [u8]> + Clone) -> Result<Bytes> {
    let mut bytes = parts.clone().flatten();
    let is_frame = bytes.next() == Some(&MAGIC[0]);
    let align = bytes.nth(5).filter(|align| is_frame && ALIGN_RANGE.contains(align));
    aligned(len, parts, 1 << align.unwrap_or(ALIGN_RANGE.start()))
}

fn aligned<'p>(len: usize, parts: impl Iterator<Item = &'p [u8]>, align: usize) -> Result<Bytes> {
    let mut buffer = Vec::new();
    buffer
        .try_reserve_exact(len.saturating_add(align))
        .map_err(|_| Error::limit(format!("no memory for a message of {len} bytes")))?;
    let gap = gap(&buffer, align);
    buffer.resize(gap, 0);
    parts.for_each(|part| buffer.extend_from_slice(part));
    Ok(Bytes::from(buffer).slice(gap..))
}

/// How many bytes lie before the first multiple of `align` in a buffer.
fn gap(buffer: &[u8], align: usize) -> usize {
    let address = buffer.as_ptr().addr();
    address.next_multiple_of(align) - address
}

/// Fills `buffer` as far as the reader goes.
fn read_up_to(reader: &mut impl Read, buffer: &mut [u8]) -> Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(filled)
}

fn check_limit(len: u64, limits: &Limits) -> Result<()> {
    if len <= limits.message {
        return Ok(());
    }
    Err(Error::limit(format!(
        "a message of {len} bytes or more, above the limit of {}",
        limits.message
    )))
}
