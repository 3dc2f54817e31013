//! The rules hold under other formats too, where only the call's own options do not exist.

use serde_tensor::{Device, DeviceGuard, TensorDeserialize, TensorSerialize};

use crate::common::capture::warnings;
use crate::common::sent::SOURCE;
use crate::common::sim::{EightGpus, NoGpu, SimTensor};

type Sim = SimTensor<EightGpus>;

#[derive(TensorSerialize)]
struct Sender {
    #[tensor]
    plain: Sim,
    #[tensor(device = "keep_cpu")]
    pinned: Sim,
    #[tensor]
    marked: Sim,
}

#[derive(TensorDeserialize)]
struct Receiver {
    #[tensor]
    plain: Sim,
    #[tensor]
    pinned: Sim,
    #[tensor(device = "cuda:3")]
    marked: Sim,
}

impl Receiver {
    fn devices(&self) -> [Device; 3] {
        [&self.plain, &self.pinned, &self.marked].map(SimTensor::device)
    }
}

fn sender() -> Sender {
    let x = Sim::on(SOURCE, &[1.0, 2.0]);
    Sender {
        plain: x.clone(),
        pinned: x.clone(),
        marked: x,
    }
}

#[test]
fn attribute_pin_and_guard_hold_under_json() {
    let text = serde_json::to_string(&sender()).unwrap();
    let receiver: Receiver = serde_json::from_str(&text).unwrap();
    assert_eq!(receiver.devices(), [SOURCE, Device::Cpu, Device::Cuda(3)]);
    assert_eq!(receiver.plain.values(), [1.0, 2.0]);

    let _guard = DeviceGuard::enter(Device::Cuda(5));
    let receiver: Receiver = serde_json::from_str(&text).unwrap();
    assert_eq!(receiver.devices(), [Device::Cuda(5), Device::Cpu, Device::Cuda(3)]);
    let _off = DeviceGuard::disable();
    let receiver: Receiver = serde_json::from_str(&text).unwrap();
    assert_eq!(receiver.devices(), [SOURCE; 3]);
}

#[test]
fn both_warnings_come_once_a_field_under_json_too() {
    #[derive(TensorSerialize)]
    struct Sender {
        #[tensor]
        x: Sim,
    }
    #[derive(TensorDeserialize)]
    struct Receiver {
        #[tensor]
        x: SimTensor<NoGpu>,
    }
    let sender = Sender {
        x: Sim::on(SOURCE, &[1.0, 2.0]),
    };
    let (texts, copies) = warnings(|| [0, 1].map(|_| serde_json::to_string(&sender).unwrap()));
    assert_eq!(copies.len(), 1, "{copies:?}");
    assert_eq!((&*copies[0]["field"], &*copies[0]["device"]), ("Sender.x", "cuda:7"));

    let ((), fallbacks) = warnings(|| {
        for text in &texts {
            let receiver: Receiver = serde_json::from_str(text).unwrap();
            assert!(receiver.x.device().is_cpu());
        }
    });
    assert_eq!(fallbacks.len(), 1, "{fallbacks:?}");
    assert_eq!(
        (&*fallbacks[0]["field"], &*fallbacks[0]["wanted"]),
        ("Receiver.x", "cuda:7")
    );
}
