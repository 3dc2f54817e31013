//! What tensor types keep while a plan is made.

use std::any::Any;
use std::cell::RefCell;
use std::marker::PhantomData;

use super::encode;

thread_local! {
    static PLANS: RefCell<Vec<Frame>> = const { RefCell::new(Vec::new()) };
}

/// A value that is being planned.
struct Frame {
    /// How many encoding calls are open while code of this plan's runs, and none that it called itself.
    calls: usize,
    /// Its tensors are being found; else it is being encoded.
    finding: bool,
    /// What tensor types keep for it, one value a type.
    states: Vec<Box<dyn Any>>,
}

/// The making of a plan: the pass that finds a value's tensors, and then the one that encodes it.
pub(crate) struct Planning {
    /// How many others are being made around it.
    depth: Option<usize>,
    _thread: PhantomData<*const ()>,
}

impl Planning {
    pub(crate) fn begin() -> Self {
        let frame = Frame {
            calls: encode::open_calls(),
            finding: true,
            states: Vec::new(),
        };
        let depth = with_plans(|plans| {
            plans.push(frame);
            plans.len() - 1
        });
        Self {
            depth,
            _thread: PhantomData,
        }
    }

    /// The tensors were found; from now on the value is encoded, by a call that is open.
    pub(crate) fn encode(&self) {
        with_plans(|plans| {
            if let Some(frame) = self.depth.and_then(|depth| plans.get_mut(depth)) {
                (frame.calls, frame.finding) = (encode::open_calls(), false);
            }
        });
    }
}

impl Drop for Planning {
    fn drop(&mut self) {
        // What was kept leaves the borrow before it is dropped, which is a user's code.
        let _ended = with_plans(|plans| plans.split_off(self.depth.unwrap_or(plans.len()).min(plans.len())));
    }
}

/// Uses what a tensor type keeps while one value is planned, such as the tensors that are to leave a device together; it starts as the
/// default, and is dropped when the [`Plan`](crate::Plan) is made, before any of it is written.
///
/// `None` where no plan is made: under [`to_vec`](crate::to_vec) and other formats. While a plan is made, each tensor on a device is asked for its
/// [`host_bytes`](crate::backend::TensorBackend::host_bytes) twice, at the same address: when the plan looks for tensors, and when
/// it encodes the value; `use_it` is told whether it is the first time. The second time others are asked too, which are made while the value is
/// serialized and gone before the plan is: none of theirs may be kept.
pub fn with_plan_state<S: Default + 'static, R>(use_it: impl FnOnce(&mut S, bool) -> R) -> Option<R> {
    let calls = encode::open_calls();
    // It is out of its place meanwhile: `use_it` is not this crate's.
    let (depth, finding, kept) = with_plans(|plans| {
        let depth = plans.len().checked_sub(1)?;
        // Another number of calls: an encoding call inside of the value's own.
        let frame = plans.last_mut().filter(|frame| frame.calls == calls)?;
        let at = frame.states.iter().position(|state| state.is::<S>());
        let finding = frame.finding;
        Some((depth, finding, at.map(|at| frame.states.swap_remove(at))))
    })
    .flatten()?;
    let mut state = kept.and_then(|state| state.downcast::<S>().ok()).unwrap_or_default();
    let result = use_it(&mut state, finding);
    let _ended = with_plans(|plans| match plans.get_mut(depth) {
        Some(frame) => {
            frame.states.push(state);
            None
        }
        None => Some(state),
    });
    Some(result)
}

/// Uses the plans; `None` while the thread ends and they are gone.
fn with_plans<R>(use_them: impl FnOnce(&mut Vec<Frame>) -> R) -> Option<R> {
    PLANS.try_with(|plans| use_them(&mut plans.borrow_mut())).ok()
}
