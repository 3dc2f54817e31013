//! With a GPU: real devices. Without one each of these says that it was skipped, and why.

use serde_tensor::{Decoder, Device, DeviceCopies, DeviceGuard, Encoder, Transfer};
use tch::{Cuda, Tensor};

use super::common::capture::warnings;
use super::{One, bytes, iota, one, round_trips};

/// Whether there is a GPU; if not, says why.
fn gpu(test: &str) -> bool {
    let count = Cuda::device_count();
    if count == 0 {
        let why = if tch::utils::has_cudart() {
            "no GPU"
        } else {
            "libtorch_cuda is not linked"
        };
        println!("skipped: {test}: {why}");
    }
    count > 0
}

#[test]
fn tensors_go_to_the_gpu_and_back() {
    if !gpu("tensors_go_to_the_gpu_and_back") {
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
    if !gpu("a_copy_off_the_gpu_is_warned_of_and_can_be_denied") {
        return;
    }
    let value = one(Tensor::ones([300], (tch::Kind::Float, tch::Device::Cuda(0))));
    let (_, warned) = warnings(|| serde_tensor::to_vec(&value).unwrap());
    assert!(warned.len() <= 1, "once a process for each field");
    assert!(Encoder::new().device_copies(DeviceCopies::Deny).to_vec(&value).is_err());
}
