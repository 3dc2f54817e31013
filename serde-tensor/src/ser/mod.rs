//! serde's data model in MessagePack: `docs/spec/`, sections on values.

mod compound;
mod mode;
mod narrow;
mod serialize;
mod single;
mod tensor;
mod ties;

use std::marker::PhantomData;

use serde::Serialize;

use mode::{Compact, Direct, Mode, Named};
use single::SinglePass;

use crate::backend::Unmodified;
use crate::call::encode::{self, Call};
use crate::device::DeviceCopies;
use crate::error::{Error, Result};
use crate::plan::Numbering;
use crate::wire::buffer::Buffer;
use crate::wire::read::{Cursor, Token};
use crate::wire::{self, path, write};

/// What the caller of an encoding call chose.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) compact: bool,
    pub(crate) framed: bool,
    /// log2 of the segments' alignment.
    pub(crate) align: u8,
    pub(crate) inline_limit: usize,
    pub(crate) checksums: bool,
    pub(crate) device_copies: DeviceCopies,
    pub(crate) snapshot: bool,
    /// The caller's promise, if it was given.
    pub(crate) unmodified: Option<Unmodified>,
    pub(crate) depth: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            compact: false,
            framed: false,
            align: 6,
            inline_limit: 512,
            checksums: false,
            device_copies: DeviceCopies::default(),
            snapshot: false,
            unmodified: None,
            depth: 128,
        }
    }
}

/// The `serde::Serializer` behind [`to_vec`](crate::to_vec): use `&mut` of it, then [`into_vec`](Self::into_vec).
///
/// It is not human-readable. Made by [`new`](Self::new), or with options by [`Encoder::serializer`](crate::Encoder::serializer). It belongs to its
/// thread. The type parameter is the crate's own: to users it is `Serializer<'_>`.
///
/// ```
/// use serde::Serialize;
///
/// let mut serializer = serde_tensor::Serializer::new();
/// ("step", 7).serialize(&mut serializer)?;
/// assert_eq!(serializer.into_vec()?, serde_tensor::to_vec(&("step", 7))?);
/// # Ok::<(), serde_tensor::Error>(())
/// ```
pub struct Serializer<'p, M = Direct> {
    state: State<'p>,
    mode: PhantomData<M>,
}

impl Serializer<'static> {
    /// A serializer with the default options.
    pub fn new() -> Self {
        Self::over(State::single(Options::default(), Vec::new()))
    }

    /// The message: plain when every tensor is inline, else a frame.
    ///
    /// # Errors
    ///
    /// If no value was serialized.
    pub fn into_vec(self) -> Result<Vec<u8>> {
        self.state.into_vec()
    }
}

impl Default for Serializer<'static> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'p, M> Serializer<'p, M> {
    pub(crate) fn over(state: State<'p>) -> Self {
        Self {
            state,
            mode: PhantomData,
        }
    }

    pub(crate) fn into_state(self) -> State<'p> {
        self.state
    }

    /// The error with the path of the element that was being written, and, if a tensor met it, as that met it.
    #[cold]
    pub(crate) fn locate(&self, error: Error) -> Error {
        self.state.locate(error)
    }
}

/// What a serializer writes to, and how.
pub(crate) struct State<'p> {
    body: Buffer,
    segments: Segments<'p>,
    options: Options,
    depth: usize,
    /// Where the body ended when the last `Some` began, to see `Some(Some(…))`.
    some_at: Option<usize>,
    last_copy: crate::device::WarnOnce<crate::Device>,
    _call: Call,
}

/// Where tensors above the inline limit go.
pub(crate) enum Segments<'p> {
    /// Into the message, at once.
    Single(SinglePass),
    /// Nowhere: they are borrowed by a plan, and here they are only numbered.
    Plan(Numbering<'p>),
}

impl State<'static> {
    /// Writes a whole message into `out`, whose content is lost and whose memory is used.
    pub(crate) fn single(options: Options, out: Vec<u8>) -> Self {
        let single = SinglePass::new(options.align, options.checksums);
        let limit = options.inline_limit;
        let state = Self::over(Buffer::reusing(out), Segments::Single(single), options);
        encode::ask_forecast(limit);
        state
    }

    /// Writes a value.
    pub(crate) fn write<T: ?Sized + Serialize>(self, value: &T) -> Result<Self> {
        fn write<M: Mode, T: ?Sized + Serialize>(state: State<'static>, value: &T) -> Result<State<'static>> {
            let mut serializer = Serializer::<M>::over(state);
            match value.serialize(&mut serializer) {
                Ok(()) => Ok(serializer.state),
                Err(error) => Err(serializer.locate(error)),
            }
        }
        match self.options.compact {
            true => write::<Compact, T>(self, value),
            false => write::<Named, T>(self, value),
        }
    }

    /// The message.
    pub(crate) fn into_vec(self) -> Result<Vec<u8>> {
        if self.body.is_empty() {
            return Err(Error::data("no value was serialized"));
        }
        match self.segments {
            Segments::Single(single) => single.into_message(self.body, self.options.framed),
            Segments::Plan(_) => Ok(self.body.into_vec()),
        }
    }
}

impl<'p> State<'p> {
    /// Writes a plan's body.
    pub(crate) fn planned(options: Options, numbering: Numbering<'p>) -> Self {
        Self::over(Buffer::default(), Segments::Plan(numbering), options)
    }

    fn over(body: Buffer, segments: Segments<'p>, options: Options) -> Self {
        Self {
            body,
            segments,
            depth: options.depth,
            options,
            some_at: None,
            last_copy: crate::device::WarnOnce::new(),
            _call: Call::enter(),
        }
    }

    /// The body and the segments of a plan.
    pub(crate) fn into_plan(self) -> (Vec<u8>, Option<Numbering<'p>>) {
        match self.segments {
            Segments::Plan(numbering) => (self.body.into_vec(), Some(numbering)),
            Segments::Single(_) => (self.body.into_vec(), None),
        }
    }

    /// The error with the path of the element that was being written, and, if a tensor met it, as that met it.
    #[cold]
    pub(crate) fn locate(&self, error: Error) -> Error {
        if error.has_path() {
            return error;
        }
        encode::recover(error).within(|| path::of_next(&self.body))
    }

    #[inline(always)]
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
        self.locate(Error::limit(format!(
            "the value nests deeper than the limit of {}",
            self.options.depth
        )))
    }

    #[inline(always)]
    fn leave(&mut self) {
        self.depth += 1;
    }

    /// Puts an ext `0x53` around the value at `start`.
    fn wrap_some(&mut self, start: usize) -> Result<()> {
        let mut header = Buffer::default();
        write::ext(&mut header, wire::ext::SOME, self.body.len() - start)?;
        self.body.replace(start, start, &header);
        Ok(())
    }

    /// Whether the value at `start` would read as nothing, or as a `Some` of its own.
    #[inline]
    fn needs_wrap(&self, start: usize) -> bool {
        match self.body.get(start) {
            Some(&wire::NIL) => true,
            Some(0xc7..=0xc9 | 0xd4..=0xd8) => {
                let token = Cursor::new(&self.body[start..], 0).token();
                matches!(token, Ok(Token::Ext(wire::ext::SOME, _)))
            }
            _ => false,
        }
    }
}
