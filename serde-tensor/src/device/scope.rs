//! Guards for futures, which move between threads.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::Device;
use super::guard::{DeviceGuard, Frame};

/// Runs `future` with `device` as the innermost guard, on whichever thread polls it.
///
/// The guard is entered for each poll and left after it, on a panic too, so neither other tasks on the thread nor the
/// caller see it. It holds also while the future is dropped. The result is `Send` if `future` is.
///
/// A task spawned inside starts without it: wrap the spawned future too.
///
/// # Examples
///
/// ```
/// use serde_tensor::{Device, device};
/// # fn block_on<F: Future>(future: F) -> F::Output {
/// #     let mut future = std::pin::pin!(future);
/// #     let mut context = std::task::Context::from_waker(std::task::Waker::noop());
/// #     loop {
/// #         if let std::task::Poll::Ready(output) = future.as_mut().poll(&mut context) {
/// #             return output;
/// #         }
/// #     }
/// # }
///
/// let seen = block_on(device::scope(Device::Cuda(1), async {
///     // … receive a message, then decode it: its tensors go to cuda:1.
///     device::current()
/// }));
/// assert_eq!(seen, Some(Device::Cuda(1)));
/// assert_eq!(device::current(), None);
/// ```
pub fn scope<F: Future>(device: Device, future: F) -> Scope<F> {
    Scope {
        frame: Frame::On(device),
        future: Some(Box::pin(future)),
    }
}

/// Runs `future` with routing switched off, as [`DeviceGuard::disable`] does for a thread.
pub fn without_routing<F: Future>(future: F) -> Scope<F> {
    Scope {
        frame: Frame::RoutingOff,
        future: Some(Box::pin(future)),
    }
}

/// The future of [`scope`] and [`without_routing`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Scope<F> {
    frame: Frame,
    // Boxed: pinning a field in place needs `unsafe`, and an `async` block around the future would double its size.
    // `None` once it has completed, so that it is dropped inside the guard.
    future: Option<Pin<Box<F>>>,
}

impl<F: Future> Future for Scope<F> {
    type Output = F::Output;

    /// # Panics
    ///
    /// When polled again after completion, as an `async` block does.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let _guard = DeviceGuard::push(self.frame);
        let Some(future) = &mut self.future else {
            unreachable!("`device::scope` was polled after it had completed")
        };
        let polled = future.as_mut().poll(context);
        if polled.is_ready() {
            self.future = None;
        }
        polled
    }
}

impl<F> Drop for Scope<F> {
    fn drop(&mut self) {
        if self.future.is_some() {
            let _guard = DeviceGuard::push(self.frame);
            self.future = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::mpsc;
    use std::task::Waker;

    use super::super::current;
    use super::*;

    /// Pending `0` times more, then ready.
    struct Yield(usize);

    impl Future for Yield {
        type Output = ();

        fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
            match self.0.checked_sub(1) {
                Some(left) => {
                    self.0 = left;
                    Poll::Pending
                }
                None => Poll::Ready(()),
            }
        }
    }

    fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn it_holds_during_polls_only() {
        let mut task = Box::pin(scope(Device::Cuda(1), async {
            assert_eq!(current(), Some(Device::Cuda(1)));
            Yield(1).await;
            assert_eq!(current(), Some(Device::Cuda(1)));
            without_routing(async { assert_eq!(current(), None) }).await;
            scope(Device::Cpu, async { current() }).await
        }));
        assert!(poll(task.as_mut()).is_pending());
        assert_eq!(current(), None);
        assert_eq!(poll(task.as_mut()), Poll::Ready(Some(Device::Cpu)));
        assert_eq!(current(), None);
    }

    #[test]
    fn tasks_interleaved_on_one_thread_do_not_see_each_other() {
        let mut tasks: Vec<_> = (0..4)
            .map(|index| {
                Box::pin(scope(Device::Cuda(index), async move {
                    for _ in 0..3 {
                        assert_eq!(current(), Some(Device::Cuda(index)));
                        Yield(1).await;
                    }
                }))
            })
            .collect();
        for round in 0..4 {
            for task in &mut tasks {
                assert_eq!(poll(task.as_mut()).is_ready(), round == 3);
            }
        }
        assert_eq!(current(), None);
    }

    #[test]
    fn it_follows_a_task_from_thread_to_thread() {
        let mut task = Box::pin(scope(Device::Cuda(2), async {
            let mut threads = vec![std::thread::current().id()];
            for _ in 0..3 {
                Yield(1).await;
                assert_eq!(current(), Some(Device::Cuda(2)));
                threads.push(std::thread::current().id());
            }
            threads
        }));
        let (done, threads) = mpsc::channel();
        // Each thread polls once and hands the task on.
        while {
            let done = done.clone();
            let (next, pending) = std::thread::spawn(move || {
                let polled = poll(task.as_mut());
                assert_eq!(current(), None);
                let pending = polled.is_pending();
                if let Poll::Ready(threads) = polled {
                    done.send(threads).unwrap();
                }
                (task, pending)
            })
            .join()
            .unwrap();
            task = next;
            pending
        } {}
        let mut threads: Vec<_> = threads.recv().unwrap();
        threads.dedup();
        assert_eq!(threads.len(), 4);
    }

    #[test]
    fn a_panic_inside_restores() {
        let mut task = Box::pin(scope(Device::Cuda(1), async {
            std::panic::resume_unwind(Box::new("on purpose"))
        }));
        let outcome = catch_unwind(AssertUnwindSafe(|| poll::<Scope<_>>(task.as_mut()).map(|(): ()| ())));
        assert!(outcome.is_err());
        assert_eq!(current(), None);
    }

    #[test]
    fn it_holds_while_the_future_is_dropped() {
        struct Seen(mpsc::Sender<Option<Device>>);
        impl Drop for Seen {
            fn drop(&mut self) {
                self.0.send(current()).unwrap();
            }
        }
        let (sender, seen) = mpsc::channel();
        let held = |polls: usize| {
            let value = Seen(sender.clone());
            scope(Device::Cuda(1), async move {
                Yield(polls).await;
                drop(value);
            })
        };
        drop(held(0));
        let mut cancelled = Box::pin(held(5));
        assert!(poll(cancelled.as_mut()).is_pending());
        drop(cancelled);
        let mut finished = Box::pin(held(0));
        assert!(poll(finished.as_mut()).is_ready());
        assert_eq!(seen.try_iter().collect::<Vec<_>>(), [Some(Device::Cuda(1)); 3]);
        assert_eq!(current(), None);
    }

    #[test]
    fn it_is_send_if_the_future_is() {
        fn assert_send<T: Send>(_: &T) {}
        assert_send(&scope(Device::Cpu, Yield(0)));
    }
}
