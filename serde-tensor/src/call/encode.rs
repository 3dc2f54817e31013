//! The frames of encoding calls.

use std::cell::{Cell, RefCell};
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

use super::effective;
use crate::backend::{KeepAlive, Unmodified};
use crate::device::{Device, FieldDevice, Pin, Site};
use crate::error::{Error, Result};
use crate::wire::descriptor::Short;

thread_local! {
    static STACK: RefCell<Stack> = const { RefCell::new(Stack { sites: Vec::new(), calls: Vec::new(), next: 0 }) };
    // What passes between each tensor and the serializer lies in cells that own nothing: reading one is a load, without a look at whether
    // the thread ends. Those of small tensors are of a word each. Words that were stored singly would have to arrive in memory before they
    // could be loaded in pairs, as the compiler moves a struct.
    static PIN: Cell<Option<Pin>> = const { Cell::new(Some(Pin::None)) };
    static ASKED: Cell<Option<Ask>> = const { Cell::new(None) };
    static LIMIT: Cell<usize> = const { Cell::new(0) };
    static UNMODIFIED: Cell<Option<Unmodified>> = const { Cell::new(None) };
    static SHORT: Cell<u64> = const { Cell::new(0) };
    static SHORT_DIMS: Cell<u64> = const { Cell::new(0) };
    static IDENTITY: Cell<Option<Identity>> = const { Cell::new(None) };
    static KEPT: Cell<bool> = const { Cell::new(false) };
    static OWNER: Cell<Option<Box<dyn KeepAlive>>> = const { Cell::new(None) };
    // How much is to come is asked for with the limit above which tensors get segments, and told by the first value that knows.
    static FORECAST_ASKED: Cell<Option<usize>> = const { Cell::new(None) };
    static FORECAST_BYTES: Cell<usize> = const { Cell::new(0) };
    static FORECAST_SEGMENTS: Cell<usize> = const { Cell::new(0) };
    static FAILURE: Cell<Option<Error>> = const { Cell::new(None) };
}

/// What was warned of where there is neither a marked field nor a call: under other formats.
static ELSEWHERE: Site = Site::new("", "", FieldDevice::Auto);

/// Uses the stack; `None` while the thread ends and it is gone.
#[inline]
fn with_stack<R>(use_it: impl FnOnce(&mut Stack) -> R) -> Option<R> {
    STACK.try_with(|stack| use_it(&mut stack.borrow_mut())).ok()
}

/// Changes the stack, and with it what the fields around the present tensor ask of the receiver.
fn change_stack<R>(change: impl FnOnce(&mut Stack) -> R) -> Option<R> {
    with_stack(|stack| {
        let result = change(stack);
        PIN.set(Some(effective(stack.own_sites()).pin()));
        result
    })
}

struct Stack {
    /// The marked fields being written, of all calls, outermost first.
    sites: Vec<&'static Site>,
    /// The number of each call, and where its own sites begin.
    calls: Vec<(u64, usize)>,
    next: u64,
}

/// One encoding call: fields marked around the value that holds this call do not reach into it.
pub(crate) struct Call {
    id: u64,
    /// A call belongs to its thread.
    _thread: PhantomData<*const ()>,
}

impl Call {
    pub(crate) fn enter() -> Self {
        forget_forecast();
        let id = change_stack(|stack| {
            stack.next = stack.next.wrapping_add(1);
            stack.calls.push((stack.next, stack.sites.len()));
            stack.next
        });
        Self {
            id: id.unwrap_or_default(),
            _thread: PhantomData,
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        forget_forecast();
        change_stack(|stack| {
            if let Some(at) = stack.calls.iter().rposition(|&(id, _)| id == self.id) {
                stack.calls.remove(at);
            }
        });
    }
}

/// What a value says of the segments that it will take, before it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Forecast {
    pub(crate) bytes: usize,
    pub(crate) segments: usize,
}

/// Asks the value about to be written for a forecast, where tensors of more than `limit` bytes get segments.
#[inline]
pub(crate) fn ask_forecast(limit: usize) {
    FORECAST_ASKED.set(Some(limit));
}

/// The limit, if a forecast is asked for: it is the present value's to give.
#[inline]
pub(crate) fn forecast_asked() -> Option<usize> {
    FORECAST_ASKED.get()?;
    FORECAST_ASKED.take()
}

#[inline]
pub(crate) fn forecast(forecast: Forecast) {
    FORECAST_BYTES.set(forecast.bytes);
    FORECAST_SEGMENTS.set(forecast.segments);
}

/// What was forecast, and not used yet.
#[inline]
pub(crate) fn take_forecast() -> Forecast {
    Forecast {
        bytes: FORECAST_BYTES.get(),
        segments: FORECAST_SEGMENTS.take(),
    }
}

/// Takes back what was asked and told, which is not meant for another call.
#[inline]
fn forget_forecast() {
    FORECAST_ASKED.set(None);
    FORECAST_SEGMENTS.set(0);
}

/// How many encoding calls are open on this thread.
pub(crate) fn open_calls() -> usize {
    with_stack(|stack| stack.calls.len()).unwrap_or(0)
}

/// Gives an error to serde as text, and keeps it as it is for this crate's serializer.
pub(crate) fn fail<E: serde::ser::Error>(error: Error) -> E {
    let text = E::custom(error.message());
    let _ = FAILURE.try_with(|cell| cell.set(Some(error)));
    text
}

/// The error that a tensor met, if `error` is what serde made of it: with its category and source.
pub(crate) fn recover(error: Error) -> Error {
    match FAILURE.try_with(Cell::take).ok().flatten() {
        Some(failure) if failure.message() == error.message() => failure,
        _ => error,
    }
}

/// Writes a marked field.
pub(crate) fn in_field<R>(site: &'static Site, write: impl FnOnce() -> R) -> R {
    struct Scope;
    impl Drop for Scope {
        fn drop(&mut self) {
            change_stack(|stack| stack.sites.pop());
        }
    }
    change_stack(|stack| stack.sites.push(site));
    let _scope = Scope;
    write()
}

/// What the fields around the present tensor ask of the receiver.
///
/// # Errors
///
/// While the thread ends and what it knew of its calls is gone.
#[inline(always)]
pub(crate) fn pin() -> Result<Pin> {
    PIN.get()
        .ok_or_else(|| Error::data("a tensor cannot be encoded while its thread ends"))
}

/// Whether a copy off a device is the first of its kind, under a format that keeps no account of its calls.
pub(crate) fn first_copy_elsewhere(site: Option<&'static Site>, device: Device) -> bool {
    site.unwrap_or(&ELSEWHERE).first_copy(device)
}

/// The innermost marked field around the present tensor.
pub(crate) fn site() -> Option<&'static Site> {
    with_stack(|stack| stack.own_sites().last().copied()).flatten()
}

impl Stack {
    #[inline]
    fn own_sites(&self) -> &[&'static Site] {
        let base = self.calls.last().map_or(0, |&(_, base)| base);
        self.sites.get(base..).unwrap_or(&[])
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        PIN.set(None);
    }
}

/// What a tensor tells this crate's serializer beside its bytes, which serde's data model has no place for.
#[derive(Clone, Copy)]
pub(crate) struct Identity {
    pub(crate) key: Key,
    pub(crate) device: Device,
    /// The length of the tensor's data in bytes.
    pub(crate) len: usize,
    /// Where its data is.
    pub(crate) place: Option<Storage>,
    /// Its description, where its bytes follow at once and alone.
    pub(crate) short: Option<Short>,
}

/// Which value a tensor is. A value borrowed for as long as a plan lives shares its key with no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) address: usize,
    pub(crate) size: usize,
    pub(crate) type_name: &'static str,
}

impl Hash for Key {
    /// Few values begin at the same address, and names are long.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.address.hash(state);
    }
}

/// The place of a tensor's first byte. Tensors of one device and space whose ranges overlap share their data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Storage {
    /// Tells address spaces of one device apart; 0 where it has but one.
    pub space: u64,
    /// The address of the tensor's first byte in it.
    pub address: u64,
}

/// What the tensor that is about to be written is asked for.
#[derive(Clone, Copy)]
pub(crate) enum Ask {
    /// Its [`Identity`]. If it is on the host, its data is at hand and not above the limit, then only its description, if that is short.
    Little,
    /// Its [`Identity`].
    All,
}

/// What a tensor is asked for, and a limit in bytes: above it, what keeps its data from being freed is asked for too.
#[derive(Clone, Copy)]
pub(crate) struct Offer {
    pub(crate) ask: Ask,
    pub(crate) limit: usize,
    /// With the caller's promise, bytes that others could write to are at hand too.
    pub(crate) unmodified: Option<Unmodified>,
}

impl Offer {
    /// Makes the offer. The tensor takes it up at once, before any other code can run, or it is withdrawn with the result.
    #[inline(always)]
    pub(crate) fn make(self) -> Standing {
        LIMIT.set(self.limit);
        UNMODIFIED.set(self.unmodified);
        ASKED.set(Some(self.ask));
        Standing(())
    }
}

/// An offer that was made. It is withdrawn when it is dropped, or at once by [`withdraw`](Self::withdraw).
pub(crate) struct Standing(());

impl Standing {
    #[inline(always)]
    pub(crate) fn withdraw(self) {
        withdraw();
        std::mem::forget(self);
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        withdraw();
    }
}

#[inline(always)]
fn withdraw() {
    ASKED.set(None);
    SHORT.set(0);
    IDENTITY.set(None);
    if KEPT.get() {
        // Bound, so that it is dropped when nothing of this module is in use.
        let _unclaimed = take_owner();
    }
}

/// The tensor's side: takes the offer up.
#[inline(always)]
pub(crate) fn take_offer() -> Option<Offer> {
    let ask = ASKED.take()?;
    Some(Offer {
        ask,
        limit: LIMIT.get(),
        unmodified: UNMODIFIED.get(),
    })
}

/// The whole answer of a tensor that was asked for no more; its bytes follow at once and alone.
#[inline(always)]
pub(crate) fn describe_short(short: Short) {
    let [head, dims] = short.to_words();
    SHORT.set(head);
    SHORT_DIMS.set(dims);
}

/// The tensor's answer to an offer it took.
#[inline]
pub(crate) fn identify(identity: Identity) {
    IDENTITY.set(Some(identity));
}

/// What goes with the answer if the offer asked for it: what keeps the tensor's place from being used anew.
pub(crate) fn keep(owner: Box<dyn KeepAlive>) {
    // While the thread ends there is no place for it, and the tensor is tied to no other.
    let left = OWNER.try_with(|cell| cell.replace(Some(owner)));
    KEPT.set(left.is_ok());
}

/// The serializer's side: the answer that is a description alone.
#[inline(always)]
pub(crate) fn take_short() -> Option<Short> {
    Short::from_words([SHORT.take(), SHORT_DIMS.get()])
}

/// The answer of a tensor that was asked for more.
#[inline]
pub(crate) fn take_identity() -> Option<Identity> {
    IDENTITY.take()
}

/// What came with it.
#[inline(never)]
pub(crate) fn take_owner() -> Option<Box<dyn KeepAlive>> {
    if !KEPT.take() {
        return None;
    }
    OWNER.try_with(Cell::take).ok().flatten()
}
