//! Each rule alone, and each pair of neighbours.

use serde_tensor::device::Rule;
use serde_tensor::{Decoder, Device, DeviceGuard, OnMissing, Placement, with_device};

use crate::common::capture::warnings;
use crate::common::sent::{HostOnly, SOURCE, marked, plain, sent, sent_pinned};

fn on(device: usize) -> Decoder {
    Decoder::new().placement(Placement::On(Device::Cuda(device)))
}

#[test]
fn rule_0_a_host_only_type_is_on_the_cpu_and_nothing_is_missing() {
    let bytes = sent();
    let decoder = Decoder::new().on_missing(OnMissing::Error);
    let ((value, report), warned) = warnings(|| decoder.from_slice_with_report::<HostOnly>(&bytes).unwrap());
    assert_eq!(&*value.x.elements::<f32>().unwrap(), &[1.0, 2.0]);
    let row = &report.tensors()[0];
    assert_eq!(
        (row.device(), row.wanted(), row.rule()),
        (Device::Cpu, Device::Cpu, Rule::HostOnly)
    );
    assert_eq!(row.recorded(), SOURCE);
    assert!(warned.is_empty(), "{warned:?}");
}

#[test]
fn rule_1_routing_off_restores_the_source() {
    let _off = DeviceGuard::disable();
    assert_eq!(plain(&sent(), Decoder::new()), (SOURCE, Rule::RoutingOff));
}

#[test]
fn rule_2_the_calls_placement() {
    assert_eq!(plain(&sent(), on(2)), (Device::Cuda(2), Rule::Placement));
    let keep = Decoder::new().placement(Placement::KeepCpu);
    assert_eq!(plain(&sent(), keep), (Device::Cpu, Rule::Placement));
    let source = Decoder::new().placement(Placement::Source);
    assert_eq!(plain(&sent(), source), (SOURCE, Rule::Placement));
}

#[test]
fn rule_3_the_fields_attribute() {
    assert_eq!(marked(&sent(), Decoder::new()), (Device::Cuda(3), Rule::Field));
}

#[test]
fn rule_4_the_senders_pin() {
    assert_eq!(plain(&sent_pinned(), Decoder::new()), (Device::Cpu, Rule::Pin));
}

#[test]
fn rule_5_the_innermost_guard() {
    let _outer = DeviceGuard::enter(Device::Cuda(4));
    let _inner = DeviceGuard::enter(Device::Cuda(5));
    assert_eq!(plain(&sent(), Decoder::new()), (Device::Cuda(5), Rule::Guard));
    let inside = with_device(Device::Cuda(6), || plain(&sent(), Decoder::new()));
    assert_eq!(inside, (Device::Cuda(6), Rule::Guard));
}

// Rule 6 is process-wide: see `routing_process`.

#[test]
fn rule_7_the_source() {
    assert_eq!(plain(&sent(), Decoder::new()), (SOURCE, Rule::Source));
}

#[test]
fn rule_0_before_rule_1() {
    let _off = DeviceGuard::disable();
    let (_, report) = Decoder::new().from_slice_with_report::<HostOnly>(&sent()).unwrap();
    assert_eq!(report.tensors()[0].rule(), Rule::HostOnly);
    assert_eq!(report.tensors()[0].device(), Device::Cpu);
}

#[test]
fn rule_1_before_rule_2() {
    let _off = DeviceGuard::disable();
    assert_eq!(plain(&sent(), on(2)), (SOURCE, Rule::RoutingOff));
}

#[test]
fn rule_2_before_rule_3() {
    assert_eq!(marked(&sent(), on(2)), (Device::Cuda(2), Rule::Placement));
}

#[test]
fn rule_3_before_rule_4() {
    assert_eq!(marked(&sent_pinned(), Decoder::new()), (Device::Cuda(3), Rule::Field));
}

#[test]
fn rule_4_before_rule_5() {
    let _guard = DeviceGuard::enter(Device::Cuda(5));
    assert_eq!(plain(&sent_pinned(), Decoder::new()), (Device::Cpu, Rule::Pin));
}

#[test]
fn rule_5_before_rule_7() {
    let _guard = DeviceGuard::enter(Device::Cuda(5));
    assert_eq!(plain(&sent(), Decoder::new()), (Device::Cuda(5), Rule::Guard));
}

#[test]
fn with_all_of_them_at_work_each_in_turn_yields_to_the_earlier() {
    let _guard = DeviceGuard::enter(Device::Cuda(5));
    let off = DeviceGuard::disable();
    assert_eq!(marked(&sent_pinned(), on(2)), (SOURCE, Rule::RoutingOff));
    drop(off);
    assert_eq!(marked(&sent_pinned(), on(2)), (Device::Cuda(2), Rule::Placement));
    assert_eq!(marked(&sent_pinned(), Decoder::new()), (Device::Cuda(3), Rule::Field));
    assert_eq!(plain(&sent_pinned(), Decoder::new()), (Device::Cpu, Rule::Pin));
    assert_eq!(plain(&sent(), Decoder::new()), (Device::Cuda(5), Rule::Guard));
}

#[test]
fn a_guard_entered_inside_a_disabled_one_routes_again() {
    let _off = DeviceGuard::disable();
    let _guard = DeviceGuard::enter(Device::Cuda(5));
    assert_eq!(plain(&sent(), Decoder::new()), (Device::Cuda(5), Rule::Guard));
}
