//! The frames of decoding calls.

mod context;
mod copies;
mod counted;
pub(crate) mod held;
mod later;
mod log;
mod names;
mod slab;

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::mem;
use std::ops::{Deref, Range};
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;

use super::effective;
use super::spans::Spans;
use copies::Copies;
use counted::Counted;
use held::{Held, Spot};
use log::{Log, report};
use names::Names;
use slab::Slab;

pub(crate) use context::{Context, bytes_of_plain, context, ended, is_plain};
pub(crate) use later::{Check, Deferred, DeferredPlace, Remembered, take_deferred};
pub(crate) use log::Landed;

use crate::device::{Device, FieldDevice, OnMissing, Placement, Report, Site, WarnOnce};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::wire::path;
use crate::wire::to_u64;

thread_local! {
    static STACK: RefCell<Stack> = const { RefCell::new(Stack { sites: Vec::new(), frames: Vec::new() }) };
    static NEXT_ID: Cell<u64> = const { Cell::new(0) };
    /// How many calls read a message that lies in a library's memory: mostly none.
    static HELD: Cell<usize> = const { Cell::new(0) };
}

/// What was warned of where there is neither a marked field nor a call: under other formats.
static ELSEWHERE: Site = Site::new("", "", FieldDevice::Auto);

/// Uses the stack; `None` while the thread ends and it is gone.
#[inline]
fn with_stack<R>(use_it: impl FnOnce(&mut Stack) -> R) -> Option<R> {
    STACK.try_with(|stack| use_it(&mut stack.borrow_mut())).ok()
}

/// What the caller of a decoding call chose.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) placement: Placement,
    pub(crate) device_map: Vec<(Device, Device)>,
    pub(crate) on_missing: OnMissing,
    pub(crate) limits: Limits,
    pub(crate) detach: bool,
    pub(crate) coalesce: bool,
}

impl Options {
    const DEFAULT: Self = Self {
        placement: Placement::Auto,
        device_map: Vec::new(),
        on_missing: OnMissing::Fallback,
        limits: Limits::new(),
        detach: false,
        coalesce: true,
    };
}

/// Options that a decoder and its calls share. The defaults are nobody's, and counted by none.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedOptions(Option<Arc<Options>>);

impl SharedOptions {
    /// The options to change, no longer shared.
    pub(crate) fn make_mut(&mut self) -> &mut Options {
        Arc::make_mut(self.0.get_or_insert_with(|| Arc::new(Options::DEFAULT)))
    }
}

impl Deref for SharedOptions {
    type Target = Options;

    #[inline]
    fn deref(&self) -> &Options {
        static DEFAULT: Options = Options::DEFAULT;
        self.0.as_deref().unwrap_or(&DEFAULT)
    }
}

struct Stack {
    /// The marked fields being read, of all calls, outermost first.
    sites: Vec<&'static Site>,
    frames: Vec<Frame>,
}

struct Frame {
    id: u64,
    options: SharedOptions,
    /// The whole message, where tensors may share it.
    owner: Option<Bytes>,
    /// The addresses of the body's bytes: how a description borrowed from it is known to be this call's.
    body: Range<usize>,
    /// The addresses of the whole message's bytes. What is told apart by its address lies there: bytes that another format
    /// gives inside this call may be gone before the next come to lie at the same place.
    message: Range<usize>,
    /// The length of the message in bytes.
    len: usize,
    /// The message, where it lies in memory of a tensor library's own; `message` is then the body alone.
    held: Option<Rc<Held>>,
    /// Where this call's own `sites` begin.
    base: usize,
    /// Whether a report is wanted.
    record: bool,
    /// How many inline tensors were copied, though the message's buffer may be shared.
    copied_inline: usize,
    rare: Option<Box<Rare>>,
}

/// What most calls have no use for: it is made when it is first written to, so that a frame is quickly pushed and removed.
#[derive(Default)]
struct Rare {
    /// How many bytes the call's tensors took in copies.
    copied: usize,
    /// The descriptions of the tensors that were counted, by address: one that is read again, for another variant, is not
    /// counted again.
    counted: Counted,
    /// By the addresses of what was copied; by its place in the message where that is in a library's memory.
    copies: Copies,
    /// What small tensors were copied to that share the message's buffer where they lie aligned in it.
    slab: Slab,
    /// How often the message's segments are named, once that was asked.
    names: Option<Names>,
    /// Bytes that were seen to be a bool tensor's.
    bools: Spans,
    /// What tensor types keep for the call, one value a type.
    states: Vec<Box<dyn Any>>,
    fell_back: WarnOnce<(Device, Device)>,
    /// Segments that were read from elsewhere, by address. They are kept as long as the call, since they are told apart by it.
    kept: BTreeMap<usize, Bytes>,
    /// The tensor whose data was not read, for the type that asked for that.
    deferred: Option<Deferred>,
    log: Log,
}

/// One decoding call.
pub(crate) struct Call<'de> {
    id: u64,
    body: &'de [u8],
    /// The offset of the body in the message.
    offset: u64,
    depth: usize,
    open: bool,
    held: bool,
}

impl<'de> Call<'de> {
    pub(crate) fn enter(
        options: SharedOptions,
        owner: Option<Bytes>,
        body: &'de [u8],
        offset: u64,
        message: Whole<'_>,
        record: bool,
    ) -> Self {
        let id = NEXT_ID.replace(NEXT_ID.get().wrapping_add(1));
        // `Some` directly inside `Some` is a level to a walk, and only sometimes to the decoder.
        let depth = options.limits.depth.saturating_mul(2);
        let (message, len, held) = match message {
            Whole::Bytes(message) => (message, message.len(), None),
            Whole::Held(held) => (body, held.len(), Some(held)),
            Whole::Stored(len) => (body, len, None),
        };
        let is_held = held.is_some();
        HELD.set(HELD.get() + usize::from(is_held));
        with_stack(|stack| {
            let base = stack.sites.len();
            stack.frames.push(Frame {
                id,
                options,
                owner,
                body: addresses(body),
                message: addresses(message),
                len,
                held,
                base,
                record,
                copied_inline: 0,
                rare: None,
            });
        });
        Self {
            id,
            body,
            offset,
            depth,
            open: true,
            held: is_held,
        }
    }

    /// Keeps a segment that was read from elsewhere; tensors may share it.
    pub(crate) fn keep(&self, segment: &Bytes) {
        if !segment.is_empty() {
            self.with_frame(|frame| frame.rare().kept.insert(addresses(segment).start, segment.clone()));
        }
    }

    /// Whether tensors share the message's buffer.
    pub(crate) fn shares(&self) -> bool {
        let shares = self.with_frame(|frame| frame.owner.is_some() && !frame.options.detach);
        shares == Some(true)
    }

    /// Leaves a tensor's data unread, for the type that is being read.
    pub(crate) fn defer(&self, deferred: Deferred) {
        // What was there is of a tensor that did not take it; its drop runs outside.
        let _untaken = self.with_frame(|frame| frame.rare().deferred.replace(deferred));
    }

    fn with_frame<R>(&self, use_it: impl FnOnce(&mut Frame) -> R) -> Option<R> {
        with_stack(|stack| {
            let frame = stack.frames.iter_mut().rfind(|frame| frame.id == self.id)?;
            Some(use_it(frame))
        })
        .flatten()
    }

    /// Ends the call: warns of what there was to warn of, reports, and says whether a tensor failed.
    pub(crate) fn finish(&mut self) -> Result<Report> {
        let Some(rare) = self.leave() else {
            return Ok(Report::default());
        };
        match rare.log.failure {
            Some((error, at)) => Err(self.locate(error, at)),
            None => Ok(report(self.body, self.depth, rare.log.landed)),
        }
    }

    /// The error that a tensor met, if `error` is what serde made of it: with its category and source.
    #[cold]
    pub(crate) fn recover(&self, error: Error) -> Error {
        let passing = with_stack(|stack| {
            let frame = stack.frames.iter_mut().rfind(|frame| frame.id == self.id)?;
            let rare = frame.rare.as_mut()?;
            rare.log
                .passing
                .take_if(|passing| passing.to_string() == error.message())
        });
        passing.flatten().unwrap_or(error)
    }

    fn leave(&mut self) -> Option<Box<Rare>> {
        if !mem::replace(&mut self.open, false) {
            return None;
        }
        if self.held {
            HELD.set(HELD.get().saturating_sub(1));
        }
        // The frame leaves the borrow before it is dropped: its owner's `Drop` may be a user's.
        let frame = with_stack(|stack| {
            if let Some(frame) = stack.frames.pop_if(|frame| frame.id == self.id) {
                stack.sites.truncate(frame.base);
                return Some(frame);
            }
            let at = stack.frames.iter().rposition(|frame| frame.id == self.id)?;
            Some(stack.frames.remove(at))
        })
        .flatten()?;
        let mut rare = frame.rare?;
        rare.log.warn(self.body, self.depth);
        Some(rare)
    }

    /// The error with the place of the tensor whose description is at the address.
    fn locate(&self, error: Error, at: Option<usize>) -> Error {
        let Some(position) = at.and_then(|at| position_in(self.body, at)) else {
            return error;
        };
        let (path, start) = path::locate(self.body, position);
        error.at(self.offset.saturating_add(to_u64(start))).within(|| path)
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Where the whole message is.
pub(crate) enum Whole<'m> {
    Bytes(&'m [u8]),
    Held(Rc<Held>),
    /// Elsewhere, but for its body; so many bytes in all.
    Stored(usize),
}

/// Where the data of a tensor is whose fields are given, if they are a part of a message that lies in a library's memory, and the data
/// of a segment.
#[inline(always)]
pub(crate) fn held(fields: &[u8]) -> Option<Result<Spot>> {
    match HELD.get() {
        0 => None,
        _ => spot_of(fields),
    }
}

#[cold]
fn spot_of(fields: &[u8]) -> Option<Result<Spot>> {
    let at = addresses(fields).start;
    let held = with_stack(|stack| {
        let frame = stack.frames.iter().rfind(|frame| frame.body.contains(&at))?;
        frame.held.clone()
    })??;
    held.spot_of(fields).transpose()
}

/// Reads a marked field.
pub(crate) fn in_field<R>(site: &'static Site, read: impl FnOnce() -> R) -> R {
    struct Scope;
    impl Drop for Scope {
        fn drop(&mut self) {
            with_stack(|stack| stack.sites.pop());
        }
    }
    with_stack(|stack| stack.sites.push(site));
    let _scope = Scope;
    read()
}

/// Where bytes lie.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the message's body, where a tensor's data has one name.
    Body,
    /// In the message, in a segment.
    Segment,
    Elsewhere,
}

impl Frame {
    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    fn place_of(&self, bytes: &Range<usize>) -> Place {
        if self.body.start <= bytes.start && bytes.end <= self.body.end {
            Place::Body
        } else if self.holds(bytes) {
            Place::Segment
        } else {
            Place::Elsewhere
        }
    }

    /// Whether bytes are a part of the message.
    fn holds(&self, bytes: &Range<usize>) -> bool {
        (self.message.start <= bytes.start && bytes.end <= self.message.end) || self.kept(bytes).is_some()
    }

    /// Bytes as a part of the message's buffer, or of a kept segment.
    #[inline]
    fn share(&self, part: &Range<usize>) -> Option<Bytes> {
        let owner = self.owner.as_ref().or_else(|| self.kept(part))?;
        let all = addresses(owner);
        (all.start <= part.start && part.end <= all.end)
            .then(|| owner.slice(part.start - all.start..part.end - all.start))
    }

    /// The kept segment that bytes are a part of.
    fn kept(&self, bytes: &Range<usize>) -> Option<&Bytes> {
        let (_, segment) = self.rare.as_ref()?.kept.range(..=bytes.start).next_back()?;
        (bytes.end <= addresses(segment).end).then_some(segment)
    }
}

impl Stack {
    /// The frame whose body holds the address, or else the innermost.
    #[inline]
    fn frame(&self, at: Option<usize>) -> Option<&Frame> {
        at.and_then(|at| self.frames.iter().rfind(|frame| frame.body.contains(&at)))
            .or(self.frames.last())
    }
}

/// The addresses of a slice's bytes: compared, never followed.
#[inline]
pub(crate) fn addresses(bytes: &[u8]) -> Range<usize> {
    let range = bytes.as_ptr_range();
    range.start.addr()..range.end.addr()
}

fn position_in(body: &[u8], at: usize) -> Option<usize> {
    let range = addresses(body);
    range.contains(&at).then(|| at - range.start)
}
