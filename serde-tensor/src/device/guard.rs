//! Guards: a device, or routing switched off, for a scope on this thread.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;

use super::{Device, process};

/// What one guard says to the tensors decoded while it is the innermost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    On(Device),
    RoutingOff,
}

thread_local! {
    /// The live guards' frames with their ids, outermost first.
    static FRAMES: RefCell<Vec<(u64, Frame)>> = const { RefCell::new(Vec::new()) };
    static NEXT_ID: Cell<u64> = const { Cell::new(0) };
}

/// While it lives, tensors decoded on this thread go to its device.
///
/// Of several guards the innermost wins, that is, the one entered last. Each removes its own frame when it is dropped,
/// in whatever order they are dropped, and when a panic unwinds too. A guard belongs to its thread: other threads do
/// not see it, and it is not `Send`. In async code use [`scope`](super::scope), which follows a task from thread to
/// thread.
///
/// A call's placement, a field's attribute and a sender's pin come before guards; see the [module](super) for the whole
/// order.
///
/// # Examples
///
/// ```
/// use serde_tensor::{Device, DeviceGuard, device};
///
/// let _outer = DeviceGuard::enter(Device::Cuda(0));
/// {
///     let _inner = DeviceGuard::enter(Device::Cpu);
///     assert_eq!(device::current(), Some(Device::Cpu));
/// }
/// assert_eq!(device::current(), Some(Device::Cuda(0)));
/// ```
///
/// It cannot leave its thread:
///
/// ```compile_fail,E0277
/// fn send<T: Send>(_: T) {}
/// send(serde_tensor::DeviceGuard::disable());
/// ```
#[derive(Debug)]
#[must_use = "the guard ends where it is dropped: bind it to a name such as `_guard`"]
pub struct DeviceGuard {
    id: u64,
    // The frame lies on this thread's stack.
    not_send: PhantomData<*const ()>,
}

impl DeviceGuard {
    /// Sends the tensors decoded on this thread to `device` until the guard is dropped.
    ///
    /// The device need not be there: that is looked at when a tensor arrives.
    pub fn enter(device: Device) -> Self {
        Self::push(Frame::On(device))
    }

    /// Switches routing off on this thread until the guard is dropped: each tensor goes to where it was when encoded.
    ///
    /// A guard entered inside switches it on again for its own scope.
    ///
    /// # Examples
    ///
    /// ```
    /// use serde_tensor::{Device, DeviceGuard, device};
    ///
    /// let _outer = DeviceGuard::enter(Device::Cuda(0));
    /// let _off = DeviceGuard::disable();
    /// assert_eq!(device::current(), None);
    /// ```
    pub fn disable() -> Self {
        Self::push(Frame::RoutingOff)
    }

    pub(super) fn push(frame: Frame) -> Self {
        let id = NEXT_ID.get();
        // Ids only need to differ among live guards of one thread.
        NEXT_ID.set(id.wrapping_add(1));
        // While the thread ends its stack may be gone already: then there is nothing left to route, and no panic.
        let _ = FRAMES.try_with(|frames| frames.borrow_mut().push((id, frame)));
        Self {
            id,
            not_send: PhantomData,
        }
    }
}

impl Drop for DeviceGuard {
    fn drop(&mut self) {
        let _ = FRAMES.try_with(|frames| {
            let mut frames = frames.borrow_mut();
            if let Some(position) = frames.iter().rposition(|(id, _)| *id == self.id) {
                frames.remove(position);
            }
        });
    }
}

/// Runs `body` with `device` as this thread's innermost guard.
///
/// # Examples
///
/// ```
/// use serde_tensor::{Device, device, with_device};
///
/// let inside = with_device(Device::Cuda(1), device::current);
/// assert_eq!(inside, Some(Device::Cuda(1)));
/// assert_eq!(device::current(), None);
/// ```
pub fn with_device<R>(device: Device, body: impl FnOnce() -> R) -> R {
    let _guard = DeviceGuard::enter(device);
    body()
}

/// The device of this thread's innermost guard, else the process default.
///
/// `None` when there is neither, or when routing is off: a tensor then goes to where it was when it was encoded.
pub fn current() -> Option<Device> {
    let ambient = Ambient::now();
    if ambient.routing_off {
        None
    } else {
        ambient.guard.or(ambient.default)
    }
}

/// All that is set outside a call, at one moment on one thread.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ambient {
    pub(super) routing_off: bool,
    pub(super) guard: Option<Device>,
    pub(super) default: Option<Device>,
}

impl Ambient {
    pub(super) fn now() -> Self {
        let innermost = FRAMES
            .try_with(|frames| frames.borrow().last().map(|(_, frame)| *frame))
            .ok()
            .flatten();
        let (off_here, guard) = match innermost {
            Some(Frame::On(device)) => (false, Some(device)),
            Some(Frame::RoutingOff) => (true, None),
            None => (false, None),
        };
        Self {
            routing_off: off_here || !process::global_routing(),
            guard,
            default: process::default_device(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    fn guarded() -> Option<Device> {
        Ambient::now().guard
    }

    fn depth() -> usize {
        FRAMES.with_borrow(Vec::len)
    }

    #[test]
    fn the_innermost_wins_and_the_outer_is_restored() {
        let outer = DeviceGuard::enter(Device::Cuda(0));
        let inner = DeviceGuard::enter(Device::Cuda(1));
        assert_eq!(guarded(), Some(Device::Cuda(1)));
        drop(inner);
        assert_eq!(guarded(), Some(Device::Cuda(0)));
        drop(outer);
        assert_eq!((guarded(), depth()), (None, 0));
    }

    #[test]
    fn each_guard_removes_its_own_frame_in_any_order() {
        let devices = [0, 1, 2].map(Device::Cuda);
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let mut guards = devices.map(|device| Some(DeviceGuard::enter(device)));
            for dropped in order {
                guards[dropped] = None;
                let left = (0..3).rev().find(|index| guards[*index].is_some());
                assert_eq!(guarded(), left.map(|index| devices[index]), "{order:?} after {dropped}");
            }
            assert_eq!(depth(), 0);
        }
    }

    #[test]
    fn disabling_and_entering_are_frames_on_one_stack() {
        let _outer = DeviceGuard::enter(Device::Cuda(0));
        let off = DeviceGuard::disable();
        assert!(Ambient::now().routing_off);
        let inner = DeviceGuard::enter(Device::Cuda(1));
        assert!(!Ambient::now().routing_off);
        assert_eq!(guarded(), Some(Device::Cuda(1)));
        drop(off);
        drop(inner);
        assert!(!Ambient::now().routing_off);
        assert_eq!(guarded(), Some(Device::Cuda(0)));
    }

    #[test]
    fn a_panic_restores() {
        let _outer = DeviceGuard::enter(Device::Cuda(0));
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let _inner = DeviceGuard::enter(Device::Cuda(1));
            with_device(Device::Cuda(2), || {
                std::panic::resume_unwind(Box::new("on purpose"));
            });
        }));
        assert!(outcome.map(|(): ()| ()).is_err());
        assert_eq!((guarded(), depth()), (Some(Device::Cuda(0)), 1));
    }

    #[test]
    fn other_threads_see_nothing() {
        let _guard = DeviceGuard::enter(Device::Cuda(0));
        let seen = std::thread::spawn(guarded).join().unwrap();
        assert_eq!(seen, None);
    }

    #[test]
    fn guards_are_harmless_while_the_thread_ends() {
        struct AtExit(RefCell<Option<DeviceGuard>>);
        impl Drop for AtExit {
            fn drop(&mut self) {
                let _late = DeviceGuard::enter(Device::Cuda(3));
                let _ = Ambient::now();
                self.0.take();
            }
        }
        // Destruction order of thread locals differs by platform; whichever comes first, nothing may panic.
        thread_local!(static BEFORE: AtExit = const { AtExit(RefCell::new(None)) });
        thread_local!(static AFTER: AtExit = const { AtExit(RefCell::new(None)) });
        let thread = std::thread::spawn(|| {
            BEFORE.with(|slot| slot.0.replace(None));
            let first = DeviceGuard::enter(Device::Cuda(0));
            let second = DeviceGuard::enter(Device::Cuda(1));
            BEFORE.with(|slot| slot.0.replace(Some(first)));
            AFTER.with(|slot| slot.0.replace(Some(second)));
        });
        assert!(thread.join().is_ok());
    }
}
