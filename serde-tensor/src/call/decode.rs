//! The frames of decoding calls.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::mem;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::effective;
use crate::device::{
    Decision, Device, FieldDevice, OnMissing, Placement, Report, Site, TensorReport, Transfer, WarnOnce, warn,
};
use crate::error::{Category, Error};
use crate::limits::Limits;
use crate::tensor::{DType, Shape};
use crate::wire::path::{self, Walk};
use crate::wire::to_u64;

thread_local! {
    static STACK: RefCell<Stack> = const { RefCell::new(Stack { sites: Vec::new(), frames: Vec::new() }) };
    static NEXT_ID: Cell<u64> = const { Cell::new(0) };
}

/// What the caller of a decoding call chose.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub(crate) placement: Placement,
    pub(crate) device_map: Vec<(Device, Device)>,
    pub(crate) on_missing: OnMissing,
    pub(crate) limits: Limits,
    pub(crate) detach: bool,
}

struct Stack {
    /// The marked fields being read, of all calls, outermost first.
    sites: Vec<&'static Site>,
    frames: Vec<Frame>,
}

struct Frame {
    id: u64,
    options: Arc<Options>,
    /// The whole message, where tensors may share it.
    owner: Option<Bytes>,
    /// The addresses of the body's bytes: how a description borrowed from it is known to be this call's.
    body: Range<usize>,
    /// Where this call's own `sites` begin.
    base: usize,
    /// Copies of tensors in segments, by the addresses they were copied from.
    copies: HashMap<Range<usize>, Bytes>,
    fell_back: WarnOnce<(Device, Device)>,
    log: Log,
}

/// What happened in a call.
#[derive(Default)]
struct Log {
    record: bool,
    landed: Vec<Landed>,
    warnings: Vec<Warning>,
    failure: Option<(Error, Option<usize>)>,
}

/// A tensor that was placed.
pub(crate) struct Landed {
    /// The address of its description.
    pub(crate) at: Option<usize>,
    pub(crate) site: Option<&'static Site>,
    pub(crate) dtype: DType,
    pub(crate) shape: Shape,
    pub(crate) recorded: Device,
    pub(crate) decision: Decision,
    pub(crate) bytes: usize,
    pub(crate) transfer: Transfer,
}

struct Warning {
    at: Option<usize>,
    site: Option<&'static Site>,
    wanted: Device,
    device: Device,
    bytes: usize,
}

/// One decoding call.
pub(crate) struct Call<'de> {
    id: u64,
    body: &'de [u8],
    /// The offset of the body in the message.
    offset: u64,
    open: bool,
}

impl<'de> Call<'de> {
    pub(crate) fn enter(
        options: Arc<Options>,
        owner: Option<Bytes>,
        body: &'de [u8],
        offset: u64,
        record: bool,
    ) -> Self {
        let id = NEXT_ID.get();
        NEXT_ID.set(id.wrapping_add(1));
        STACK.with_borrow_mut(|stack| {
            let base = stack.sites.len();
            stack.frames.push(Frame {
                id,
                options,
                owner,
                body: addresses(body),
                base,
                copies: HashMap::new(),
                fell_back: WarnOnce::new(),
                log: Log {
                    record,
                    ..Log::default()
                },
            });
        });
        Self {
            id,
            body,
            offset,
            open: true,
        }
    }

    /// Ends the call: warns of what there was to warn of, reports, and says whether a tensor failed.
    pub(crate) fn finish(mut self) -> Result<Report, Error> {
        let Some(log) = self.leave() else {
            return Ok(Report::default());
        };
        match log.failure {
            Some((error, at)) => Err(self.locate(error, at)),
            None => Ok(report(self.body, log.landed)),
        }
    }

    fn leave(&mut self) -> Option<Log> {
        if !mem::replace(&mut self.open, false) {
            return None;
        }
        // The frame leaves the borrow before it is dropped: its owner's `Drop` may be a user's.
        let frame = STACK.try_with(|stack| {
            let mut stack = stack.borrow_mut();
            let at = stack.frames.iter().rposition(|frame| frame.id == self.id)?;
            let frame = stack.frames.remove(at);
            if at == stack.frames.len() {
                stack.sites.truncate(frame.base);
            }
            Some(frame)
        });
        let mut frame = frame.ok().flatten()?;
        let log = mem::take(&mut frame.log);
        for warning in &log.warnings {
            warning.emit(Some(self.body));
        }
        Some(log)
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

/// Reads a marked field.
pub(crate) fn in_field<R>(site: &'static Site, read: impl FnOnce() -> R) -> R {
    struct Scope;
    impl Drop for Scope {
        fn drop(&mut self) {
            STACK.with_borrow_mut(|stack| stack.sites.pop());
        }
    }
    STACK.with_borrow_mut(|stack| stack.sites.push(site));
    let _scope = Scope;
    read()
}

/// What a tensor needs to know of the call that it is read in.
pub(crate) struct Context {
    /// The number of the call's frame; `None` under another format.
    frame: Option<u64>,
    pub(crate) options: Arc<Options>,
    pub(crate) field: FieldDevice,
    pub(crate) site: Option<&'static Site>,
}

/// The context of a tensor whose description is at the address, or came from elsewhere.
pub(crate) fn context(at: Option<usize>) -> Context {
    STACK.with_borrow(|stack| {
        let base = stack.frames.last().map_or(0, |frame| frame.base);
        let sites = stack.sites.get(base..).unwrap_or(&[]);
        let frame = stack.frame(at);
        Context {
            frame: frame.map(|frame| frame.id),
            options: frame.map_or_else(default_options, |frame| Arc::clone(&frame.options)),
            field: effective(sites),
            site: sites.last().copied(),
        }
    })
}

/// The default options, which are made but once.
pub(crate) fn default_options() -> Arc<Options> {
    thread_local! {
        static DEFAULT: Arc<Options> = Arc::new(Options::default());
    }
    DEFAULT.with(Arc::clone)
}

impl Context {
    /// The bytes as a part of the message's own buffer, where that may be shared.
    pub(crate) fn share(&self, bytes: &[u8]) -> Option<Bytes> {
        if bytes.is_empty() || self.options.detach {
            return None;
        }
        self.with_frame(|frame| {
            let owner = frame.owner.as_ref()?;
            let (all, part) = (addresses(owner), addresses(bytes));
            (all.start <= part.start && part.end <= all.end)
                .then(|| owner.slice(part.start - all.start..part.end - all.start))
        })
        .flatten()
    }

    /// The memory that an earlier tensor of this call copied the same bytes to: one storage under two names stays one.
    pub(crate) fn earlier_copy(&self, bytes: &[u8]) -> Option<Bytes> {
        if bytes.is_empty() || self.options.detach {
            return None;
        }
        self.with_frame(|frame| frame.copies.get(&addresses(bytes)).cloned())
            .flatten()
    }

    /// Keeps a copy for tensors that name the same bytes. Inline data has one name, so it is not kept.
    pub(crate) fn keep_copy(&self, bytes: &[u8], copy: &Bytes) {
        if bytes.is_empty() || self.options.detach {
            return;
        }
        let before = self.with_frame(|frame| {
            let from = addresses(bytes);
            let inline = frame.body.start <= from.start && from.end <= frame.body.end;
            (!inline).then(|| frame.copies.insert(from, copy.clone()))
        });
        drop(before);
    }

    /// Notes a tensor that did not land where it was wanted, to warn of it when the call ends.
    pub(crate) fn fell_back(&self, at: Option<usize>, decision: &Decision, bytes: usize) {
        let pair = (decision.wanted, decision.device);
        let first = match self.site {
            Some(site) => site.first_fallback(pair.0, pair.1),
            None => self.with_frame(|frame| frame.fell_back.first(pair)).unwrap_or(true),
        };
        if !first {
            return;
        }
        let warning = Warning {
            at,
            site: self.site,
            wanted: decision.wanted,
            device: decision.device,
            bytes,
        };
        match self.frame {
            // The path can be had only where the body is: at the end of the call.
            Some(_) => {
                self.with_frame(|frame| frame.log.warnings.push(warning));
            }
            None => warning.emit(None),
        }
    }

    /// Records a tensor for the report, if one was asked for.
    pub(crate) fn landed(&self, landed: impl FnOnce() -> Landed) {
        if self.with_frame(|frame| frame.log.record) == Some(true) {
            let landed = landed();
            self.with_frame(|frame| frame.log.landed.push(landed));
        }
    }

    /// Gives an error to serde as text, and, if trying another variant of an untagged enum would not mend it, to the
    /// call as it is.
    pub(crate) fn fail<E: serde::de::Error>(&self, error: Error, at: Option<usize>) -> E {
        let error = match self.site {
            Some(site) if self.frame.is_none() => error.within(|| site.to_string()),
            _ => error,
        };
        let text = E::custom(&error);
        let lasting = matches!(error.category(), Category::Device | Category::Backend | Category::Limit);
        if lasting {
            self.with_frame(|frame| {
                frame.log.failure.get_or_insert((error, at));
            });
        }
        text
    }

    fn with_frame<R>(&self, use_it: impl FnOnce(&mut Frame) -> R) -> Option<R> {
        let id = self.frame?;
        STACK.with_borrow_mut(|stack| {
            let frame = stack.frames.iter_mut().rfind(|frame| frame.id == id)?;
            Some(use_it(frame))
        })
    }
}

impl Stack {
    /// The frame whose body holds the address, or else the innermost.
    fn frame(&self, at: Option<usize>) -> Option<&Frame> {
        at.and_then(|at| self.frames.iter().rfind(|frame| frame.body.contains(&at)))
            .or(self.frames.last())
    }
}

impl Warning {
    fn emit(&self, body: Option<&[u8]>) {
        let path = warn::enabled()
            .then(|| path::locate(body?, position_in(body?, self.at?)?).0.into())
            .flatten();
        let path: Option<String> = path;
        warn::fallback(path.as_deref(), self.site, self.wanted, self.device, self.bytes);
    }
}

/// The report of a call: one row a tensor, in the order of the message.
fn report(body: &[u8], mut landed: Vec<Landed>) -> Report {
    landed.sort_by_key(|landed| landed.at);
    // An untagged enum reads a tensor once for each variant it tries; the last is the one that was kept.
    let mut rows: Vec<TensorReport> = Vec::with_capacity(landed.len());
    let mut walk = Walk::new(body);
    let mut last = None;
    for landed in landed {
        if landed.at.is_some() && landed.at == last {
            if let Some(row) = rows.last_mut() {
                let path = mem::take(&mut row.path);
                *row = landed.into_row(path);
            }
            continue;
        }
        last = landed.at;
        let path = match landed.at.and_then(|at| position_in(body, at)) {
            Some(position) => {
                walk.advance_past(position);
                walk.path()
            }
            None => String::new(),
        };
        rows.push(landed.into_row(path));
    }
    Report::new(rows)
}

impl Landed {
    fn into_row(self, path: String) -> TensorReport {
        TensorReport {
            path,
            site: self.site,
            dtype: self.dtype,
            shape: self.shape,
            recorded: self.recorded,
            wanted: self.decision.wanted,
            device: self.decision.device,
            bytes: self.bytes,
            rule: self.decision.rule,
            transfer: self.transfer,
        }
    }
}

/// The addresses of a slice's bytes: compared, never followed.
pub(crate) fn addresses(bytes: &[u8]) -> Range<usize> {
    let range = bytes.as_ptr_range();
    range.start.addr()..range.end.addr()
}

fn position_in(body: &[u8], at: usize) -> Option<usize> {
    let range = addresses(body);
    range.contains(&at).then(|| at - range.start)
}
