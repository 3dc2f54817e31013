//! A message that lies in memory of a tensor library's own.

use std::cell::RefCell;
use std::ops::Range;

use super::addresses;
use crate::backend::Memory;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::wire::checksum;
use crate::wire::descriptor;
use crate::wire::frame::MAGIC;
use crate::wire::front::Front;
use crate::wire::to_u64;

/// How many bytes are looked at together: few enough to stay in cache.
const PIECE: usize = 128 * 1024;

/// The memory, and a copy of all of the message but its segments.
pub(crate) struct Held {
    memory: Box<dyn Memory>,
    message: Message,
    /// Which segments' checksums were checked; empty where there are none.
    verified: RefCell<Vec<bool>>,
}

enum Message {
    Plain(Vec<u8>),
    Frame(Front),
}

/// Where a tensor's data lies in the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) start: usize,
    pub(crate) segment: Range<usize>,
}

impl Held {
    pub(crate) fn open(memory: Box<dyn Memory>, limits: &Limits) -> Result<Self> {
        let len = memory.len();
        if to_u64(len) > limits.message {
            return Err(Error::limit(format!(
                "a message of {len} bytes, above the limit of {}",
                limits.message
            )));
        }
        let mut first = [0];
        if len == 0 {
            return Err(Error::eof("the message is empty").at(0));
        }
        memory.read(0, &mut first)?;
        let message = if first[0] == MAGIC[0] {
            Message::Frame(Front::read(len, limits.segments, |offset, out| {
                memory.read(offset, out)
            })?)
        } else {
            Message::Plain(read(&*memory, 0..len)?)
        };
        let checked = match &message {
            Message::Frame(front) if front.checksums() => front.segments(),
            _ => 0,
        };
        Ok(Self {
            memory,
            message,
            verified: RefCell::new(vec![false; checked]),
        })
    }

    /// The length of the message in bytes.
    pub(crate) fn len(&self) -> usize {
        self.memory.len()
    }

    pub(crate) fn memory(&self) -> &dyn Memory {
        &*self.memory
    }

    /// The body, and its offset in the message.
    pub(crate) fn body(&self) -> (&[u8], u64) {
        match &self.message {
            Message::Plain(body) => (body, 0),
            Message::Frame(front) => (front.body(), front.body_offset()),
        }
    }

    /// How many segments there are.
    pub(crate) fn segments(&self) -> usize {
        match &self.message {
            Message::Plain(_) => 0,
            Message::Frame(front) => front.segments(),
        }
    }

    /// Where the data of a tensor is whose fields are a part of the body; `None` where it is inline.
    pub(super) fn spot_of(&self, fields: &[u8]) -> Result<Option<Spot>> {
        let body = self.body().0;
        let start = addresses(fields).start - addresses(body).start;
        let Some(&form) = start.checked_sub(1).and_then(|form| body.get(form)) else {
            return Ok(None);
        };
        let rest = body.get(start + fields.len()..).unwrap_or_default();
        descriptor::place(form, rest)?
            .map(|(index, offset)| self.spot(index, offset))
            .transpose()
    }

    /// A place in a segment, whose bytes are checked the first time that it is asked for.
    pub(crate) fn spot(&self, index: u64, offset: u64) -> Result<Spot> {
        let Message::Frame(front) = &self.message else {
            return Err(Error::syntax(
                "a tensor is said to be in a segment, and the message is not a frame",
            ));
        };
        let (segment, stated) = front.segment(index)?;
        let number = usize::try_from(index).unwrap_or(usize::MAX);
        let unchecked = self.verified.borrow().get(number) == Some(&false);
        if unchecked {
            let found = self.checksum(segment.clone())?;
            if found != stated {
                return Err(Front::mismatch(index, segment.start, stated, found));
            }
            if let Some(verified) = self.verified.borrow_mut().get_mut(number) {
                *verified = true;
            }
        }
        let start = usize::try_from(offset)
            .ok()
            .and_then(|offset| segment.start.checked_add(offset))
            .filter(|&start| start <= segment.end);
        let start = start.ok_or_else(|| {
            let len = segment.len();
            Error::syntax(format!(
                "a tensor at {offset} of segment {index}, which has {len} bytes"
            ))
        })?;
        Ok(Spot { start, segment })
    }

    /// The `len` bytes of a tensor, which must lie in its segment.
    pub(crate) fn range(spot: &Spot, len: usize) -> Result<Range<usize>> {
        let end = spot.start.checked_add(len).filter(|&end| end <= spot.segment.end);
        let end = end.ok_or_else(|| {
            let (offset, has) = (spot.start - spot.segment.start, spot.segment.len());
            Error::syntax(format!(
                "a tensor of {len} bytes at {offset} of a segment, which has {has}"
            ))
        })?;
        Ok(spot.start..end)
    }

    /// A copy of some bytes of the message.
    pub(crate) fn copy(&self, range: Range<usize>) -> Result<Vec<u8>> {
        read(&*self.memory, range)
    }

    /// Shows bytes of the message in pieces, each with its offset.
    pub(crate) fn pieces(&self, range: Range<usize>, mut show: impl FnMut(usize, &[u8]) -> Result<()>) -> Result<()> {
        let mut buffer = vec![0; PIECE.min(range.len())];
        for start in range.clone().step_by(PIECE) {
            let piece = &mut buffer[..PIECE.min(range.end - start)];
            self.memory.read(start, piece)?;
            show(start, piece)?;
        }
        Ok(())
    }

    fn checksum(&self, range: Range<usize>) -> Result<u32> {
        let mut sum = 0;
        self.pieces(range, |_, piece| {
            sum = checksum::append(sum, piece);
            Ok(())
        })?;
        Ok(sum)
    }
}

fn read(memory: &dyn Memory, range: Range<usize>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(range.len())
        .map_err(|_| Error::limit(format!("no memory for a copy of {} bytes", range.len())))?;
    bytes.resize(range.len(), 0);
    memory.read(range.start, &mut bytes)?;
    Ok(bytes)
}
