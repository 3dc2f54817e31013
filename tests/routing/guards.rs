//! D6: guards are restored after an error and a panic, and are neither seen by other threads nor by other tasks.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_tensor::device::{self, Rule};
use serde_tensor::{Decoder, Device, DeviceGuard, TensorDeserialize, TensorSerialize, with_device};

use crate::common::sent::{Plain, SOURCE, plain, sent};
use crate::common::sim::{EightGpus, SimTensor};

/// Panics when it is encoded or decoded.
struct Bomb;

impl Serialize for Bomb {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        resume_unwind(Box::new("on purpose"))
    }
}

impl<'de> Deserialize<'de> for Bomb {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        resume_unwind(Box::new("on purpose"))
    }
}

#[test]
fn d6_a_guard_is_restored_when_decoding_fails() {
    let _outer = DeviceGuard::enter(Device::Cuda(1));
    let failed = with_device(Device::Cuda(2), || serde_tensor::from_slice::<Plain>(&[0xC1]).is_err());
    assert!(failed);
    assert_eq!(device::current(), Some(Device::Cuda(1)));
    assert_eq!(plain(&sent(), Decoder::new()), (Device::Cuda(1), Rule::Guard));
}

#[test]
fn d6_guards_and_field_attributes_are_restored_when_decoding_panics() {
    #[derive(TensorDeserialize)]
    #[expect(dead_code, reason = "decoding panics")]
    struct Marked {
        #[tensor(device = "cuda:3")]
        inner: Exploding,
    }
    #[derive(TensorDeserialize)]
    #[expect(dead_code, reason = "decoding panics")]
    struct Exploding {
        #[tensor(device = "cuda:4")]
        x: SimTensor<EightGpus>,
        #[tensor(none)]
        bomb: Bomb,
    }
    #[derive(TensorSerialize)]
    struct Sender {
        #[tensor]
        inner: SenderInner,
    }
    #[derive(TensorSerialize)]
    struct SenderInner {
        #[tensor]
        x: SimTensor<EightGpus>,
        bomb: u8,
    }
    let sender = Sender {
        inner: SenderInner {
            x: SimTensor::cuda(0, &[1.0]),
            bomb: 0,
        },
    };
    let bytes = serde_tensor::to_vec(&sender).unwrap();
    let _outer = DeviceGuard::enter(Device::Cuda(1));
    let outcome = catch_unwind(|| {
        with_device(Device::Cuda(2), || {
            drop(serde_tensor::from_slice::<Marked>(&bytes));
        });
    });
    assert!(outcome.is_err());
    assert_eq!(device::current(), Some(Device::Cuda(1)));
    assert_eq!(plain(&sent(), Decoder::new()), (Device::Cuda(1), Rule::Guard));
}

#[test]
fn d6_a_pin_is_forgotten_when_encoding_panics() {
    #[derive(TensorSerialize)]
    struct Sender {
        #[tensor(device = "keep_cpu")]
        inner: Exploding,
    }
    #[derive(TensorSerialize)]
    struct Exploding {
        #[tensor(none)]
        bomb: Bomb,
    }
    let outcome = catch_unwind(|| {
        serde_tensor::to_vec(&Sender {
            inner: Exploding { bomb: Bomb },
        })
        .is_ok()
    });
    assert!(outcome.is_err());
    assert_eq!(plain(&sent(), Decoder::new()), (SOURCE, Rule::Source));
}

#[test]
fn d6_a_guard_does_not_leak_into_another_thread() {
    let _guard = DeviceGuard::enter(Device::Cuda(1));
    let landed = thread::spawn(|| plain(&sent(), Decoder::new())).join().unwrap();
    assert_eq!(landed, (SOURCE, Rule::Source));
    assert_eq!(plain(&sent(), Decoder::new()), (Device::Cuda(1), Rule::Guard));
}

#[test]
fn guards_dropped_out_of_order_remove_their_own_frame() {
    let first = DeviceGuard::enter(Device::Cuda(1));
    let second = DeviceGuard::enter(Device::Cuda(2));
    drop(first);
    assert_eq!(plain(&sent(), Decoder::new()), (Device::Cuda(2), Rule::Guard));
    drop(second);
    assert_eq!(plain(&sent(), Decoder::new()), (SOURCE, Rule::Source));
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .build()
        .unwrap()
}

#[test]
fn d6_a_scope_follows_its_task_from_thread_to_thread_and_leaks_into_no_other() {
    const ROUNDS: usize = 20;

    /// Decodes again and again, moves to another thread in between, and returns the threads it was on.
    async fn decode(bytes: Vec<u8>, expected: (Device, Rule)) -> HashSet<thread::ThreadId> {
        let mut threads = HashSet::new();
        for _ in 0..ROUNDS {
            threads.insert(thread::current().id());
            assert_eq!(plain(&bytes, Decoder::new()), expected);
            // The worker hands its other tasks to a new thread meanwhile; this task goes on where there is room.
            tokio::task::block_in_place(|| thread::sleep(Duration::from_micros(200)));
            tokio::task::yield_now().await;
        }
        threads
    }

    let bytes = sent();
    let moved = runtime().block_on(async {
        let scoped = (0..6).map(|index| {
            let task = decode(bytes.clone(), (Device::Cuda(index), Rule::Guard));
            tokio::spawn(device::scope(Device::Cuda(index), task))
        });
        let bare = (0..2).map(|_| tokio::spawn(decode(bytes.clone(), (SOURCE, Rule::Source))));
        let off = (0..2).map(|_| {
            let task = device::without_routing(decode(bytes.clone(), (SOURCE, Rule::RoutingOff)));
            tokio::spawn(device::scope(Device::Cuda(6), task))
        });
        let tasks: Vec<_> = scoped.chain(off).collect();
        let bare: Vec<_> = bare.collect();
        let mut moved = 0;
        for task in tasks {
            moved += usize::from(task.await.unwrap().len() > 1);
        }
        for task in bare {
            task.await.unwrap();
        }
        moved
    });
    assert!(moved > 0, "no task changed its thread, so this test showed nothing");
}

#[test]
fn d6_a_scope_is_restored_when_its_task_fails_panics_or_is_cancelled() {
    runtime().block_on(async {
        // All on this one thread, where a frame left behind would be seen.
        let failed = device::scope(Device::Cuda(1), async { serde_tensor::from_slice::<Plain>(&[0xC1]) });
        assert!(failed.await.is_err());
        assert_eq!(device::current(), None);

        let mut panics = Box::pin(device::scope(Device::Cuda(1), async {
            tokio::task::yield_now().await;
            resume_unwind(Box::new("on purpose"))
        }));
        let outcome = std::future::poll_fn(|context| {
            match catch_unwind(AssertUnwindSafe(|| panics.as_mut().poll(context).map(|(): ()| ()))) {
                Ok(polled) => polled.map(Ok),
                Err(panic) => std::task::Poll::Ready(Err(panic)),
            }
        });
        assert!(outcome.await.is_err());
        assert_eq!(device::current(), None);

        let endless = device::scope(Device::Cuda(1), std::future::pending::<()>());
        let mut endless = Box::pin(endless);
        tokio::select! {
            biased;
            () = &mut endless => {}
            () = async {} => {}
        }
        drop(endless);
        assert_eq!(device::current(), None);
        assert_eq!(plain(&sent(), Decoder::new()), (SOURCE, Rule::Source));
    });
}

#[test]
fn the_guard_of_the_thread_that_polls_holds_only_outside_the_scope() {
    let _thread = DeviceGuard::enter(Device::Cuda(4));
    let inside = runtime().block_on(device::scope(Device::Cuda(1), async { plain(&sent(), Decoder::new()) }));
    assert_eq!(inside, (Device::Cuda(1), Rule::Guard));
    assert_eq!(plain(&sent(), Decoder::new()), (Device::Cuda(4), Rule::Guard));
}
