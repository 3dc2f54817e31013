//! `Decoder::map_device`.

use serde_tensor::device::Rule;
use serde_tensor::{Decoder, Device, DeviceGuard, OnMissing, Placement, with_device};

use crate::common::sent::{HostOnly, marked, plain, sent, sent_pinned};

#[test]
fn it_is_applied_once_to_whatever_chose_the_device() {
    let swap = || {
        Decoder::new()
            .map_device(Device::Cuda(7), Device::Cuda(1))
            .map_device(Device::Cuda(1), Device::Cuda(7))
            .map_device(Device::Cuda(3), Device::Cuda(4))
            .map_device(Device::Cuda(4), Device::Cuda(5))
    };
    assert_eq!(plain(&sent(), swap()), (Device::Cuda(1), Rule::Source));
    assert_eq!(marked(&sent(), swap()), (Device::Cuda(4), Rule::Field));
    let placed = swap().placement(Placement::On(Device::Cuda(1)));
    assert_eq!(plain(&sent(), placed), (Device::Cuda(7), Rule::Placement));
    let guarded = with_device(Device::Cuda(4), || plain(&sent(), swap()));
    assert_eq!(guarded, (Device::Cuda(5), Rule::Guard));
    let _off = DeviceGuard::disable();
    assert_eq!(plain(&sent(), swap()), (Device::Cuda(1), Rule::RoutingOff));
}

#[test]
fn it_never_moves_what_is_kept_on_the_cpu() {
    let map = || Decoder::new().map_device(Device::Cpu, Device::Cuda(1));
    assert_eq!(plain(&sent_pinned(), map()), (Device::Cpu, Rule::Pin));
    assert_eq!(
        plain(&sent(), map().placement(Placement::KeepCpu)),
        (Device::Cpu, Rule::Placement)
    );
    assert_eq!(
        plain(&sent(), map().placement(Placement::On(Device::Cpu))),
        (Device::Cuda(1), Rule::Placement)
    );
}

#[test]
fn it_does_not_touch_a_host_only_type() {
    let decoder = Decoder::new()
        .map_device(Device::Cpu, Device::Cuda(1))
        .on_missing(OnMissing::Error);
    assert!(decoder.from_slice::<HostOnly>(&sent()).is_ok());
}
