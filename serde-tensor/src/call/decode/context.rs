//! What a tensor can ask of the call that it is read in.

use std::ops::Range;
use std::rc::Rc;

use bytes::Bytes;

use super::held::Held;
use super::log::{Landed, Warning};
use super::names::Names;
use super::{ELSEWHERE, Frame, Place, SharedOptions, addresses, effective, slab, with_stack};
use crate::device::{Decision, Device, FieldDevice, OnMissing, Placement, Site, warn};
use crate::error::{Category, Error};
use crate::limits::Limits;
use crate::tensor::{MAX_ALIGN, aligned, aligned_copy, check_bool, is_aligned, no_bool, not_bool};

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
    mapping: Option<SharedOptions>,
    detach: bool,
    coalesce: bool,
    record: bool,
}

/// The context of a tensor whose description is at the address, or came from elsewhere.
///
/// `None` while the thread ends and what it knew of its calls is gone.
#[inline]
pub(crate) fn context(at: Option<usize>) -> Option<Context> {
    with_stack(|stack| {
        let base = stack.frames.last().map_or(0, |frame| frame.base);
        let sites = stack.sites.get(base..).unwrap_or(&[]);
        let (field, site) = (effective(sites), sites.last().copied());
        let frame = stack.frame(at);
        let mut context = match frame {
            Some(frame) => Context::of(&frame.options, frame.record),
            None => Context::of(&SharedOptions::default(), false),
        };
        context.frame = frame.map(|frame| frame.id);
        context.at = at.filter(|at| frame.is_some_and(|frame| frame.body.contains(at)));
        (context.field, context.site) = (field, site);
        context
    })
}

/// Whether a tensor of the host's, whose description is at the address, needs nothing of its call: the message is in memory, nobody
/// wants a report, and the rank is not above the limit.
#[inline]
pub(crate) fn is_plain(at: usize, rank: usize) -> bool {
    let plain = with_stack(|stack| match stack.frames.last() {
        Some(frame) if frame.body.contains(&at) => {
            !frame.record && frame.held.is_none() && rank <= frame.options.limits.rank
        }
        // Of an outer call, or of another format inside of this one.
        Some(_) => false,
        None => rank <= Limits::new().rank,
    });
    plain == Some(true)
}

/// Bytes as [`Context::share`] and [`Context::copy`] give them, at a multiple of `align`.
#[inline]
pub(crate) fn bytes_of_plain(at: usize, bytes: &[u8], segment: Option<&[u8]>, align: usize) -> Result<Bytes, Error> {
    let part = addresses(bytes);
    let own = with_stack(|stack| {
        let frame = stack.frames.last_mut().filter(|frame| frame.body.contains(&at))?;
        let is_inline = frame.place_of(&part) == Place::Body;
        if bytes.is_empty() || frame.options.detach {
            return Some((None, is_inline));
        }
        let shared = is_aligned(bytes, align).then(|| frame.share(&part)).flatten();
        if shared.is_some() || !is_inline || frame.owner.is_none() {
            return Some((shared, is_inline));
        }
        // Where a tensor may keep the whole message, it may also keep a few other tensors.
        frame.copied_inline += 1;
        if frame.copied_inline <= slab::FEW {
            return Some((None, is_inline));
        }
        let len = frame.len;
        let copy = frame.rare().slab.copy(bytes, len);
        Some((copy.filter(|copy| is_aligned(copy, align)), is_inline))
    });
    match own.flatten() {
        Some((Some(bytes), _)) => Ok(bytes),
        Some((None, true)) => Ok(aligned_copy(bytes, align)),
        _ => context(Some(at)).ok_or_else(ended)?.copy(bytes, segment, align),
    }
}

/// The error of a tensor that is decoded when what its thread knew of calls is gone.
#[cold]
pub(crate) fn ended() -> Error {
    Error::data("a tensor cannot be decoded while its thread ends")
}

impl Context {
    #[inline]
    fn of(options: &SharedOptions, record: bool) -> Self {
        Self {
            frame: None,
            at: None,
            placement: options.placement,
            on_missing: options.on_missing,
            max_rank: options.limits.rank,
            field: FieldDevice::Auto,
            site: None,
            mapping: (!options.device_map.is_empty()).then(|| options.clone()),
            detach: options.detach,
            coalesce: options.coalesce,
            record,
        }
    }

    /// The address of the tensor's description, where that is in the call's message.
    #[inline]
    pub(crate) fn at(&self) -> Option<usize> {
        self.at
    }

    #[inline]
    pub(crate) fn device_map(&self) -> &[(Device, Device)] {
        self.mapping.as_ref().map_or(&[], |options| &options.device_map)
    }

    /// The bytes as a part of the message's own buffer, where that may be shared.
    pub(crate) fn share(&self, bytes: &[u8]) -> Option<Bytes> {
        if bytes.is_empty() || self.detach {
            return None;
        }
        self.with_frame(|frame| frame.share(&addresses(bytes))).flatten()
    }

    /// A copy of `data`, which is a part of `segment`, at a multiple of `align`.
    ///
    /// It is the segment that is copied, once for all tensors in it: what overlaps in the message then overlaps here, and
    /// a thousand names for one segment take no more memory than it does.
    pub(crate) fn copy(&self, data: &[u8], segment: Option<&[u8]>, align: usize) -> Result<Bytes, Error> {
        let (from, align) = (addresses(data), align.max(1));
        let place = self
            .with_frame(|frame| frame.place_of(&from))
            .unwrap_or(Place::Elsewhere);
        // Inline data has one name, so its copy is neither counted nor kept.
        if place == Place::Body {
            return Ok(aligned_copy(data, align));
        }
        if from.is_empty() || self.detach || place == Place::Elsewhere {
            self.charge(data, data.len())?;
            return Ok(aligned_copy(data, align));
        }
        let earlier = self
            .with_frame(|frame| frame.rare.as_ref()?.copies.part(&from, align))
            .flatten();
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
        self.with_frame(|frame| frame.rare().copies.insert(addresses(whole), copy));
        Ok(part)
    }

    /// Accounts for `len` bytes that a tensor takes beside its `data`. Many tensors may name the same bytes of a segment, so that a
    /// message's length alone says nothing of their sum; inline data has one name.
    pub(crate) fn charge(&self, data: &[u8], len: usize) -> Result<(), Error> {
        let from = addresses(data);
        self.count(len, |frame| !frame.body.contains(&from.start) && frame.holds(&from))
    }

    /// [`charge`](Self::charge) of a tensor whose data lies in a segment.
    pub(crate) fn charge_segment(&self, len: usize) -> Result<(), Error> {
        self.count(len, |_| true)
    }

    fn count(&self, len: usize, counts: impl FnOnce(&Frame) -> bool) -> Result<(), Error> {
        let over = self.with_frame(|frame| {
            if !counts(frame) {
                return None;
            }
            let most = frame.len.saturating_mul(frame.options.limits.copies);
            let rare = frame.rare();
            if let Some(at) = self.at
                && !rare.counted.insert(at)
            {
                return None;
            }
            rare.copied = rare.copied.saturating_add(len);
            (rare.copied > most).then_some((rare.copied, most))
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
            (!inline && frame.holds(&range)).then(|| frame.rare().bools.gaps(&range))
        });
        let Some(gaps) = gaps.flatten() else {
            return check_bool(data);
        };
        for gap in gaps {
            let bad = not_bool(&data[gap.start - range.start..gap.end - range.start]);
            let end = bad.map_or(gap.end, |bad| gap.start + bad);
            self.with_frame(|frame| frame.rare().bools.insert(gap.start..end));
            if bad.is_some() {
                let at = end - range.start;
                return Err(no_bool(data[at], at));
            }
        }
        Ok(())
    }

    /// The message, where it lies in memory of a tensor library's own.
    pub(crate) fn held(&self) -> Option<Rc<Held>> {
        self.with_frame(|frame| frame.held.clone()).flatten()
    }

    /// A copy of a segment's bytes in a library's memory, made once for the call, or only of the part that is asked for where the
    /// call detaches.
    pub(crate) fn copy_held(&self, held: &Held, part: Range<usize>, segment: Range<usize>) -> Result<Bytes, Error> {
        if self.detach || part.is_empty() {
            self.charge_segment(part.len())?;
            return held.copy(part).map(Bytes::from);
        }
        if let Some(earlier) = self
            .with_frame(|frame| frame.rare.as_ref()?.copies.part(&part, 1))
            .flatten()
        {
            return Ok(earlier);
        }
        let copy = aligned(held.copy(segment.clone())?, MAX_ALIGN);
        let of = copy.slice(part.start - segment.start..part.end - segment.start);
        self.with_frame(|frame| frame.rare().copies.insert(segment, copy));
        Ok(of)
    }

    /// [`check_bool`](Self::check_bool) of bytes in a library's memory.
    pub(crate) fn check_held_bool(&self, held: &Held, part: &Range<usize>) -> Result<(), Error> {
        let gaps = self
            .with_frame(|frame| frame.rare().bools.gaps(part))
            .unwrap_or_default();
        for gap in gaps {
            held.pieces(gap.clone(), |at, piece| match not_bool(piece) {
                None => Ok(()),
                Some(bad) => Err(no_bool(piece[bad], at + bad - part.start)),
            })?;
            self.with_frame(|frame| frame.rare().bools.insert(gap));
        }
        Ok(())
    }

    pub(crate) fn detaches(&self) -> bool {
        self.detach
    }

    pub(crate) fn coalesces(&self) -> bool {
        self.coalesce
    }

    /// Whether more than one tensor names a segment, or may.
    pub(crate) fn is_named_again(&self, index: u64, body: &[u8], segments: usize) -> bool {
        self.with_frame(|frame| {
            let names = frame.rare().names.get_or_insert_with(|| Names::count(body, segments));
            names.again(index)
        })
        .unwrap_or(true)
    }

    /// Uses the call's value of a type, which is out of the frame meanwhile: `use_it` is not this crate's.
    pub(crate) fn with_state<S: Default + 'static, R>(&self, use_it: impl FnOnce(&mut S) -> R) -> Option<R> {
        let kept = self.with_frame(|frame| {
            let states = &mut frame.rare().states;
            let at = states.iter().position(|state| state.is::<S>())?;
            Some(states.swap_remove(at))
        })?;
        let mut state = kept.and_then(|state| state.downcast::<S>().ok()).unwrap_or_default();
        let result = use_it(&mut state);
        self.with_frame(|frame| frame.rare().states.push(state));
        Some(result)
    }

    /// Notes a tensor that did not land where it was wanted, to warn of it when the call ends.
    pub(crate) fn fell_back(&self, decision: &Decision, bytes: usize, why: impl FnOnce() -> Option<String>) {
        // What nobody listens to is not used up.
        if !warn::enabled() {
            return;
        }
        let pair = (decision.wanted, decision.device);
        let first = match self.site {
            Some(site) => site.first_fallback(pair.0, pair.1),
            None => match self.with_frame(|frame| frame.rare().fell_back.first(pair)) {
                Some(first) => first,
                None => ELSEWHERE.first_fallback(pair.0, pair.1),
            },
        };
        if !first {
            return;
        }
        let warning = Warning {
            at: self.at,
            site: self.site,
            wanted: decision.wanted,
            device: decision.device,
            bytes,
            why: why(),
        };
        match self.frame {
            // The path can be had only where the body is: at the end of the call.
            Some(_) => {
                self.with_frame(|frame| frame.rare().log.push(warning));
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
        self.with_frame(|frame| frame.rare().log.landed.push(landed));
    }

    /// Gives an error to serde as text, and, if trying another variant of an untagged enum would not mend it, to the
    /// call as it is.
    pub(crate) fn fail<E: serde::de::Error>(&self, error: Error) -> E {
        let error = match self.site {
            Some(site) if self.frame.is_none() => error.within(|| site.to_string()),
            _ => error,
        };
        let text = E::custom(&error);
        let lasting = matches!(error.category(), Category::Device | Category::Backend | Category::Limit);
        // What is not kept is dropped outside: its source may be a user's.
        let _other = self.with_frame(|frame| {
            let log = &mut frame.rare().log;
            match &log.failure {
                None if lasting => log.failure.replace((error, self.at)).map(|(error, _)| error),
                Some(_) if lasting => Some(error),
                _ => log.passing.replace(error),
            }
        });
        text
    }

    #[inline]
    fn with_frame<R>(&self, use_it: impl FnOnce(&mut Frame) -> R) -> Option<R> {
        let id = self.frame?;
        with_stack(|stack| {
            let frame = stack.frames.iter_mut().rfind(|frame| frame.id == id)?;
            Some(use_it(frame))
        })
        .flatten()
    }
}
