//! With a GPU: real devices. Without one each of these says that it was skipped, and why.

use serde_tensor::tch::{Arena, StateDict};
use serde_tensor::{Decoder, Device, DeviceCopies, DeviceGuard, Encoder, Placement, Plan, Transfer};
use tch::{Cuda, Kind, Tensor};

use super::common::capture::warnings;
use super::{One, bytes, iota, one, round_trips, skipped};

/// Whether there is a GPU; if not, says why.
fn gpu() -> bool {
    let count = Cuda::device_count();
    if count == 0 {
        skipped(if tch::utils::has_cudart() {
            "no GPU"
        } else {
            "libtorch_cuda is not linked"
        });
    }
    count > 0
}

#[test]
fn tensors_go_to_the_gpu_and_back() {
    if !gpu() {
        return;
    }
    let on_gpu = iota(&[40, 30]).transpose(0, 1).to_device(tch::Device::Cuda(0));
    for arrived in round_trips(&one(on_gpu)) {
        assert_eq!(arrived.x.device(), tch::Device::Cuda(0));
        assert_eq!(
            bytes(&arrived.x.to_device(tch::Device::Cpu)),
            bytes(&iota(&[40, 30]).transpose(0, 1))
        );
    }
    let message = serde_tensor::to_vec(&one(iota(&[300]))).unwrap();
    let _guard = DeviceGuard::enter(Device::Cuda(0));
    let (read, report) = Decoder::new().from_slice_with_report::<One>(&message).unwrap();
    assert_eq!(read.x.device(), tch::Device::Cuda(0));
    assert_eq!(report.tensors()[0].transfer(), Transfer::HostToDevice);
}

/// D7.
#[test]
fn a_copy_off_the_gpu_is_warned_of_and_can_be_denied() {
    if !gpu() {
        return;
    }
    let value = one(Tensor::ones([300], (tch::Kind::Float, tch::Device::Cuda(0))));
    let (_, warned) = warnings(|| serde_tensor::to_vec(&value).unwrap());
    assert!(warned.len() <= 1, "once a process for each field");
    assert!(Encoder::new().device_copies(DeviceCopies::Deny).to_vec(&value).is_err());
}

/// Tensors of many sizes and kinds, two tied, some that require a gradient.
fn model() -> StateDict {
    let tied = iota(&[40, 30]).set_requires_grad(true);
    let some = (0..200i64).map(|at| {
        let tensor =
            iota(&[1 + at * 7]).to_kind([Kind::Float, Kind::Half, Kind::Int64][usize::try_from(at % 3).unwrap()]);
        (format!("t{at}"), tensor)
    });
    let tied = [
        ("tied", tied.shallow_clone()),
        ("tied too", tied),
        ("large", iota(&[30_000_000])),
    ];
    some.chain(tied.map(|(name, tensor)| (name.to_owned(), tensor)))
        .collect()
}

#[test]
fn a_model_goes_to_the_gpu_in_one_piece_and_trains_there() {
    if !gpu() {
        return;
    }
    let sent = model();
    let mut message = Vec::new();
    Plan::new(&sent).unwrap().write_to(&mut message).unwrap();
    let decoder = Decoder::new().placement(Placement::On(Device::Cuda(0)));
    for decoder in [decoder.clone(), decoder.clone().coalesce(false), decoder.detach(true)] {
        let arena = Arena::read(message.as_slice()).unwrap();
        let (from_slice, report) = decoder.from_slice_with_report::<StateDict>(&message).unwrap();
        assert!(report.iter().all(|row| row.transfer() == Transfer::HostToDevice));
        for read in [from_slice, decoder.from_memory(arena).unwrap()] {
            for (name, tensor) in &read {
                assert_eq!(tensor.device(), tch::Device::Cuda(0));
                assert_eq!(
                    bytes(&tensor.to_device(tch::Device::Cpu)),
                    bytes(sent.get(name).unwrap()),
                    "{name}"
                );
            }
            let tied = read.get("tied").unwrap();
            let loss = tied.square().sum(Kind::Float);
            let _ = read.get("t30").unwrap().shallow_clone().zero_();
            loss.backward();
            assert_eq!(tied.grad().device(), tch::Device::Cuda(0));
            assert_eq!(
                tied.grad().max().double_value(&[]).to_bits(),
                (2.0f64 * 1199.0).to_bits()
            );
        }
    }
}

#[test]
fn a_model_comes_from_the_gpu() {
    if !gpu() {
        return;
    }
    let sent = model();
    let there: StateDict = sent
        .iter()
        .map(|(name, tensor)| (name.clone(), tensor.to_device(tch::Device::Cuda(0))))
        .collect();
    let encoder = Encoder::new().device_copies(DeviceCopies::Allow);
    for encoder in [
        encoder.clone(),
        encoder.clone().checksums(true),
        encoder.inline_limit(0),
    ] {
        for message in super::messages(&encoder, &there) {
            let read: StateDict = Decoder::new()
                .placement(Placement::KeepCpu)
                .from_slice(&message)
                .unwrap();
            for (name, tensor) in &read {
                assert_eq!(bytes(tensor), bytes(sent.get(name).unwrap()), "{name}");
            }
        }
    }
}
