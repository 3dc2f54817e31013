//! The frames of encoding calls.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;

use super::effective;
use crate::device::{Device, FieldDevice, Pin, Site};
use crate::error::{Error, Result};
use crate::wire::descriptor::Fields;

thread_local! {
    static STACK: RefCell<Stack> = const { RefCell::new(Stack { sites: Vec::new(), calls: Vec::new(), next: 0 }) };
    static OFFER: Cell<Option<usize>> = const { Cell::new(None) };
    static IDENTITY: Cell<Option<Identity>> = const { Cell::new(None) };
    static FAILURE: Cell<Option<Error>> = const { Cell::new(None) };
}

/// What was warned of where there is neither a marked field nor a call: under other formats.
static ELSEWHERE: Site = Site::new("", "", FieldDevice::Auto);

/// Uses the stack; `None` while the thread ends and it is gone.
#[inline]
fn with_stack<R>(use_it: impl FnOnce(&mut Stack) -> R) -> Option<R> {
    STACK.try_with(|stack| use_it(&mut stack.borrow_mut())).ok()
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
        let id = with_stack(|stack| {
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
        with_stack(|stack| {
            if let Some(at) = stack.calls.iter().rposition(|&(id, _)| id == self.id) {
                stack.calls.remove(at);
            }
        });
    }
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
            with_stack(|stack| stack.sites.pop());
        }
    }
    with_stack(|stack| stack.sites.push(site));
    let _scope = Scope;
    write()
}

/// What the fields around the present tensor ask of the receiver.
#[inline]
///
/// # Errors
///
/// While the thread ends and what it knew of its calls is gone.
pub(crate) fn pin() -> Result<Pin> {
    with_stack(|stack| effective(stack.own_sites()).pin())
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

/// What a tensor tells this crate's serializer beside its bytes, which serde's data model has no place for.
pub(crate) struct Identity {
    pub(crate) key: Key,
    pub(crate) device: Device,
    /// The length of the tensor's data in bytes.
    pub(crate) len: usize,
    /// Where its data is.
    pub(crate) place: Option<Storage>,
    /// Its description, where its bytes follow at once and alone.
    pub(crate) fields: Option<Fields>,
    /// What keeps that place from being used anew, if the offer asked for it and there is such a thing.
    pub(crate) owner: Option<Box<dyn Any>>,
}

/// Which value a tensor is. A value borrowed for as long as a plan lives shares its key with no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) address: usize,
    pub(crate) size: usize,
    pub(crate) type_name: &'static str,
}

/// The place of a tensor's first byte. Tensors of one device and space whose ranges overlap share their data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Storage {
    /// Tells address spaces of one device apart; 0 where it has but one.
    pub space: u64,
    /// The address of the tensor's first byte in it.
    pub address: u64,
}

/// Asks the tensor that is about to be written for its [`Identity`]; data above `keep_above` bytes should be kept alive.
///
/// The tensor takes the offer up at once, before any other code can run, or it is withdrawn on drop.
pub(crate) struct Offer(());

impl Offer {
    #[inline]
    pub(crate) fn make(keep_above: usize) -> Self {
        OFFER.set(Some(keep_above));
        Self(())
    }
}

impl Drop for Offer {
    fn drop(&mut self) {
        OFFER.set(None);
        // Bound, so that the owner inside is dropped when nothing of this module is in use.
        let _unclaimed = take_identity();
    }
}

/// The tensor's side: takes the offer up.
#[inline]
pub(crate) fn take_offer() -> Option<usize> {
    OFFER.take()
}

/// The tensor's answer to an offer it took.
#[inline]
pub(crate) fn identify(identity: Identity) {
    // While the thread ends there is no place for it, and the tensor is written as if no plan knew it.
    let _ = IDENTITY.try_with(|cell| cell.set(Some(identity)));
}

/// The serializer's side: the answer.
#[inline]
pub(crate) fn take_identity() -> Option<Identity> {
    IDENTITY.try_with(Cell::take).ok().flatten()
}
