//! Promises about devices, each named after the fault that users of other systems met.

use std::thread;

use serde::de::IgnoredAny;
use serde_tensor::device::Rule;
use serde_tensor::{
    Category, DType, Decoder, Device, DeviceCopies, DeviceGuard, Encoder, OnMissing, Placement, Tensor,
    TensorDeserialize, TensorSerialize, with_device,
};

use crate::common::capture::warnings;
use crate::common::sent::{SOURCE, plain, sent};
use crate::common::sim::{EightGpus, NoGpu, OneGpu, SimTensor, TwoGpus};

/// A worker's message with tensors on several devices.
#[derive(TensorSerialize)]
struct Worker {
    step: u64,
    #[tensor]
    observation: SimTensor<EightGpus>,
    #[tensor]
    mask: SimTensor<EightGpus>,
}

fn worker() -> Vec<u8> {
    let worker = Worker {
        step: 12,
        observation: SimTensor::cuda(3, &[1.0, 2.0]),
        mask: SimTensor::cpu(&[0.0, 1.0]),
    };
    serde_tensor::to_vec(&worker).unwrap()
}

#[test]
fn d1_a_cuda_tensor_lands_on_the_cpu_where_there_is_no_cuda_with_one_warning() {
    #[derive(TensorDeserialize)]
    struct Receiver {
        #[tensor]
        x: SimTensor<NoGpu>,
    }
    let bytes = sent();
    let ((), warned) = warnings(|| {
        for _ in 0..3 {
            let receiver: Receiver = serde_tensor::from_slice(&bytes).unwrap();
            assert_eq!(
                (receiver.x.device(), receiver.x.values()),
                (Device::Cpu, vec![1.0, 2.0])
            );
        }
    });
    let [warning] = &*warned else { panic!("{warned:?}") };
    assert_eq!(warning["path"], "x");
    assert_eq!(warning["field"], "Receiver.x");
    assert_eq!((&*warning["wanted"], &*warning["device"]), ("cuda:7", "cpu"));
    assert_eq!(warning["bytes"], "8");
}

#[test]
fn d1_or_it_is_an_error_by_choice_that_names_field_device_and_what_there_is() {
    #[derive(TensorDeserialize, Debug)]
    struct Receiver {
        #[tensor]
        #[expect(dead_code, reason = "decoding fails")]
        x: SimTensor<NoGpu>,
    }
    let decoder = Decoder::new().on_missing(OnMissing::Error);
    let (error, warned) = warnings(|| decoder.from_slice::<Receiver>(&sent()).unwrap_err());
    assert_eq!(error.category(), Category::Device);
    assert_eq!(error.path(), Some("x"));
    let message = error.to_string();
    for part in ["cuda:7", "available: cpu", "the simulated driver is not loaded"] {
        assert!(message.contains(part), "{message}");
    }
    assert!(
        !warned.iter().any(|warning| warning.contains_key("wanted")),
        "{warned:?}"
    );
}

#[test]
fn d2_an_index_the_receiver_lacks_becomes_the_first_of_its_kind_with_one_warning() {
    #[derive(TensorDeserialize)]
    struct Receiver {
        #[tensor]
        observation: SimTensor<OneGpu>,
    }
    let bytes = worker();
    let (receivers, warned) = warnings(|| [0, 1].map(|_| serde_tensor::from_slice::<Receiver>(&bytes).unwrap()));
    assert_eq!(
        receivers.map(|receiver| receiver.observation.device()),
        [Device::Cuda(0); 2]
    );
    let [warning] = &*warned else { panic!("{warned:?}") };
    assert_eq!((&*warning["wanted"], &*warning["device"]), ("cuda:3", "cuda:0"));
}

#[test]
fn d2_or_an_error_by_choice_or_a_map_the_caller_gives() {
    #[derive(TensorDeserialize, Debug)]
    struct Receiver {
        #[tensor]
        observation: SimTensor<TwoGpus>,
    }
    let strict = Decoder::new().on_missing(OnMissing::Error);
    let error = strict.from_slice::<Receiver>(&worker()).unwrap_err();
    assert_eq!(
        (error.category(), error.path()),
        (Category::Device, Some("observation"))
    );
    assert!(error.to_string().contains("available: cpu, cuda:0, cuda:1"), "{error}");

    let bytes = worker();
    let mapped = strict.map_device(Device::Cuda(3), Device::Cuda(1));
    let (receiver, warned) = warnings(|| mapped.from_slice::<Receiver>(&bytes).unwrap());
    assert_eq!(receiver.observation.device(), Device::Cuda(1));
    assert!(warned.is_empty(), "{warned:?}");
}

#[test]
fn d3_a_cpu_tensor_beside_a_cuda_tensor_each_by_its_own_rule() {
    #[derive(TensorDeserialize)]
    struct Receiver {
        step: u64,
        #[tensor]
        observation: SimTensor<EightGpus>,
        #[tensor]
        mask: SimTensor<EightGpus>,
    }
    #[derive(TensorDeserialize)]
    struct Choosy {
        #[tensor]
        observation: SimTensor<EightGpus>,
        #[tensor(device = "source")]
        mask: SimTensor<EightGpus>,
    }
    let receiver: Receiver = serde_tensor::from_slice(&worker()).unwrap();
    assert_eq!(receiver.step, 12);
    assert_eq!(
        (receiver.observation.device(), receiver.mask.device()),
        (Device::Cuda(3), Device::Cpu)
    );

    let _guard = DeviceGuard::enter(Device::Cuda(0));
    let choosy: Choosy = serde_tensor::from_slice(&worker()).unwrap();
    assert_eq!(
        (choosy.observation.device(), choosy.mask.device()),
        (Device::Cuda(0), Device::Cpu)
    );
}

#[test]
fn d4_the_receiver_keeps_a_tensor_on_the_cpu_of_a_gpu_worker() {
    #[derive(TensorDeserialize)]
    struct Receiver {
        #[tensor]
        observation: SimTensor<EightGpus>,
        #[tensor(device = "keep_cpu")]
        mask: SimTensor<EightGpus>,
    }
    let _guard = DeviceGuard::enter(Device::Cuda(0));
    let (receiver, report) = Decoder::new().from_slice_with_report::<Receiver>(&worker()).unwrap();
    assert_eq!(
        (receiver.observation.device(), receiver.mask.device()),
        (Device::Cuda(0), Device::Cpu)
    );
    assert_eq!(report.get("mask").unwrap().rule(), Rule::Field);
}

#[test]
fn d4_the_sender_keeps_a_tensor_on_the_cpu_of_a_gpu_worker() {
    #[derive(TensorSerialize)]
    struct Sender {
        #[tensor]
        observation: SimTensor<NoGpu>,
        #[tensor(device = "keep_cpu")]
        mask: SimTensor<NoGpu>,
    }
    #[derive(TensorDeserialize)]
    struct Receiver {
        #[tensor]
        observation: SimTensor<EightGpus>,
        #[tensor]
        mask: SimTensor<EightGpus>,
    }
    let sender = Sender {
        observation: SimTensor::cpu(&[1.0]),
        mask: SimTensor::cpu(&[0.0]),
    };
    let bytes = serde_tensor::to_vec(&sender).unwrap();
    let _guard = DeviceGuard::enter(Device::Cuda(0));
    let (receiver, report) = Decoder::new().from_slice_with_report::<Receiver>(&bytes).unwrap();
    assert_eq!(
        (receiver.observation.device(), receiver.mask.device()),
        (Device::Cuda(0), Device::Cpu)
    );
    assert_eq!(report.get("mask").unwrap().rule(), Rule::Pin);
}

#[test]
fn d5_one_call_switches_routing_off_for_a_scope() {
    let _guard = DeviceGuard::enter(Device::Cuda(5));
    {
        let _off = DeviceGuard::disable();
        assert_eq!(plain(&sent(), Decoder::new()), (SOURCE, Rule::RoutingOff));
    }
    assert_eq!(plain(&sent(), Decoder::new()), (Device::Cuda(5), Rule::Guard));
}

// D5 for the process: `routing_process`. D6: `guards`.

#[test]
fn d7_a_device_tensor_copied_when_sent_is_warned_of_once_a_field() {
    #[derive(TensorSerialize)]
    struct Sender {
        #[tensor]
        weight: SimTensor<EightGpus>,
        #[tensor]
        on_cpu: SimTensor<EightGpus>,
    }
    let sender = Sender {
        weight: SimTensor::cuda(2, &[0.0; 200]),
        on_cpu: SimTensor::cpu(&[0.0]),
    };
    let ((), warned) = warnings(|| {
        for _ in 0..3 {
            serde_tensor::to_vec(&sender).unwrap();
        }
    });
    let [warning] = &*warned else { panic!("{warned:?}") };
    assert_eq!(warning["field"], "Sender.weight");
    assert_eq!(warning["path"], "weight");
    assert_eq!((&*warning["device"], &*warning["bytes"]), ("cuda:2", "800"));
}

#[test]
fn d7_and_can_be_denied_or_allowed() {
    #[derive(TensorSerialize)]
    struct Sender {
        #[tensor]
        layers: Vec<SimTensor<EightGpus>>,
    }
    let on = |device| Sender {
        layers: vec![SimTensor::cpu(&[0.0]), SimTensor::on(device, &[1.0])],
    };
    let deny = || Encoder::new().device_copies(DeviceCopies::Deny);
    let error = deny().to_vec(&on(Device::Cuda(2))).unwrap_err();
    assert_eq!(error.category(), Category::Device);
    assert_eq!(error.path(), Some("layers[1]"), "{error}");
    assert!(error.to_string().contains("cuda:2"), "{error}");
    assert!(deny().to_vec(&on(Device::Cpu)).is_ok());

    let allow = Encoder::new().device_copies(DeviceCopies::Allow);
    let (sent, warned) = warnings(|| allow.to_vec(&on(Device::Cuda(2))));
    assert!(sent.is_ok());
    assert!(warned.is_empty(), "{warned:?}");
}

#[test]
fn d8_threads_that_decode_at_once_do_not_disturb_each_other() {
    let bytes = sent();
    thread::scope(|threads| {
        for index in 0..8 {
            let bytes = &bytes;
            threads.spawn(move || {
                for _ in 0..200 {
                    let landed = with_device(Device::Cuda(index), || plain(bytes, Decoder::new()));
                    assert_eq!(landed, (Device::Cuda(index), Rule::Guard));
                    let placed = Decoder::new().placement(Placement::On(Device::Cuda(7 - index)));
                    assert_eq!(plain(bytes, placed), (Device::Cuda(7 - index), Rule::Placement));
                    assert_eq!(sent(), *bytes);
                }
            });
        }
    });
}

// D8 for calls inside calls: `nested`.

#[test]
fn d9_structure_and_descriptions_are_read_without_any_backend() {
    #[derive(TensorDeserialize)]
    struct Header {
        step: u64,
    }
    #[derive(TensorDeserialize)]
    struct Described {
        #[tensor]
        observation: Tensor,
    }
    // The rest of the value, whatever tensors it holds.
    let header: Header = serde_tensor::from_slice(&worker()).unwrap();
    assert_eq!(header.step, 12);
    serde_tensor::from_slice::<IgnoredAny>(&worker()).unwrap();

    // What every tensor is, and where it was.
    let inspection = serde_tensor::inspect(&worker()).unwrap();
    let [observation, mask] = inspection.tensors() else {
        panic!("{inspection:?}")
    };
    assert_eq!(
        (observation.path(), observation.device()),
        ("observation", Device::Cuda(3))
    );
    assert_eq!((mask.path(), mask.device()), ("mask", Device::Cpu));

    // The tensors themselves, in the host's memory.
    let decoder = Decoder::new().on_missing(OnMissing::Error);
    let (described, report) = decoder.from_slice_with_report::<Described>(&worker()).unwrap();
    let row = report.get("observation").unwrap();
    assert_eq!(
        (row.dtype(), row.shape(), row.recorded()),
        (DType::F32, &[2][..], Device::Cuda(3))
    );
    assert_eq!(&*described.observation.elements::<f32>().unwrap(), &[1.0, 2.0]);
}
