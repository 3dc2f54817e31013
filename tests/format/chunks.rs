//! Messages in chunks: cut, mixed, lost, repeated, and put together again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use proptest::prelude::*;
use serde_tensor::backend::{Description, HostBytes, Import, Imported, TensorBackend};
use serde_tensor::{Category, DType, Device, DeviceCopies, Encoder, Plan, Reassembler, Result, Tensor};

use crate::ramp;

fn chunks(plan: &Plan<'_>, max: usize) -> Vec<Vec<u8>> {
    plan.chunks(max).unwrap().collect::<Result<_>>().unwrap()
}

/// The whole message that pushing all chunks gives, and that none but the last gives.
fn reassembled(chunks: impl IntoIterator<Item = Vec<u8>>) -> Bytes {
    let mut reassembler = Reassembler::new();
    let mut chunks = chunks.into_iter().peekable();
    while let Some(chunk) = chunks.next() {
        match (reassembler.push(chunk).unwrap(), chunks.peek()) {
            (Some(message), None) => return message,
            (None, Some(_)) => {}
            (message, _) => panic!("{message:?} in the middle, or nothing at the end"),
        }
    }
    panic!("no chunk completes the message")
}

#[test]
fn a_message_is_cut_and_joined_at_every_size() {
    let value = vec![ramp(700), ramp(3), ramp(1000)];
    for (plan, sizes) in [
        (Plan::new(&value).unwrap(), 41..200),
        (
            Encoder::new().align(4096).checksums(true).plan(&value).unwrap(),
            3000..3010,
        ),
        (Encoder::new().inline_limit(usize::MAX).plan(&value).unwrap(), 41..60),
    ] {
        let mut message = Vec::new();
        plan.write_to(&mut message).unwrap();
        for max in sizes {
            let cut = chunks(&plan, max);
            assert!(cut.iter().all(|chunk| chunk.len() <= max));
            assert_eq!(cut.len(), message.len().div_ceil(max - 40));
            let joined = reassembled(cut);
            assert_eq!(joined, message);
            assert_eq!(serde_tensor::from_bytes::<Vec<Tensor>>(joined).unwrap(), value);
        }
    }
}

#[test]
fn joined_tensors_lie_where_the_frame_says() {
    let value = ramp(5000);
    for align in [16, 64, 4096, 65536] {
        let plan = Encoder::new().align(align).plan(&value).unwrap();
        let tensor: Tensor = serde_tensor::from_bytes(reassembled(chunks(&plan, 1000))).unwrap();
        assert!(tensor.bytes().as_ptr().addr().is_multiple_of(align));
    }
}

#[test]
fn chunks_that_leave_no_room_for_a_byte_are_refused() {
    let value = ramp(1);
    let plan = Plan::new(&value).unwrap();
    for max in [0, 39, 40] {
        assert_eq!(plan.chunks(max).err().unwrap().category(), Category::Data);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Two messages, their chunks in any order among each other, some of them twice.
    #[test]
    fn chunks_may_come_in_any_order_and_twice(seed in any::<u64>(), len in 1usize..4000, max in 41usize..500) {
        let values = [ramp(len), ramp(len / 2 + 600)];
        let mut all: Vec<Vec<u8>> = values.iter().flat_map(|value| chunks(&Plan::new(value).unwrap(), max)).collect();
        let again: Vec<_> = all.iter().step_by(3).cloned().collect();
        all.extend(again);
        // A shuffle that is the same for the same seed.
        let mut state = seed;
        for at in (1..all.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            all.swap(at, usize::try_from(state >> 33).unwrap() % (at + 1));
        }
        let mut reassembler = Reassembler::new();
        let mut arrived = Vec::new();
        for chunk in all {
            if let Some(message) = reassembler.push(chunk).unwrap() {
                arrived.push(serde_tensor::from_bytes::<Tensor>(message).unwrap());
            }
        }
        arrived.sort_by_key(Tensor::len);
        let mut expected = values.to_vec();
        expected.sort_by_key(Tensor::len);
        prop_assert_eq!(arrived, expected);
        prop_assert_eq!(reassembler.incomplete().count(), 0);
    }

    #[test]
    fn any_bytes_are_an_error_or_a_chunk(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut reassembler = Reassembler::new();
        let _ = reassembler.push(bytes);
    }
}

/// Else it would be held for ever, and enough of its kind would take all that may be held.
#[test]
fn a_chunk_that_comes_again_behind_its_message_is_ignored() {
    let value = ramp(1000);
    let mut reassembler = Reassembler::new().hold(20_000);
    for _ in 0..100 {
        let cut = chunks(&Plan::new(&value).unwrap(), 500);
        let (last, others) = cut.split_last().unwrap();
        for chunk in others {
            assert_eq!(reassembler.push(chunk.clone()).unwrap(), None);
        }
        assert!(reassembler.push(last.clone()).unwrap().is_some());
        for chunk in &cut {
            assert_eq!(reassembler.push(chunk.clone()).unwrap(), None);
        }
        assert_eq!(reassembler.incomplete().count(), 0);
    }
}

/// A transport hands over slices of a buffer that it read much else into.
#[test]
fn a_small_chunk_does_not_keep_the_buffer_that_it_came_in() {
    struct Whole(Vec<u8>, Arc<AtomicBool>);
    impl AsRef<[u8]> for Whole {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    impl Drop for Whole {
        fn drop(&mut self) {
            self.1.store(true, Ordering::Relaxed);
        }
    }
    let freed = Arc::new(AtomicBool::new(false));
    let mut bytes = chunks(&Plan::new(&ramp(1000)).unwrap(), 500)[0].clone();
    let len = bytes.len();
    bytes.resize(1 << 20, 0);
    let chunk = Bytes::from_owner(Whole(bytes, Arc::clone(&freed))).slice(..len);
    let mut reassembler = Reassembler::new();
    assert_eq!(reassembler.push(chunk).unwrap(), None);
    assert!(freed.load(Ordering::Relaxed));
}

#[test]
fn a_message_that_is_given_up_is_forgotten() {
    let value = ramp(1000);
    let plan = Plan::new(&value).unwrap();
    let cut = chunks(&plan, 500);
    let mut reassembler = Reassembler::new();
    assert_eq!(reassembler.push(cut[1].clone()).unwrap(), None);
    let (id, arrived, len) = reassembler.incomplete().next().unwrap();
    assert_eq!((arrived, len), (460, plan.len() as u64));
    assert!(reassembler.abandon(id));
    assert!(!reassembler.abandon(id));
    assert_eq!(reassembler.incomplete().count(), 0);
}

#[test]
fn what_is_held_is_limited_whatever_a_chunk_claims() {
    let value = ramp(10_000);
    let plan = Plan::new(&value).unwrap();
    let cut = chunks(&plan, 1040);
    let mut reassembler = Reassembler::new().hold(3 * (1000 + 128));
    for chunk in &cut[..3] {
        reassembler.push(chunk.clone()).unwrap();
    }
    assert_eq!(
        reassembler.push(cut[3].clone()).unwrap_err().category(),
        Category::Limit
    );
    // What is refused leaves what is held as it was.
    assert_eq!(reassembler.incomplete().next().unwrap().1, 3000);
    let id = reassembler.incomplete().next().unwrap().0;
    reassembler.abandon(id);
    assert!(reassembler.push(cut[3].clone()).is_ok());
}

#[test]
fn a_chunk_at_odds_with_another_is_refused_and_forgotten() {
    let value = ramp(1000);
    let plan = Plan::new(&value).unwrap();
    let (wide, narrow) = (chunks(&plan, 540), chunks(&plan, 340));
    let mut reassembler = Reassembler::new();
    reassembler.push(wide[0].clone()).unwrap();
    // The same message, cut elsewhere: the second piece overlaps the first.
    let mut odd = narrow[1].clone();
    odd[8..16].copy_from_slice(&wide[0][8..16]);
    assert_eq!(reassembler.push(odd).unwrap_err().category(), Category::Syntax);
    let mut longer = wide[1].clone();
    longer[16] ^= 1;
    assert_eq!(reassembler.push(longer).unwrap_err().category(), Category::Syntax);
    let mut flipped = wide[1].clone();
    *flipped.last_mut().unwrap() ^= 1;
    assert_eq!(reassembler.push(flipped).unwrap_err().category(), Category::Syntax);
    let mut last = None;
    for chunk in &wide[1..] {
        last = reassembler.push(chunk.clone()).unwrap();
    }
    assert_eq!(serde_tensor::from_bytes::<Tensor>(last.unwrap()).unwrap(), value);
}

/// A tensor that is copied off its device in pieces.
struct OnDevice(Tensor);

impl TensorBackend for OnDevice {
    fn describe(&self) -> Result<Description<'_>> {
        Ok(Description::new(DType::U8, self.0.shape()).device(Device::Cuda(0)))
    }

    fn host_bytes(&self) -> Result<HostBytes<'_>> {
        Ok(HostBytes::copied(|sink| {
            self.0.bytes().chunks(7).try_for_each(&mut *sink)
        }))
    }

    fn import(_: Import<'_>) -> Result<Imported<Self>> {
        Err(serde_tensor::Error::backend("read back as a host tensor"))
    }
}

serde_tensor::impl_tensor!(OnDevice);

#[test]
fn tensors_on_a_device_are_cut_like_others() {
    let value = vec![OnDevice(ramp(900)), OnDevice(ramp(2000))];
    let plan = Encoder::new().device_copies(DeviceCopies::Allow).plan(&value).unwrap();
    let tensors: Vec<Tensor> = serde_tensor::from_bytes(reassembled(chunks(&plan, 333))).unwrap();
    assert_eq!(tensors, [ramp(900), ramp(2000)]);
}
