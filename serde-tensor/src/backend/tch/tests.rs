//! Transfers to and from devices, with simulated ones: the code is the real one, and every transfer is counted.
//!
//! Without these each tensor could move by itself, or all of them when one should, and nobody would see it but on a GPU's clock.

use ::tch::{Kind, Tensor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::devices::simulated::Gpus;
use super::transfer::counted;
use super::{Arena, StateDict};
use crate::call::{decode, encode};
use crate::device::{FieldDevice, Site};
use crate::wire::tensors::LOOKS;
use crate::{
    Decoder, Device, DeviceCopies, DeviceGuard, Encoder, Placement, Presence, Result, TensorSerialize, TensorVisitor,
    Transfer,
};

const GPU: Device = Device::Cuda(0);
const OTHER: Device = Device::Cuda(1);

static KEPT: Site = Site::new("Value", "kept", FieldDevice::KeepCpu);
static PUT: Site = Site::new("Value", "put", FieldDevice::On(GPU));

/// As a derived struct of a field without an attribute, one kept on the CPU, and one put on the GPU.
#[derive(Debug, Default)]
struct Value {
    free: StateDict,
    kept: StateDict,
    put: StateDict,
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        struct In<'a>(&'static Site, &'a StateDict);
        impl Serialize for In<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
                encode::in_field(self.0, || self.1.serialize(serializer))
            }
        }
        (&self.free, In(&KEPT, &self.kept), In(&PUT, &self.put)).serialize(serializer)
    }
}

impl TensorSerialize for Value {
    const PRESENCE: Presence = Presence::Maybe;

    fn contains_tensor(&self) -> bool {
        true
    }

    fn serialize_tensors<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.serialize(serializer)
    }

    fn visit_tensors<'a>(&'a self, visitor: &mut TensorVisitor<'a, '_>) -> Result<()> {
        [&self.free, &self.kept, &self.put]
            .into_iter()
            .try_for_each(|state| state.visit_tensors(visitor))
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Kept(StateDict);
        impl<'de> Deserialize<'de> for Kept {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
                decode::in_field(&KEPT, || StateDict::deserialize(deserializer)).map(Self)
            }
        }
        struct Put(StateDict);
        impl<'de> Deserialize<'de> for Put {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
                decode::in_field(&PUT, || StateDict::deserialize(deserializer)).map(Self)
            }
        }
        let (free, Kept(kept), Put(put)) = Deserialize::deserialize(deserializer)?;
        Ok(Self { free, kept, put })
    }
}

fn iota(len: i64) -> Tensor {
    Tensor::arange(len, (Kind::Float, ::tch::Device::Cpu))
}

/// `count` tensors of `len` elements, each other ones.
fn state(count: i64, len: i64) -> StateDict {
    (0..count).map(|at| (format!("t{at:03}"), iota(len) + at)).collect()
}

fn planned<T: TensorSerialize>(value: &T) -> Vec<u8> {
    let mut message = Vec::new();
    Encoder::new().plan(value).unwrap().write_to(&mut message).unwrap();
    message
}

/// The value from a slice and from libtorch's memory, with what moved for each.
fn read<T: for<'de> Deserialize<'de>>(decoder: &Decoder, message: &[u8]) -> [(T, (usize, usize)); 2] {
    let arena = Arena::read(message).unwrap();
    [
        counted(|| decoder.from_slice(message).unwrap()),
        counted(|| decoder.from_memory(arena).unwrap()),
    ]
}

fn assert_same(state: &StateDict, expected: &StateDict) {
    assert_eq!(state.len(), expected.len());
    for (name, tensor) in state {
        assert_eq!(Some(tensor), expected.get(name), "{name}");
    }
}

fn address(state: &StateDict, name: &str) -> usize {
    state.get(name).unwrap().data_ptr().addr()
}

#[test]
fn segments_bound_for_a_device_move_in_one_transfer() {
    let _gpus = Gpus::plug_in();
    let _guard = DeviceGuard::enter(GPU);
    let sent = state(100, 300);
    for message in [planned(&sent), crate::to_vec(&sent).unwrap()] {
        for (state, (transfers, bytes)) in read::<StateDict>(&Decoder::new(), &message) {
            assert_same(&state, &sent);
            assert_eq!(
                (transfers, bytes),
                (1, 100 * 1216),
                "300 elements, to a multiple of 64 bytes"
            );
            let span = address(&state, "t099") - address(&state, "t000");
            assert_eq!(span, 99 * 1216, "they are views of one piece of memory");
        }
        for (state, moved) in read::<StateDict>(&Decoder::new().coalesce(false), &message) {
            assert_same(&state, &sent);
            assert_eq!(moved, (100, 100 * 1200), "each by itself");
        }
        for (state, moved) in read::<StateDict>(&Decoder::new().detach(true), &message) {
            assert_same(&state, &sent);
            assert_eq!(moved, (100, 100 * 1200));
        }
        let (_, report) = Decoder::new().from_slice_with_report::<StateDict>(&message).unwrap();
        assert!(
            report
                .iter()
                .all(|row| row.transfer() == Transfer::HostToDevice && row.device() == GPU)
        );
    }
}

#[test]
fn inline_tensors_move_singly() {
    let _gpus = Gpus::plug_in();
    let _guard = DeviceGuard::enter(GPU);
    let sent: StateDict = state(4, 3)
        .into_iter()
        .chain([("x".to_owned(), iota(300)), ("y".to_owned(), iota(200))])
        .collect();
    for (state, (transfers, _)) in read::<StateDict>(&Decoder::new(), &planned(&sent)) {
        assert_same(&state, &sent);
        assert_eq!(transfers, 4 + 1);
    }
}

/// What is longer than the staging memory goes through it in pieces.
#[test]
fn long_segments_move_in_pieces() {
    let _gpus = Gpus::plug_in();
    let _guard = DeviceGuard::enter(GPU);
    let sent: StateDict = [
        ("a", iota(400_000)),
        ("b", iota(300)),
        ("c", iota(700_000)),
        ("d", iota(400)),
    ]
    .into_iter()
    .collect();
    for (state, (transfers, bytes)) in read::<StateDict>(&Decoder::new(), &planned(&sent)) {
        assert_same(&state, &sent);
        assert_eq!(transfers, bytes.div_ceil(1 << 20));
        assert!(bytes < 4 * 1_100_700 + 4 * 64);
    }
}

#[test]
fn what_stays_on_the_cpu_does_not_move() {
    let _gpus = Gpus::plug_in();
    let _guard = DeviceGuard::enter(GPU);
    let sent = Value {
        free: state(10, 320),
        kept: state(10, 10_000),
        put: StateDict::new(),
    };
    for (value, moved) in read::<Value>(&Decoder::new(), &planned(&sent)) {
        assert_same(&value.free, &sent.free);
        assert_same(&value.kept, &sent.kept);
        assert_eq!(moved, (1, 10 * 1280), "the sender's pin says so");
    }
    for (value, moved) in read::<Value>(&Decoder::new().placement(Placement::On(GPU)), &planned(&sent)) {
        assert_same(&value.kept, &sent.kept);
        assert_eq!(moved.1, 10 * (1280 + 40_000), "the call has the last word");
    }
    for (value, moved) in read::<Value>(&Decoder::new().placement(Placement::KeepCpu), &planned(&sent)) {
        assert_same(&value.free, &sent.free);
        assert_eq!(moved, (0, 0));
    }
}

/// Tensors were on different devices: each goes back to its own (D3).
#[test]
fn each_device_gets_its_own_tensors_alone() {
    let _gpus = Gpus::plug_in();
    let on = |device, state: StateDict| {
        state.iter().for_each(|(_, tensor)| Gpus::put(tensor, device));
        state
    };
    let sent = Value {
        free: state(5, 320)
            .into_iter()
            .chain(on(GPU, state_named("gpu", 6)))
            .chain(on(OTHER, state_named("other", 7)))
            .collect(),
        ..Value::default()
    };
    let message = planned(&sent);
    for (value, moved) in read::<Value>(&Decoder::new(), &message) {
        assert_same(&value.free, &sent.free);
        assert_eq!(moved, (2, 13 * 1280), "one transfer to each");
    }
    let to_one = Decoder::new().map_device(OTHER, GPU);
    for (_, moved) in read::<Value>(&to_one, &message) {
        assert_eq!(moved, (1, 13 * 1280));
    }
    for (_, moved) in read::<Value>(&Decoder::new().map_device(OTHER, Device::Cpu), &message) {
        assert_eq!(moved, (1, 6 * 1280));
    }
}

fn state_named(name: &str, count: i64) -> StateDict {
    (0..count).map(|at| (format!("{name}{at}"), iota(320) + at)).collect()
}

/// Which fields follow is not known when the first of them is read.
#[test]
fn a_fields_attribute_moves_what_the_sender_did_not_pin() {
    let _gpus = Gpus::plug_in();
    let sent = Value {
        free: state(3, 320),
        kept: state(3, 6400),
        put: state(5, 320),
    };
    let message = planned(&sent);
    for (value, moved) in read::<Value>(&Decoder::new(), &message) {
        assert_same(&value.free, &sent.free);
        assert_same(&value.kept, &sent.kept);
        assert_same(&value.put, &sent.put);
        assert_eq!(moved, (1, 8 * 1280));
    }
    for (_, moved) in read::<Value>(&Decoder::new().coalesce(false), &message) {
        assert_eq!(moved, (5, 5 * 1280));
    }
}

#[test]
fn tied_tensors_are_tied_on_the_device_and_train() {
    let _gpus = Gpus::plug_in();
    let _guard = DeviceGuard::enter(GPU);
    let weight = iota(300).set_requires_grad(true);
    let sent: StateDict = [
        ("a", weight.shallow_clone()),
        ("b", weight.shallow_clone()),
        ("bits", weight.detach().view_dtype(Kind::Int)),
        ("free", iota(300).set_requires_grad(true)),
        ("part", weight.detach().narrow(0, 100, 200)),
    ]
    .into_iter()
    .collect();
    for decoder in [Decoder::new(), Decoder::new().coalesce(false)] {
        for (state, (transfers, _)) in read::<StateDict>(&decoder, &planned(&sent)) {
            assert_same(&state, &sent);
            let coalesced = transfers == 1;
            assert!(coalesced || transfers == 2, "one for each segment");
            let get = |name| state.get(name).unwrap();
            let loss = get("a").square().sum(Kind::Float) + (get("b") + get("free")).sum(Kind::Float);
            loss.f_backward().unwrap();
            assert_eq!(
                get("a").grad().data_ptr(),
                get("b").grad().data_ptr(),
                "they are one tensor"
            );
            assert_eq!(get("b").grad().max(), Tensor::from(2.0f32 * 299.0 + 1.0));
            ::tch::no_grad(|| drop(get("a").shallow_clone().zero_()));
            assert_eq!(get("part").max(), Tensor::from(0.0f32));
            assert_eq!(get("bits").max(), Tensor::from(0i32));
        }
    }
}

/// Behind a tensor of a smaller kind that begins the segment.
#[test]
fn a_tensor_that_cannot_lie_in_the_segment_moves_by_itself() {
    let _gpus = Gpus::plug_in();
    let _guard = DeviceGuard::enter(GPU);
    let storage = Tensor::arange(2000, (Kind::Uint8, ::tch::Device::Cpu));
    let sent: StateDict = [
        ("a", storage.narrow(0, 1, 1500)),
        ("b", storage.narrow(0, 4, 1200).view_dtype(Kind::Float)),
        ("c", iota(600).view([20, 30]).transpose(0, 1)),
    ]
    .into_iter()
    .collect();
    for (state, (transfers, _)) in read::<StateDict>(&Decoder::new(), &planned(&sent)) {
        assert_eq!(transfers, 2);
        assert_eq!(state.get("c").unwrap().stride(), [1, 30]);
        let bits = |state: &StateDict| state.get("b").unwrap().view_dtype(Kind::Int);
        assert_eq!(bits(&state), bits(&sent));
    }
}

fn put(state: StateDict) -> StateDict {
    state.iter().for_each(|(_, tensor)| Gpus::put(tensor, GPU));
    state
}

/// The message, and what moved while it was planned, and while it was written.
fn plan(encoder: &Encoder, state: &StateDict) -> (Vec<u8>, [(usize, usize); 2]) {
    let (plan, planned) = counted(|| encoder.plan(state).unwrap());
    let mut message = Vec::new();
    let ((), written) = counted(|| plan.write_to(&mut message).unwrap());
    let mut again = Vec::new();
    let ((), rewritten) = counted(|| plan.write_to(&mut again).unwrap());
    assert_eq!((&message, written), (&again, rewritten));
    (message, [planned, written])
}

fn assert_arrives(message: &[u8], sent: &StateDict) {
    let read: StateDict = Decoder::new()
        .placement(Placement::KeepCpu)
        .from_slice(message)
        .unwrap();
    for (name, tensor) in &read {
        assert_eq!(tensor.size(), sent.get(name).unwrap().size());
        let bytes = |tensor: &Tensor| tensor.resolve_conj().contiguous().view([-1]).view_dtype(Kind::Uint8);
        assert_eq!(bytes(tensor), bytes(sent.get(name).unwrap()), "{name}");
    }
    assert_eq!(read.len(), sent.len());
}

#[test]
fn small_tensors_leave_a_device_together() {
    let _gpus = Gpus::plug_in();
    let encoder = Encoder::new().device_copies(DeviceCopies::Allow);
    let complex = Tensor::complex(&iota(200), &iota(200)).conj();
    let shapes = [
        ("permuted", iota(600).view([20, 30]).transpose(0, 1)),
        ("gaps", iota(600).view([20, 30]).slice(1, 0, 30, 2)),
        ("scalar", Tensor::from(2.5f64)),
        ("bools", Tensor::ones([700], (Kind::Bool, ::tch::Device::Cpu))),
        ("lazy", complex.resolve_conj().conj()),
    ];
    let shapes = shapes.map(|(name, tensor)| (name.to_owned(), tensor));
    let sent = put(state(100, 3)
        .into_iter()
        .chain(state_named("large", 100))
        .chain(shapes)
        .collect());
    let (message, [planned, written]) = plan(&encoder, &sent);
    assert_eq!(planned, (1, 100 * 12 + 8), "the inline ones");
    assert_eq!(written.0, 1, "and the others");
    assert_arrives(&message, &sent);
    // As one by one.
    let (single, (transfers, _)) = counted(|| encoder.to_vec(&sent).unwrap());
    assert_eq!(transfers, sent.len());
    assert_arrives(&single, &sent);
}

#[test]
fn what_comes_down_together_is_bounded() {
    let _gpus = Gpus::plug_in();
    let encoder = Encoder::new().device_copies(DeviceCopies::Allow);
    // 10 MB in tensors of 40 KB, and two that are large.
    let large = [("x", iota(100_000)), ("y", iota(3_000_000))].map(|(name, tensor)| (name.to_owned(), tensor));
    let sent = put(state(250, 10_000).into_iter().chain(large).collect());
    let (message, [planned, written]) = plan(&encoder, &sent);
    assert_eq!(planned, (0, 0), "nothing is read before it is written");
    assert_eq!(written.0, 3 + 1 + 3, "batches, and pieces of the large ones");
    assert_eq!(written.1, 250 * 40_000 + 400_000 + 12_000_000);
    assert_arrives(&message, &sent);
    let (message, [planned, _]) = plan(&encoder.snapshot(true), &sent);
    assert_eq!(planned.0, 3 + 1 + 3);
    assert_arrives(&message, &sent);
}

/// A copy that was made for planning is not what is written later.
#[test]
fn a_plan_is_written_as_the_tensors_are_then() {
    let _gpus = Gpus::plug_in();
    let encoder = Encoder::new().device_copies(DeviceCopies::Allow).checksums(false);
    let sent = put(state_named("a", 3));
    let plan = encoder.plan(&sent).unwrap();
    let mut first = Vec::new();
    plan.write_to(&mut first).unwrap();
    let _ = sent.get("a1").unwrap().shallow_clone().fill_(7.0);
    let mut second = Vec::new();
    plan.write_to(&mut second).unwrap();
    assert_arrives(&second, &sent);
    assert_ne!(first, second);
}

/// A call inside of a plan's value is none of the plan's.
#[test]
fn a_call_inside_a_plan_gathers_for_itself() {
    struct Inside<'a>(&'a StateDict);
    impl Serialize for Inside<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
            let encoder = Encoder::new().device_copies(DeviceCopies::Allow);
            let plan = encoder.plan(self.0).map_err(serde::ser::Error::custom)?;
            let mut message = Vec::new();
            plan.write_to(&mut message).map_err(serde::ser::Error::custom)?;
            let single = encoder.to_vec(self.0).map_err(serde::ser::Error::custom)?;
            assert_arrives(&message, self.0);
            assert_arrives(&single, self.0);
            serializer.serialize_u8(1)
        }
    }
    impl TensorSerialize for Inside<'_> {
        const PRESENCE: Presence = Presence::Maybe;

        fn contains_tensor(&self) -> bool {
            true
        }

        fn serialize_tensors<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
            self.serialize(serializer)
        }

        fn visit_tensors<'a>(&'a self, visitor: &mut TensorVisitor<'a, '_>) -> Result<()> {
            self.0.visit_tensors(visitor)
        }
    }
    let _gpus = Gpus::plug_in();
    let sent = put(state(20, 3).into_iter().chain(state_named("large", 20)).collect());
    let value = Inside(&sent);
    let plan = Encoder::new().plan(&value).unwrap();
    assert_eq!(plan.len(), 1);
}

/// What goes along was looked for again with each tensor: where the sender had pinned it to the CPU, and in a message that breaks off.
#[test]
fn a_message_is_not_searched_again_for_each_of_its_tensors() {
    struct Kept(StateDict);
    impl Serialize for Kept {
        fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
            encode::in_field(&KEPT, || self.0.serialize(serializer))
        }
    }
    struct Put(StateDict);
    impl<'de> Deserialize<'de> for Put {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
            decode::in_field(&PUT, || StateDict::deserialize(deserializer)).map(Self)
        }
    }
    /// How often bodies of so many tensors are looked through.
    fn looks(count: i64) -> usize {
        let pinned = crate::to_vec(&(Kept(state(count, 300)), 0u8)).unwrap();
        let mut broken = crate::to_vec(&(state(count, 300), 0u8)).unwrap();
        let word = |at: usize| usize::try_from(u64::from_le_bytes(broken[at..at + 8].try_into().unwrap())).unwrap();
        let last = word(16) + word(24) - 1;
        assert_eq!(
            std::mem::replace(&mut broken[last], 0xc1),
            0,
            "the number behind the tensors"
        );
        let before = LOOKS.get();
        let (Put(state), _) = crate::from_slice::<(Put, u8)>(&pinned).unwrap();
        assert_eq!(state.len(), usize::try_from(count).unwrap());
        assert!(crate::from_slice::<(Put, u8)>(&broken).is_err());
        LOOKS.get() - before
    }
    let _gpus = Gpus::plug_in();
    let few = looks(2);
    assert!(few > 0);
    assert_eq!(looks(200), few);
}
