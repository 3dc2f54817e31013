//! A frame that arrives in pieces, in the buffer that it will be decoded from.

use std::io::Read;
use std::mem;
use std::ops::Range;

use bytes::Bytes;

use super::reader::{aligned_frame, check_limit, gap};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::wire::frame::{HEADER_LEN, Header, MAGIC};
use crate::wire::pages::expect_filling;
use crate::wire::to_u64;

/// The start of a frame, up to the end of its header.
#[derive(Debug)]
pub(super) struct Start {
    bytes: [u8; HEADER_LEN],
    there: usize,
}

impl Start {
    pub(super) fn new() -> Self {
        Self {
            bytes: [0; HEADER_LEN],
            there: 0,
        }
    }

    /// Whether nothing arrived.
    #[cfg(any(feature = "axum", feature = "tokio"))]
    pub(super) fn is_empty(&self) -> bool {
        self.there == 0
    }

    /// Where the next bytes belong. Empty once the header is whole.
    pub(super) fn room(&mut self) -> &mut [u8] {
        &mut self.bytes[self.there..]
    }

    /// Counts bytes that were put into the room; gives the header once it is whole.
    ///
    /// # Errors
    ///
    /// `Syntax` as soon as they cannot be the start of a frame, so that nobody waits for the rest of one.
    pub(super) fn advance(&mut self, by: usize) -> Result<Option<Header>> {
        self.there += by;
        self.header()
    }

    /// The header, if it is whole.
    ///
    /// # Errors
    ///
    /// As [`advance`](Self::advance), again and again.
    pub(super) fn header(&self) -> Result<Option<Header>> {
        let start = &self.bytes[..self.there];
        match start.first() {
            Some(&first) if first != MAGIC[0] => Err(Error::syntax(format!(
                "a stream's messages are frames, which start with 0xc1, and this one starts with {first:#04x}"
            ))
            .at(0)),
            _ if self.there == HEADER_LEN => Header::read(&self.bytes).map(Some),
            _ => Header::check_start(start).map(|()| None),
        }
    }

    /// The end of the input, where more was expected.
    pub(super) fn ended(&self) -> Error {
        Error::eof(format!(
            "a frame's header takes {HEADER_LEN} bytes, the reader ended after {}",
            self.there
        ))
        .at(to_u64(self.there))
    }
}

/// How many bytes of a frame follow its header.
pub(super) fn behind_header(header: &Header) -> u64 {
    header.frame_len.saturating_sub(to_u64(HEADER_LEN))
}

/// A frame whose length is known, as far as it arrived.
#[derive(Debug)]
pub(super) struct Incoming {
    /// Bytes up to the first multiple of `align`, and then the frame.
    buffer: Vec<u8>,
    gap: usize,
    len: usize,
    align: usize,
    /// Whether the system was told that the room will be filled.
    expected: bool,
}

/// How much of a frame is read before the rest is believed to come: a page that the system gives may be as long.
const BELIEVED: usize = 2 << 20;

impl Incoming {
    /// Makes room for a frame, at most [`Limits::reserve`] of it, and puts its header there.
    ///
    /// # Errors
    ///
    /// `Limit` for a frame that is too long, or longer than the memory.
    pub(super) fn open(header: &Header, start: &Start, limits: &Limits) -> Result<Self> {
        Self::open_in(Vec::new(), header, start, limits)
    }

    /// [`open`](Self::open) in the memory of `buffer`, whose content is lost.
    pub(super) fn open_in(mut buffer: Vec<u8>, header: &Header, start: &Start, limits: &Limits) -> Result<Self> {
        check_limit(header.frame_len, "", limits)?;
        let len = usize::try_from(header.frame_len)
            .map_err(|_| Error::limit("a frame that exceeds the address space").at(8))?;
        let align = 1usize << header.align;
        buffer.clear();
        let wanted = len.saturating_add(align);
        if buffer.try_reserve_exact(wanted.min(limits.reserve)).is_err() {
            return Err(no_memory(len));
        }
        let gap = gap(&buffer, align);
        buffer.resize(gap, 0);
        buffer.extend_from_slice(&start.bytes);
        Ok(Self {
            buffer,
            gap,
            len,
            align,
            expected: false,
        })
    }

    /// How many bytes are there.
    pub(super) fn arrived(&self) -> usize {
        self.buffer.len().saturating_sub(self.gap)
    }

    /// How many bytes are missing.
    pub(super) fn missing(&self) -> usize {
        self.len.saturating_sub(self.arrived())
    }

    /// Tells the system that the rest will come, once enough is there that this is more than a claim. Not where the buffer has yet to
    /// grow: large pages are not moved as easily as small ones.
    fn expect_rest(&mut self) {
        let whole = self.buffer.capacity() >= self.gap + self.len;
        if !self.expected && whole && self.arrived() >= BELIEVED {
            self.expected = true;
            expect_filling(&mut self.buffer);
        }
    }

    /// The buffer, to be appended to: no more than is [missing](Self::missing).
    #[cfg(feature = "tokio")]
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Reads what is missing, up to the end of the reader.
    ///
    /// # Errors
    ///
    /// `Io`, and as [`grow`](Self::grow).
    pub(super) fn fill(&mut self, mut reader: impl Read) -> Result<()> {
        while self.missing() > 0 {
            self.grow(1)?;
            // Within the room there is: where `read_to_end` finds no memory for more, it aborts.
            let mut room = self.missing().min(self.buffer.capacity() - self.buffer.len());
            if self.arrived() < BELIEVED {
                room = room.min(BELIEVED);
            }
            if reader.by_ref().take(to_u64(room)).read_to_end(&mut self.buffer)? < room {
                break;
            }
        }
        Ok(())
    }

    /// Makes room for `more` bytes, or for as many again as there are, but for no more than are missing.
    ///
    /// # Errors
    ///
    /// `Limit` where the memory ends. What is missing is then passed over, for the next message.
    pub(super) fn grow(&mut self, more: usize) -> Result<()> {
        self.expect_rest();
        if self.buffer.capacity() - self.buffer.len() >= more {
            return Ok(());
        }
        let more = self.buffer.len().max(more).min(self.missing());
        self.buffer.try_reserve_exact(more).map_err(|_| no_memory(self.len))
    }

    /// Appends bytes: no more than are missing.
    #[cfg(any(feature = "axum", feature = "tokio"))]
    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.grow(bytes.len())?;
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// Takes the frame out, all of it there.
    ///
    /// # Errors
    ///
    /// `Eof` if it is not.
    pub(super) fn take(&mut self) -> Result<Bytes> {
        self.check_whole()?;
        aligned_frame(mem::take(&mut self.buffer), self.gap, self.align)
    }

    /// The buffer, and where in it the frame is, all of it there and moved to where it is aligned.
    ///
    /// # Errors
    ///
    /// As [`take`](Self::take).
    pub(super) fn finish_in(mut self) -> Result<(Vec<u8>, Range<usize>)> {
        self.check_whole()?;
        if gap(&self.buffer, self.align) != self.gap {
            // It grew, and was moved. With room for any gap it stays where it is.
            self.buffer
                .try_reserve_exact(self.align)
                .map_err(|_| no_memory(self.len))?;
            let to = gap(&self.buffer, self.align);
            self.buffer.resize(self.gap.max(to) + self.len, 0);
            self.buffer.copy_within(self.gap..self.gap + self.len, to);
            self.gap = to;
        }
        Ok((self.buffer, self.gap..self.gap + self.len))
    }

    /// The buffer, whatever is in it.
    pub(super) fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }

    /// Whether the frame is all there, or an `Eof` error.
    pub(super) fn check_whole(&self) -> Result<()> {
        match self.missing() {
            0 => Ok(()),
            _ => Err(self.ended()),
        }
    }

    /// The end of the input, where more was expected.
    pub(super) fn ended(&self) -> Error {
        let arrived = self.arrived();
        Error::eof(format!(
            "the frame has {} bytes, the reader ended after {arrived}",
            self.len
        ))
        .at(to_u64(arrived))
    }
}

/// The end of the input, where so many bytes of a message that was too long were left.
pub(super) fn ended_passing_over(left: u64) -> Error {
    Error::eof(format!(
        "the reader ended {left} bytes before the end of a message above the limit"
    ))
}

#[cold]
fn no_memory(len: usize) -> Error {
    Error::limit(format!("no memory for a frame of {len} bytes")).at(8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Encoder, Tensor};

    /// The start of a frame of 8 MiB, and what is behind its header.
    fn frame() -> (Start, Header, Vec<u8>) {
        let tensor = Tensor::from_vec(vec![7u8; 8 << 20], &[8 << 20]).unwrap();
        let message = Encoder::new().to_vec(&tensor).unwrap();
        let mut start = Start::new();
        start.room().copy_from_slice(&message[..HEADER_LEN]);
        let header = start.advance(HEADER_LEN).unwrap().unwrap();
        (start, header, message[HEADER_LEN..].to_vec())
    }

    #[test]
    fn the_system_hears_of_a_rest_that_is_more_than_a_claim() {
        let (start, header, rest) = frame();
        for (there, expected) in [(0, false), (BELIEVED / 2, false), (BELIEVED, true), (rest.len(), true)] {
            let mut frame = Incoming::open(&header, &start, &Limits::default()).unwrap();
            frame.fill(&rest[..there]).unwrap();
            assert_eq!((frame.expected, frame.arrived()), (expected, HEADER_LEN + there));
        }
    }

    #[test]
    fn a_buffer_that_has_to_grow_is_not_asked_for_in_large_pages() {
        let (start, header, rest) = frame();
        let mut frame = Incoming::open(&header, &start, &Limits::default().reserve(3 << 20)).unwrap();
        frame.fill(&rest[..BELIEVED]).unwrap();
        assert!(!frame.expected);
        frame.fill(&rest[BELIEVED..]).unwrap();
        assert_eq!(frame.take().unwrap()[HEADER_LEN..], rest);
    }
}
