//! MessagePack as serde's data model: `docs/spec/`, sections on values.

mod access;
mod deserialize;
mod elements;
mod item;
mod items;
mod loaded;
mod parts;
mod variant;

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;

pub(crate) use loaded::Loaded;

use crate::call::decode::held::Held;
use crate::call::decode::{Call, Check, Options, Whole, default_options};
use crate::device::Report;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::wire::frame::{Frame, MAGIC};
use crate::wire::read::Cursor;
use crate::wire::{path, to_u64};

/// The `serde::Deserializer` behind [`from_slice`](crate::from_slice): use `&mut` of it, then [`end`](Self::end).
///
/// It is not human-readable, and it describes itself: `deserialize_any` works for every value but an extension that is not
/// this format's own. It belongs to its thread.
///
/// ```
/// use serde::Deserialize;
///
/// let bytes = serde_tensor::to_vec(&("step", 7))?;
/// let mut deserializer = serde_tensor::Deserializer::from_slice(&bytes)?;
/// let value = <(&str, u8)>::deserialize(&mut deserializer)?;
/// deserializer.end()?;
/// assert_eq!(value, ("step", 7));
/// # Ok::<(), serde_tensor::Error>(())
/// ```
pub struct Deserializer<'de> {
    cursor: Cursor<'de>,
    frame: Option<Frame<'de>>,
    /// The message, where it lies in memory of a tensor library's own; `input` is then the body alone.
    held: Option<&'de Rc<Held>>,
    /// Where the segments are, if not in a frame in memory.
    loaded: Option<&'de Loaded>,
    /// Checksums that tensors which are read later have yet to be held against, by segment.
    checks: BTreeMap<u64, Arc<Check>>,
    /// Which segments' checksums were checked; empty where there are none.
    verified: Vec<bool>,
    /// The message and whatever follows it.
    input: &'de [u8],
    depth: usize,
    /// How many bytes were left where the last `Some` began, to see `Some(Some(…))`: a type may be nothing else, without end.
    some_at: Option<usize>,
    limits: Limits,
    call: Call<'de>,
}

impl<'de> Deserializer<'de> {
    /// A deserializer with the default options. It reads the header of a frame, and nothing else yet.
    ///
    /// # Errors
    ///
    /// If the bytes start like a frame and are none.
    pub fn from_slice(bytes: &'de [u8]) -> Result<Self> {
        Self::open(bytes, default_options(), None, false)
    }

    /// Opens a message at the front of `input`, which is `owner`'s if tensors may share it.
    pub(crate) fn open(input: &'de [u8], options: Arc<Options>, owner: Option<Bytes>, record: bool) -> Result<Self> {
        let limits = options.limits.clone();
        if input.is_empty() {
            return Err(Error::eof("the message is empty").at(0));
        }
        let frame = match input[0] == MAGIC[0] {
            true => Some(Frame::open(input, limits.segments)?),
            false => None,
        };
        let len = frame.as_ref().map_or(input.len(), Frame::len);
        if to_u64(len) > limits.message {
            return Err(Error::limit(format!(
                "a message of {len} bytes, above the limit of {}",
                limits.message
            )));
        }
        let (body, offset) = match &frame {
            Some(frame) => (&input[frame.body()], to_u64(frame.body().start)),
            None => (input, 0),
        };
        let verified = vec![false; frame.as_ref().map_or(0, Frame::checked_segments)];
        Ok(Self {
            cursor: Cursor::new(body, offset),
            frame,
            held: None,
            loaded: None,
            checks: BTreeMap::new(),
            verified,
            input,
            depth: limits.depth,
            some_at: None,
            call: Call::enter(options, owner, body, offset, Whole::Bytes(&input[..len]), record),
            limits,
        })
    }

    /// Opens a message that lies in memory of a tensor library's own.
    pub(crate) fn held(held: &'de Rc<Held>, options: Arc<Options>, record: bool) -> Self {
        let (body, offset) = held.body();
        let whole = Whole::Held(Rc::clone(held));
        Self {
            cursor: Cursor::new(body, offset),
            frame: None,
            held: Some(held),
            loaded: None,
            checks: BTreeMap::new(),
            verified: Vec::new(),
            input: body,
            depth: options.limits.depth,
            some_at: None,
            limits: options.limits.clone(),
            call: Call::enter(options, None, body, offset, whole, record),
        }
    }

    /// Opens a frame of `size` bytes whose body, which is at `offset` in it, is in memory, and whose segments are not.
    pub(crate) fn open_stored(
        body: &'de [u8],
        offset: u64,
        size: usize,
        loaded: &'de Loaded,
        options: Arc<Options>,
        record: bool,
    ) -> Self {
        let whole = Whole::Stored(size);
        Self {
            cursor: Cursor::new(body, offset),
            frame: None,
            held: None,
            loaded: Some(loaded),
            checks: BTreeMap::new(),
            verified: Vec::new(),
            input: body,
            depth: options.limits.depth,
            some_at: None,
            limits: options.limits.clone(),
            call: Call::enter(options, None, body, offset, whole, record),
        }
    }

    /// Checks that the message ends where its value does, and that nothing follows it.
    ///
    /// # Errors
    ///
    /// If bytes are left over (`Syntax`, with the offset of the first), or if a tensor met an error that serde hid
    /// while it tried the variants of an untagged enum.
    pub fn end(self) -> Result<()> {
        let ended = self.check_end();
        self.finish()?;
        ended
    }

    pub(crate) fn check_end(&self) -> Result<()> {
        let rest = self.rest()?;
        match rest.len() {
            0 => Ok(()),
            left => Err(left_over(left, self.offset_of(left))),
        }
    }

    /// What follows the message. Bytes left over inside a frame's body are an error.
    pub(crate) fn rest(&self) -> Result<&'de [u8]> {
        let left = self.cursor.rest();
        match &self.frame {
            None if self.loaded.is_none() => Ok(left),
            None if left.is_empty() => Ok(left),
            Some(frame) if left.is_empty() => Ok(&self.input[frame.len()..]),
            _ => Err(left_over(left.len(), self.cursor.offset_of(self.cursor.position()))),
        }
    }

    /// The offset in the message of what is left, so many bytes of it.
    fn offset_of(&self, left: usize) -> u64 {
        let before = to_u64(self.input.len() - left);
        match self.held {
            Some(held) => held.body().1.saturating_add(before),
            None => before,
        }
    }

    /// Ends the call.
    pub(crate) fn finish(self) -> Result<Report> {
        self.call.finish()
    }

    /// The error with the place and path of the element at `start`, unless it has its own.
    #[cold]
    pub(crate) fn locate(&self, error: Error, start: usize) -> Error {
        if error.has_path() {
            return error;
        }
        self.call
            .recover(error)
            .at(self.cursor.offset_of(start))
            .within(|| path::locate(self.cursor.bytes(), start).0)
    }

    /// Goes a level down; returns the depth to go back to.
    #[inline]
    fn enter(&mut self) -> Result<usize> {
        let before = self.depth;
        match before.checked_sub(1) {
            Some(depth) => {
                self.depth = depth;
                Ok(before)
            }
            None => Err(self.too_deep()),
        }
    }

    #[cold]
    #[inline(never)]
    fn too_deep(&self) -> Error {
        Error::limit(format!(
            "the value nests deeper than the limit of {}",
            self.limits.depth
        ))
    }

    #[inline]
    fn leave(&mut self) {
        self.depth += 1;
    }
}

#[cold]
fn left_over(count: usize, at: u64) -> Error {
    Error::syntax(format!("{count} bytes are left over after the value")).at(at)
}
