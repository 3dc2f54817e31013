//! Decoding from a reader: one aligned buffer, which tensors share.

use std::io::{self, Read};
use std::iter;

use bytes::Bytes;
use serde::de::DeserializeOwned;

use super::incoming::{Incoming, Start};
use crate::decoder::Decoder;
use crate::device::Report;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::wire::frame::{ALIGN_RANGE, Header, MAGIC};
use crate::wire::pages::expect_filling;
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
    let mut buffer = Vec::new();
    read_plain_into(&mut buffer, first, reader, limits)?;
    Ok(buffer.into())
}

pub(super) fn read_plain_into(buffer: &mut Vec<u8>, first: u8, reader: impl Read, limits: &Limits) -> Result<()> {
    buffer.clear();
    buffer.push(first);
    // One more than allowed, to see whether there is more.
    reader.take(limits.message).read_to_end(buffer)?;
    check_limit(to_u64(buffer.len()), " or more", limits)
}

/// Reads the rest of a frame into a buffer in which its segments are aligned as the frame says.
fn read_frame(first: u8, mut reader: impl Read, limits: &Limits) -> Result<Bytes> {
    let (start, header) = read_header(first, &mut reader)?;
    let mut frame = Incoming::open(&header, &start, limits)?;
    frame.fill(reader)?;
    frame.take()
}

/// Reads what follows the first byte of a frame's header.
pub(super) fn read_header(first: u8, reader: &mut impl Read) -> Result<(Start, Header)> {
    let mut start = Start::new();
    start.room()[0] = first;
    start.advance(1)?;
    loop {
        match reader.read(start.room()) {
            Ok(0) => return Err(start.ended()),
            Ok(read) => {
                if let Some(header) = start.advance(read)? {
                    return Ok((start, header));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// The frame behind `gap` bytes of `buffer`, moved if the buffer was, as it grew, to where that does not align it.
pub(super) fn aligned_frame(buffer: Vec<u8>, old_gap: usize, align: usize) -> Result<Bytes> {
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
    expect_filling(&mut buffer);
    let gap = gap(&buffer, align);
    buffer.resize(gap, 0);
    parts.for_each(|part| buffer.extend_from_slice(part));
    Ok(Bytes::from(buffer).slice(gap..))
}

/// How many bytes lie before the first multiple of `align` in a buffer.
pub(crate) fn gap(buffer: &[u8], align: usize) -> usize {
    let address = buffer.as_ptr().addr();
    address.next_multiple_of(align) - address
}

/// Checks how long a frame says it is, or how much of a plain message was read.
pub(super) fn check_limit(len: u64, what: &str, limits: &Limits) -> Result<()> {
    if len <= limits.message {
        return Ok(());
    }
    Err(Error::limit(format!(
        "a message of {len} bytes{what}, above the limit of {}",
        limits.message
    )))
}
