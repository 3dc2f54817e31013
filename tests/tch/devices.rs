//! The rules of devices with the real backend, in a process without a GPU (D1 to D9). With one, `gpu.rs` tests more.

use std::thread;

use serde_tensor::device::Rule;
use serde_tensor::{
    Category, Decoder, Device, DeviceGuard, OnMissing, Placement, TensorDeserialize, TensorSerialize, inspect,
};
use tch::Tensor;

use super::common::capture::warnings;
use super::common::sim::{EightGpus, SimTensor};
use super::{One, bytes, iota, one, skipped};

/// As a worker with eight GPUs sends it.
#[derive(TensorSerialize)]
struct Worker {
    #[tensor]
    x: SimTensor<EightGpus>,
}

/// A device that is not there on any machine that runs these tests.
const FAR: Device = Device::Cuda(7);

fn from_gpu(index: usize) -> Vec<u8> {
    let x = SimTensor::cuda(index, &[1.0, 2.0]);
    serde_tensor::to_vec(&Worker { x }).unwrap()
}

fn is_there(index: i64) -> bool {
    index < tch::Cuda::device_count()
}

/// D1. The vector of the specification: recorded on `cuda:1`, requires a gradient; here without its pin.
#[test]
fn a_process_without_cuda_decodes_a_message_recorded_on_a_gpu_with_one_warning() {
    #[derive(Debug, TensorDeserialize)]
    struct Receiver {
        #[tensor]
        x: Tensor,
    }
    if is_there(1) {
        skipped("this machine has the device");
        return;
    }
    let message = [
        0x81, 0xa1, b'x', 0xc7, 0x0c, 0x54, 0, 2, 16, 1, 2, 1, 1, 2, 0, 0x3c, 0, 0x40,
    ];
    let (read, warned) = warnings(|| {
        (0..3)
            .map(|_| serde_tensor::from_slice::<Receiver>(&message).unwrap())
            .collect::<Vec<_>>()
    });
    for Receiver { x } in &read {
        assert_eq!((x.kind(), x.requires_grad()), (tch::Kind::Half, true));
        assert_eq!(bytes(x), [0, 0x3c, 0, 0x40]);
    }
    let [warning] = &warned[..] else { panic!("{warned:?}") };
    assert_eq!((&*warning["wanted"], &*warning["field"]), ("cuda:1", "Receiver.x"));
    assert_eq!(warning["why"].contains("not linked"), !tch::utils::has_cudart());
}

/// D1, D2.
#[test]
fn a_missing_device_can_be_an_error_which_says_whether_cuda_is_linked() {
    let decoder = Decoder::new().on_missing(OnMissing::Error);
    if is_there(7) {
        skipped("this machine has the device");
        return;
    }
    let error = decoder.from_slice::<One>(&from_gpu(7)).unwrap_err();
    assert_eq!((error.category(), error.path()), (Category::Device, Some("x")));
    let text = error.to_string();
    assert!(text.contains("cuda:7") && text.contains("available: cpu"), "{text}");
    let linked = tch::utils::has_cudart();
    assert_eq!(text.contains("not linked"), !linked, "{text}");
    assert_eq!(
        text.contains("sees no GPU"),
        linked && tch::Cuda::device_count() == 0,
        "{text}"
    );
}

/// D2.
#[test]
fn a_map_puts_a_device_on_another() {
    let decoder = Decoder::new().map_device(FAR, Device::Cpu).on_missing(OnMissing::Error);
    let (read, report) = decoder.from_slice_with_report::<One>(&from_gpu(7)).unwrap();
    assert_eq!(read.x.device(), tch::Device::Cpu);
    let [line] = report.tensors() else { panic!("{report}") };
    assert_eq!(
        (line.recorded(), line.wanted(), line.device()),
        (FAR, Device::Cpu, Device::Cpu)
    );
}

/// libtorch takes the low 32 bits of a device's number: `cuda:4294967296` would be `cuda:0`, and 2^32 - 1 the CPU.
#[test]
fn numbers_that_libtorch_would_cut_are_devices_that_are_not_there() {
    for index in [1 << 32, (1 << 32) - 1, usize::MAX] {
        let decoder = Decoder::new()
            .placement(Placement::On(Device::Cuda(index)))
            .on_missing(OnMissing::Error);
        let message = serde_tensor::to_vec(&one(iota(&[2]))).unwrap();
        assert_eq!(
            decoder.from_slice::<One>(&message).unwrap_err().category(),
            Category::Device
        );
    }
}

#[test]
fn devices_that_tch_has_no_name_for_are_not_there() {
    for device in ["rocm:0", "dl:12:0", "mps", "vulkan"] {
        let device: Device = device.parse().unwrap();
        let placed = Decoder::new().placement(Placement::On(device));
        let message = serde_tensor::to_vec(&one(iota(&[2]))).unwrap();
        let (read, report) = placed.from_slice_with_report::<One>(&message).unwrap();
        let [line] = report.tensors() else { panic!("{report}") };
        assert_eq!(line.wanted(), device);
        assert_eq!(line.device().is_cpu(), read.x.device() == tch::Device::Cpu);
    }
}

/// D3, D4.
#[test]
fn each_tensor_goes_by_its_own_rule() {
    #[derive(TensorSerialize)]
    struct Sender {
        #[tensor]
        plain: Tensor,
        #[tensor(device = "keep_cpu")]
        pinned: Tensor,
        #[tensor]
        kept: Tensor,
    }
    #[derive(TensorDeserialize)]
    #[expect(dead_code, reason = "decoded for the report")]
    struct Receiver {
        #[tensor]
        plain: Tensor,
        #[tensor]
        pinned: Tensor,
        #[tensor(device = "keep_cpu")]
        kept: Tensor,
    }
    let [plain, pinned, kept] = [0; 3].map(|_| iota(&[2]));
    let message = serde_tensor::to_vec(&Sender { plain, pinned, kept }).unwrap();
    let _guard = DeviceGuard::enter(FAR);
    let (_, report) = Decoder::new().from_slice_with_report::<Receiver>(&message).unwrap();
    let line = |path| report.get(path).unwrap();
    assert_eq!((line("plain").wanted(), line("plain").rule()), (FAR, Rule::Guard));
    assert_eq!(
        (line("pinned").wanted(), line("pinned").rule()),
        (Device::Cpu, Rule::Pin)
    );
    assert_eq!((line("kept").wanted(), line("kept").rule()), (Device::Cpu, Rule::Field));
}

/// D5.
#[test]
fn routing_is_switched_off_in_a_scope() {
    let message = serde_tensor::to_vec(&one(iota(&[2]))).unwrap();
    let rule = || {
        let (_, report) = Decoder::new().from_slice_with_report::<One>(&message).unwrap();
        (report.tensors()[0].wanted(), report.tensors()[0].rule())
    };
    let _guard = DeviceGuard::enter(FAR);
    assert_eq!(rule(), (FAR, Rule::Guard));
    let off = DeviceGuard::disable();
    assert_eq!(rule(), (Device::Cpu, Rule::RoutingOff));
    drop(off);
    assert_eq!(rule(), (FAR, Rule::Guard));
}

/// D6.
#[test]
fn the_guard_is_restored_after_an_error_and_a_panic_and_stays_on_its_thread() {
    let message = serde_tensor::to_vec(&one(iota(&[2]))).unwrap();
    let truncated = &message[..message.len() - 1];
    let result = std::panic::catch_unwind(|| {
        let _guard = DeviceGuard::enter(FAR);
        serde_tensor::from_slice::<One>(truncated).unwrap_err();
        assert_eq!(serde_tensor::device::current(), Some(FAR));
        thread::scope(|scope| {
            let other = scope.spawn(serde_tensor::device::current).join().unwrap();
            assert_eq!(other, None);
        });
        panic!("on purpose");
    });
    assert!(result.is_err());
    assert_eq!(serde_tensor::device::current(), None);
}

/// D7: a tensor on the CPU is no copy off a device, so nothing is said.
#[test]
fn sending_cpu_tensors_is_no_device_copy() {
    let (_, warned) = warnings(|| {
        let encoder = serde_tensor::Encoder::new().device_copies(serde_tensor::DeviceCopies::Deny);
        encoder.to_vec(&one(iota(&[300]))).unwrap()
    });
    assert!(warned.is_empty(), "{warned:?}");
}

/// D8.
#[test]
fn threads_and_nested_calls_do_not_disturb_each_other() {
    thread::scope(|scope| {
        for worker in 0..4 {
            scope.spawn(move || {
                for round in 0..50 {
                    let tensor = iota(&[300]) + f64::from(worker * 100 + round);
                    let expected = bytes(&tensor);
                    assert!(super::sent(&tensor).iter().all(|arrived| bytes(arrived) == expected));
                }
            });
        }
    });
    struct Outer;
    impl serde::Serialize for Outer {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_bytes(&serde_tensor::to_vec(&one(iota(&[400]))).unwrap())
        }
    }
    let bytes_of = serde_tensor::to_vec(&(Outer, 7)).unwrap();
    assert!(bytes_of.len() > 1600);
}

/// D9.
#[test]
fn metadata_is_read_without_a_backend() {
    let message = from_gpu(7);
    let inspection = inspect(&message).unwrap();
    let [tensor] = inspection.tensors() else {
        panic!("one tensor")
    };
    assert_eq!((tensor.path(), tensor.device(), tensor.shape()), ("x", FAR, &[2][..]));
}
