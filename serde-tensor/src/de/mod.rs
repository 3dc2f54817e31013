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
use crate::call::decode::{Call, Check, SharedOptions, Whole};
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
    /// The checksums of a frame's segments, where they are set.
    checks: Option<Box<Checks>>,
    /// The message and whatever follows it.
    input: &'de [u8],
    depth: usize,
    /// How many bytes were left where the last `Some` began, to see `Some(Some(…))`: a type may be nothing else, without end.
    some_at: Option<usize>,
    max_depth: usize,
    max_rank: usize,
    call: Call<'de>,
}

/// How far the checksums of segments were looked at.
struct Checks {
    /// Which were checked.
    done: Vec<bool>,
    /// Those that tensors which are read later have yet to be held against, by segment.
    later: BTreeMap<u64, Arc<Check>>,
}

impl<'de> Deserializer<'de> {
    /// A deserializer with the default options. It reads the header of a frame, and nothing else yet.
    ///
    /// # Errors
    ///
    /// If the bytes start like a frame and are none.
    pub fn from_slice(bytes: &'de [u8]) -> Result<Self> {
        Self::open(bytes, SharedOptions::default(), None, false)
    }

    /// Opens a message at the front of `input`, which is `owner`'s if tensors may share it.
    pub(crate) fn open(input: &'de [u8], options: SharedOptions, owner: Option<Bytes>, record: bool) -> Result<Self> {
        let frame = frame_at(input, &options.limits)?;
        let len = frame.as_ref().map_or(input.len(), Frame::len);
        let (body, offset) = match &frame {
            Some(frame) => (&input[frame.body()], to_u64(frame.body().start)),
            None => (input, 0),
        };
        let checks = match frame.as_ref().map_or(0, Frame::checked_segments) {
            0 => None,
            count => Some(Box::new(Checks {
                done: vec![false; count],
                later: BTreeMap::new(),
            })),
        };
        let whole = Whole::Bytes(&input[..len]);
        Ok(Self {
            frame,
            checks,
            input,
            ..Self::of(body, offset, options, owner, whole, record)
        })
    }

    /// Opens a message that lies in memory of a tensor library's own.
    pub(crate) fn held(held: &'de Rc<Held>, options: SharedOptions, record: bool) -> Self {
        let (body, offset) = held.body();
        let whole = Whole::Held(Rc::clone(held));
        Self {
            held: Some(held),
            ..Self::of(body, offset, options, None, whole, record)
        }
    }

    /// Opens a frame of `size` bytes whose body, which is at `offset` in it, is in memory, and whose segments are not.
    pub(crate) fn open_stored(
        body: &'de [u8],
        offset: u64,
        size: usize,
        loaded: &'de Loaded,
        options: SharedOptions,
        record: bool,
    ) -> Self {
        Self {
            loaded: Some(loaded),
            ..Self::of(body, offset, options, None, Whole::Stored(size), record)
        }
    }

    /// Reads a body, which is at `offset` in its message.
    #[inline]
    fn of(
        body: &'de [u8],
        offset: u64,
        options: SharedOptions,
        owner: Option<Bytes>,
        whole: Whole<'_>,
        record: bool,
    ) -> Self {
        Self {
            cursor: Cursor::new(body, offset),
            frame: None,
            held: None,
            loaded: None,
            checks: None,
            input: body,
            depth: options.limits.depth,
            some_at: None,
            max_depth: options.limits.depth,
            max_rank: options.limits.rank,
            call: Call::enter(options, owner, body, offset, whole, record),
        }
    }

    /// Checks that the message ends where its value does, and that nothing follows it.
    ///
    /// # Errors
    ///
    /// If bytes are left over (`Syntax`, with the offset of the first), or if a tensor met an error that serde hid
    /// while it tried the variants of an untagged enum.
    pub fn end(mut self) -> Result<()> {
        self.conclude(true)
    }

    /// Ends the call. Where the value was read, the message has to end there too.
    pub(crate) fn conclude(&mut self, was_read: bool) -> Result<()> {
        let ended = self.check_end();
        // A tensor's own error comes first: serde may have hidden it and gone on.
        self.finish()?;
        if was_read { ended } else { Ok(()) }
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
    pub(crate) fn finish(&mut self) -> Result<Report> {
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
        Error::limit(format!("the value nests deeper than the limit of {}", self.max_depth))
    }
}

/// The frame at the front of `input`, if that is what begins there.
fn frame_at<'de>(input: &'de [u8], limits: &Limits) -> Result<Option<Frame<'de>>> {
    let frame = match input.first() {
        None => return Err(Error::eof("the message is empty").at(0)),
        Some(&first) if first == MAGIC[0] => Some(Frame::open(input, limits.segments)?),
        Some(_) => None,
    };
    let len = frame.as_ref().map_or(input.len(), Frame::len);
    if to_u64(len) > limits.message {
        return Err(Error::limit(format!(
            "a message of {len} bytes, above the limit of {}",
            limits.message
        )));
    }
    Ok(frame)
}

#[cold]
fn left_over(count: usize, at: u64) -> Error {
    Error::syntax(format!("{count} bytes are left over after the value")).at(at)
}
