//! Chunks put together again.

use std::collections::{BTreeMap, HashMap, VecDeque};

use bytes::Bytes;

use super::reader::join;
use crate::error::{Error, Result};
use crate::wire::checksum::crc32c;
use crate::wire::chunk::{ChunkHeader, HEADER_LEN};
use crate::wire::to_u64;

/// Puts the chunks of messages together again, in whatever order they come.
///
/// It holds the chunks that arrived of messages that are not complete: never more than [`hold`](Self::hold) says, whatever lengths the
/// chunks claim. A chunk that has 64 KiB of a message or more stays in the buffer that it was given in, a smaller one is copied out of it. See
/// [`Plan::chunks`](crate::Plan::chunks) for an example.
#[derive(Debug)]
pub struct Reassembler {
    messages: HashMap<u64, Partial>,
    held: usize,
    most: usize,
    /// The messages completed last, the latest last.
    completed: VecDeque<u64>,
}

/// A message of which something arrived.
#[derive(Debug, Default)]
struct Partial {
    len: u64,
    arrived: u64,
    /// By offset; they do not overlap.
    pieces: BTreeMap<u64, Bytes>,
}

/// What is counted for a chunk beside its bytes, so that a flood of tiny ones is bounded too.
const OVERHEAD: usize = 128;

/// Pieces from this many bytes on stay in the buffer they came in. A transport's buffer may be that of many chunks, and a small piece of
/// it would keep all of it.
const LARGE: usize = 1 << 16;

/// How many completed messages are remembered.
const REMEMBERED: usize = 1024;

impl Reassembler {
    /// A reassembler that holds at most 1 GiB.
    pub fn new() -> Self {
        Self {
            messages: HashMap::new(),
            held: 0,
            most: 1 << 30,
            completed: VecDeque::new(),
        }
    }

    /// Sets how many bytes it holds at most, of all incomplete messages together; each chunk counts 128 more than it has.
    #[must_use]
    pub fn hold(mut self, bytes: usize) -> Self {
        self.most = bytes;
        self
    }

    /// Takes a chunk; returns the message that it completes. A chunk that arrived before is ignored, also where its message was complete by then
    /// and is one of the last 1,024 that were.
    ///
    /// # Errors
    ///
    /// `Syntax` or `Eof` for bytes that are no chunk, a checksum that does not match, a piece that overlaps another in part, or another
    /// message length than before; `Limit` for more than it may hold. The chunk is then as if it had never come.
    pub fn push(&mut self, chunk: impl Into<Bytes>) -> Result<Option<Bytes>> {
        let chunk = chunk.into();
        let header = checked(&chunk)?;
        let piece = chunk.slice(HEADER_LEN..);
        match self.messages.get(&header.message) {
            Some(partial) if partial.has(&header, &piece)? => return Ok(None),
            None if self.completed.contains(&header.message) => return Ok(None),
            _ => {}
        }
        if piece.is_empty() && header.message_len > 0 {
            return Ok(None);
        }
        let cost = piece.len().saturating_add(OVERHEAD);
        let held = self.held.saturating_add(cost);
        if to_u64(piece.len()) < header.message_len && held > self.most {
            return Err(Error::limit(format!(
                "chunks of incomplete messages take {held} bytes, above the limit of {}",
                self.most
            )));
        }
        self.held = held;
        let piece = match piece.len() {
            LARGE.. => piece,
            _ => Bytes::copy_from_slice(&piece),
        };
        let partial = self.messages.entry(header.message).or_default();
        partial.len = header.message_len;
        partial.arrived += u64::from(header.len);
        partial.pieces.insert(header.offset, piece);
        if partial.arrived < partial.len {
            return Ok(None);
        }
        let complete = self.forget(header.message);
        let message = complete.map(Partial::join).transpose()?;
        if self.completed.len() == REMEMBERED {
            self.completed.pop_front();
        }
        self.completed.push_back(header.message);
        Ok(message)
    }

    /// Gives up a message, by the id of its chunks; says whether anything had arrived of it.
    pub fn abandon(&mut self, message: u64) -> bool {
        self.forget(message).is_some()
    }

    /// The incomplete messages: id, bytes that arrived, length.
    pub fn incomplete(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.messages
            .iter()
            .map(|(&message, partial)| (message, partial.arrived, partial.len))
    }

    fn forget(&mut self, message: u64) -> Option<Partial> {
        let partial = self.messages.remove(&message)?;
        let cost: usize = partial.pieces.values().map(|piece| piece.len() + OVERHEAD).sum();
        self.held = self.held.saturating_sub(cost);
        Some(partial)
    }
}

impl Default for Reassembler {
    fn default() -> Self {
        Self::new()
    }
}

impl Partial {
    /// Whether the piece is there already.
    fn has(&self, header: &ChunkHeader, piece: &Bytes) -> Result<bool> {
        if self.len != header.message_len {
            return Err(Error::syntax(format!(
                "a chunk says that message {} has {} bytes, one before it said {}",
                header.message, header.message_len, self.len
            ))
            .at(16));
        }
        if self.pieces.get(&header.offset) == Some(piece) {
            return Ok(true);
        }
        let end = header.offset + u64::from(header.len);
        let before = self.pieces.range(..end).next_back();
        let overlap = before.filter(|(start, before)| **start + to_u64(before.len()) > header.offset);
        match overlap {
            Some((start, _)) if header.len > 0 => Err(Error::syntax(format!(
                "a piece of {} bytes at {} of message {} overlaps the one at {start}",
                header.len, header.offset, header.message
            ))
            .at(24)),
            _ => Ok(false),
        }
    }

    /// The whole message, in a buffer that suits its segments.
    fn join(self) -> Result<Bytes> {
        let len = usize::try_from(self.len).map_err(|_| Error::limit("a message longer than the address space"))?;
        join(len, self.pieces.values().map(|piece| &**piece))
    }
}

fn checked(chunk: &[u8]) -> Result<ChunkHeader> {
    let Some((header, piece)) = chunk.split_first_chunk::<HEADER_LEN>() else {
        return Err(Error::eof(format!(
            "a chunk's header takes {HEADER_LEN} bytes, {} are there",
            chunk.len()
        ))
        .at(0));
    };
    let header = ChunkHeader::read(header)?;
    let len = to_u64(piece.len());
    if len < u64::from(header.len) {
        return Err(Error::eof(format!("a chunk's piece has {} bytes, {len} are there", header.len)).at(32));
    }
    if len > u64::from(header.len) {
        let over = len - u64::from(header.len);
        return Err(Error::syntax(format!("{over} bytes are left over after a chunk's piece")).at(32));
    }
    let found = crc32c(&[piece]);
    if found != header.checksum {
        return Err(Error::syntax(format!(
            "the checksum of a chunk's piece is {found:#010x}, the chunk says {:#010x}",
            header.checksum
        ))
        .at(36));
    }
    Ok(header)
}
