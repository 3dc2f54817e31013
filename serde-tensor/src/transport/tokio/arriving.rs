//! A stream's next message, as far as it arrived. Kept between calls, so that each may be dropped before it is done.

use super::super::incoming::{Incoming, Start, behind_header, ended_passing_over};
use crate::error::Result;
use crate::limits::Limits;
use crate::wire::frame::Header;
use crate::wire::to_u64;

#[derive(Debug)]
pub(super) enum Arriving {
    Start(Start),
    Frame(Incoming),
    /// So many bytes are left of a message that was too long, for the limit or for the memory.
    PassingOver(u64),
}

impl Default for Arriving {
    /// Nothing arrived.
    fn default() -> Self {
        Self::Start(Start::new())
    }
}

impl Arriving {
    /// Makes room for the frame whose start this is.
    ///
    /// # Errors
    ///
    /// `Limit`; the frame is then to be passed over.
    pub(super) fn open(&mut self, header: &Header, limits: &Limits) -> Result<()> {
        let Self::Start(start) = self else { return Ok(()) };
        let (next, opened) = match Incoming::open(header, start, limits) {
            Ok(frame) => (Self::Frame(frame), Ok(())),
            Err(error) => (Self::PassingOver(behind_header(header)), Err(error)),
        };
        *self = next;
        opened
    }

    /// Gives up the frame that the memory ended in.
    pub(super) fn pass_over(&mut self) {
        if let Self::Frame(frame) = self {
            *self = Self::PassingOver(to_u64(frame.missing()));
        }
    }

    /// The end of the input: an `Eof` error, unless it is between two messages.
    pub(super) fn ended(&self) -> Result<()> {
        match self {
            Self::Start(start) if start.is_empty() => Ok(()),
            Self::Start(start) => Err(start.ended()),
            Self::Frame(frame) => Err(frame.ended()),
            Self::PassingOver(left) => Err(ended_passing_over(*left)),
        }
    }
}
