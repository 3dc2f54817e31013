//! The frames of decoding calls.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashSet};
use std::mem;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;

use super::effective;
use super::spans::Spans;
use crate::device::{
    Decision, Device, FieldDevice, OnMissing, Placement, Report, Site, TensorReport, Transfer, WarnOnce, warn,
};
use crate::error::{Category, Error};
use crate::limits::Limits;
use crate::path::Path;
use crate::tensor::{DType, MAX_ALIGN, Shape, aligned_copy, check_bool};
use crate::wire::path::{self, Walk};
use crate::wire::to_u64;

thread_local! {
    static STACK: RefCell<Stack> = const { RefCell::new(Stack { sites: Vec::new(), frames: Vec::new() }) };
    static NEXT_ID: Cell<u64> = const { Cell::new(0) };
}

/// What was warned of where there is neither a marked field nor a call: under other formats.
static ELSEWHERE: Site = Site::new("", "", FieldDevice::Auto);

/// Uses the stack; `None` while the thread ends and it is gone.
fn with_stack<R>(use_it: impl FnOnce(&mut Stack) -> R) -> Option<R> {
    STACK.try_with(|stack| use_it(&mut stack.borrow_mut())).ok()
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
    /// The length of the message.
    len: usize,
    /// How many bytes its tensors took in copies.
    copied: usize,
    /// The descriptions of the tensors that were counted, by address: one that is read again, for another variant, is not
    /// counted again.
    counted: HashSet<usize>,
    copies: Copies,
    /// Bytes that were seen to be a bool tensor's.
    bools: Spans,
    /// What tensor types keep for the call, one value a type.
    states: Vec<Box<dyn Any>>,
    fell_back: WarnOnce<(Device, Device)>,
    log: Log,
}

/// Copies of segments, by the addresses that they were copied from: first address, and end.
#[derive(Default)]
struct Copies(BTreeMap<usize, (usize, Bytes)>);

impl Copies {
    /// The part of a copy that was made of the bytes at these addresses, if it is aligned.
    fn part(&self, from: &Range<usize>, align: usize) -> Option<Bytes> {
        // A segment has at most as many copies as an element has bytes, which start within one element.
        let near = self.0.range(..=from.start).rev().take(MAX_ALIGN);
        let mut parts = near.filter(|&(_, &(end, _))| from.end <= end);
        parts.find_map(|(&start, (_, copy))| {
            let part = copy.slice(from.start - start..from.end - start);
            part.as_ptr().addr().is_multiple_of(align).then_some(part)
        })
    }

    fn insert(&mut self, from: Range<usize>, copy: Bytes) {
        self.0.insert(from.start, (from.end, copy));
    }
}

/// What happened in a call.
#[derive(Default)]
struct Log {
    record: bool,
    landed: Vec<Landed>,
    warnings: Vec<Warning>,
    failure: Option<(Error, Option<usize>)>,
    /// The last error that a tensor gave to serde as text, which another variant may still mend.
    passing: Option<Error>,
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
    why: Option<String>,
}

/// One decoding call.
pub(crate) struct Call<'de> {
    id: u64,
    body: &'de [u8],
    /// The offset of the body in the message.
    offset: u64,
    depth: usize,
    open: bool,
}

impl<'de> Call<'de> {
    pub(crate) fn enter(
        options: Arc<Options>,
        owner: Option<Bytes>,
        body: &'de [u8],
        offset: u64,
        len: usize,
        record: bool,
    ) -> Self {
        let id = NEXT_ID.replace(NEXT_ID.get().wrapping_add(1));
        // `Some` directly inside `Some` is a level to a walk, and only sometimes to the decoder.
        let depth = options.limits.depth.saturating_mul(2);
        with_stack(|stack| {
            let base = stack.sites.len();
            stack.frames.push(Frame {
                id,
                options,
                owner,
                body: addresses(body),
                base,
                len,
                copied: 0,
                counted: HashSet::new(),
                copies: Copies::default(),
                bools: Spans::default(),
                states: Vec::new(),
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
            depth,
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
            None => Ok(report(self.body, self.depth, log.landed)),
        }
    }

    /// The error that a tensor met, if `error` is what serde made of it: with its category and source.
    #[cold]
    pub(crate) fn recover(&self, error: Error) -> Error {
        let passing = with_stack(|stack| {
            let frame = stack.frames.iter_mut().rfind(|frame| frame.id == self.id)?;
            frame
                .log
                .passing
                .take_if(|passing| passing.to_string() == error.message())
        });
        passing.flatten().unwrap_or(error)
    }

    fn leave(&mut self) -> Option<Log> {
        if !mem::replace(&mut self.open, false) {
            return None;
        }
        // The frame leaves the borrow before it is dropped: its owner's `Drop` may be a user's.
        let mut frame = with_stack(|stack| {
            let at = stack.frames.iter().rposition(|frame| frame.id == self.id)?;
            let frame = stack.frames.remove(at);
            if at == stack.frames.len() {
                stack.sites.truncate(frame.base);
            }
            Some(frame)
        })
        .flatten()?;
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
            with_stack(|stack| stack.sites.pop());
        }
    }
    with_stack(|stack| stack.sites.push(site));
    let _scope = Scope;
    read()
}

/// What a tensor needs to know of the call that it is read in.
#[derive(Clone)]
pub(crate) struct Context {
    /// The number of the call's frame; `None` under another format.
    frame: Option<u64>,
    /// The address of the tensor's description, where that is the message's.
    at: Option<usize>,
    pub(crate) placement: Placement,
    pub(crate) on_missing: OnMissing,
    pub(crate) max_rank: usize,
    pub(crate) field: FieldDevice,
    pub(crate) site: Option<&'static Site>,
    /// The call's options, where they hold a device map.
    mapping: Option<Arc<Options>>,
    detach: bool,
    record: bool,
}

/// The context of a tensor whose description is at the address, or came from elsewhere.
///
/// `None` while the thread ends and what it knew of its calls is gone.
pub(crate) fn context(at: Option<usize>) -> Option<Context> {
    with_stack(|stack| {
        let base = stack.frames.last().map_or(0, |frame| frame.base);
        let sites = stack.sites.get(base..).unwrap_or(&[]);
        let (field, site) = (effective(sites), sites.last().copied());
        let frame = stack.frame(at);
        let mut context = match frame {
            Some(frame) => Context::of(&frame.options, frame.log.record),
            None => Context::of(&default_options(), false),
        };
        context.frame = frame.map(|frame| frame.id);
        (context.at, context.field, context.site) = (at, field, site);
        context
    })
}

/// The default options, which are made but once.
pub(crate) fn default_options() -> Arc<Options> {
    static DEFAULT: LazyLock<Arc<Options>> = LazyLock::new(Arc::default);
    Arc::clone(&DEFAULT)
}

impl Context {
    fn of(options: &Arc<Options>, record: bool) -> Self {
        Self {
            frame: None,
            at: None,
            placement: options.placement,
            on_missing: options.on_missing,
            max_rank: options.limits.rank,
            field: FieldDevice::Auto,
            site: None,
            mapping: (!options.device_map.is_empty()).then(|| Arc::clone(options)),
            detach: options.detach,
            record,
        }
    }

    pub(crate) fn device_map(&self) -> &[(Device, Device)] {
        self.mapping.as_ref().map_or(&[], |options| &options.device_map)
    }

    /// The bytes as a part of the message's own buffer, where that may be shared.
    pub(crate) fn share(&self, bytes: &[u8]) -> Option<Bytes> {
        if bytes.is_empty() || self.detach {
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

    /// A copy of `data`, which is a part of `segment`, at a multiple of `align`.
    ///
    /// It is the segment that is copied, once for all tensors in it: what overlaps in the message then overlaps here, and
    /// a thousand names for one segment take no more memory than it does.
    pub(crate) fn copy(&self, data: &[u8], segment: Option<&[u8]>, align: usize) -> Result<Bytes, Error> {
        let (from, align) = (addresses(data), align.max(1));
        if from.is_empty() || self.detach {
            self.charge(data, data.len())?;
            return Ok(aligned_copy(data, align));
        }
        let earlier = self.with_frame(|frame| frame.copies.part(&from, align)).flatten();
        if let Some(earlier) = earlier {
            return Ok(earlier);
        }
        // From where the data is aligned if its copy is.
        let whole = segment.and_then(|segment| segment.get((from.start - addresses(segment).start) % align..));
        let whole = whole.unwrap_or(data);
        self.charge(data, whole.len())?;
        let copy = aligned_copy(whole, align);
        let start = from.start - addresses(whole).start;
        let part = copy.slice(start..start + data.len());
        self.with_frame(|frame| {
            // Inline data has one name, so its copy is not kept.
            let inline = frame.body.start <= from.start && from.end <= frame.body.end;
            if !inline {
                frame.copies.insert(addresses(whole), copy);
            }
        });
        Ok(part)
    }

    /// Accounts for `len` bytes that a tensor takes beside its `data`. Many tensors may name the same bytes of a segment, so that a
    /// message's length alone says nothing of their sum; inline data has one name.
    pub(crate) fn charge(&self, data: &[u8], len: usize) -> Result<(), Error> {
        let start = addresses(data).start;
        let over = self.with_frame(|frame| {
            if frame.body.contains(&start) {
                return None;
            }
            if let Some(at) = self.at
                && !frame.counted.insert(at)
            {
                return None;
            }
            frame.copied = frame.copied.saturating_add(len);
            let most = frame.len.saturating_mul(frame.options.limits.copies);
            (frame.copied > most).then_some((frame.copied, most))
        });
        let Some((copied, most)) = over.flatten() else {
            return Ok(());
        };
        Err(Error::limit(format!(
            "copies of the message's tensors take {copied} bytes or more, above the limit of {most}"
        )))
    }

    /// Checks that a bool tensor's bytes are 0 or 1, each once however many tensors show it.
    pub(crate) fn check_bool(&self, data: &[u8]) -> Result<(), Error> {
        let range = addresses(data);
        let gaps = self.with_frame(|frame| {
            let inline = frame.body.contains(&range.start);
            (!inline).then(|| frame.bools.gaps(&range))
        });
        let Some(gaps) = gaps.flatten() else {
            return check_bool(data);
        };
        for gap in gaps {
            if check_bool(&data[gap.start - range.start..gap.end - range.start]).is_err() {
                // Once more, for the number of the element.
                return check_bool(data);
            }
        }
        self.with_frame(|frame| frame.bools.insert(range));
        Ok(())
    }

    pub(crate) fn detaches(&self) -> bool {
        self.detach
    }

    /// Uses the call's value of a type, which is out of the frame meanwhile: `use_it` is not this crate's.
    pub(crate) fn with_state<S: Default + 'static, R>(&self, use_it: impl FnOnce(&mut S) -> R) -> Option<R> {
        let kept = self.with_frame(|frame| {
            let at = frame.states.iter().position(|state| state.is::<S>())?;
            Some(frame.states.swap_remove(at))
        })?;
        let mut state = kept.and_then(|state| state.downcast::<S>().ok()).unwrap_or_default();
        let result = use_it(&mut state);
        self.with_frame(|frame| frame.states.push(state));
        Some(result)
    }

    /// Notes a tensor that did not land where it was wanted, to warn of it when the call ends.
    pub(crate) fn fell_back(
        &self,
        at: Option<usize>,
        decision: &Decision,
        bytes: usize,
        why: impl FnOnce() -> Option<String>,
    ) {
        // What nobody listens to is not used up.
        if !warn::enabled() {
            return;
        }
        let pair = (decision.wanted, decision.device);
        let first = match self.site {
            Some(site) => site.first_fallback(pair.0, pair.1),
            None => match self.with_frame(|frame| frame.fell_back.first(pair)) {
                Some(first) => first,
                None => ELSEWHERE.first_fallback(pair.0, pair.1),
            },
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
            why: why(),
        };
        match self.frame {
            // The path can be had only where the body is: at the end of the call.
            Some(_) => {
                self.with_frame(|frame| frame.log.warnings.push(warning));
            }
            None => warning.emit(None),
        }
    }

    /// This context, if the call wants to know where its tensors land.
    pub(crate) fn recorder(&self) -> Option<Self> {
        self.record.then(|| self.clone())
    }

    /// Records a tensor for the report.
    pub(crate) fn landed(&self, landed: Landed) {
        self.with_frame(|frame| frame.log.landed.push(landed));
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
        // What is not kept is dropped outside: its source may be a user's.
        let _other = self.with_frame(|frame| match &frame.log.failure {
            None if lasting => frame.log.failure.replace((error, at)).map(|(error, _)| error),
            Some(_) if lasting => Some(error),
            _ => frame.log.passing.replace(error),
        });
        text
    }

    fn with_frame<R>(&self, use_it: impl FnOnce(&mut Frame) -> R) -> Option<R> {
        let id = self.frame?;
        with_stack(|stack| {
            let frame = stack.frames.iter_mut().rfind(|frame| frame.id == id)?;
            Some(use_it(frame))
        })
        .flatten()
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
        let why = self.why.as_deref();
        warn::fallback(path.as_deref(), self.site, self.wanted, self.device, self.bytes, why);
    }
}

/// The report of a call: one row a tensor, in the order of the message.
fn report(body: &[u8], depth: usize, mut landed: Vec<Landed>) -> Report {
    landed.sort_by_key(|landed| landed.at);
    // An untagged enum reads a tensor once for each variant it tries; the last is the one that was kept.
    let mut rows: Vec<TensorReport> = Vec::with_capacity(landed.len());
    let mut walk = Walk::new(body, depth);
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
                walk.trail().into()
            }
            None => Path::default(),
        };
        rows.push(landed.into_row(path));
    }
    Report::new(rows)
}

impl Landed {
    fn into_row(self, path: Path) -> TensorReport {
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
