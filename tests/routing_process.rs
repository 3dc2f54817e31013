//! What is set for the whole process: the default device and the routing switch. The tests of this file take turns, and
//! those of other files would be disturbed, so this is a process of its own.

mod common;

use std::sync::{Mutex, MutexGuard, PoisonError};

use common::sent::{HostOnly, SOURCE, marked, plain, sent, sent_pinned};
use serde_tensor::device::{self, Rule, default_device, global_routing, set_default_device, set_global_routing};
use serde_tensor::{Decoder, Device, DeviceGuard, Placement};

/// One test's turn; puts everything back at its end.
struct Turn(#[expect(dead_code, reason = "held until the turn ends")] MutexGuard<'static, ()>);

impl Turn {
    fn take() -> Self {
        static TURNS: Mutex<()> = Mutex::new(());
        Self(TURNS.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        set_default_device(None);
        set_global_routing(true);
    }
}

const DEFAULT: Device = Device::Cuda(6);

fn on_2() -> Decoder {
    Decoder::new().placement(Placement::On(Device::Cuda(2)))
}

#[test]
fn rule_6_the_process_default() {
    let _turn = Turn::take();
    set_default_device(Some(DEFAULT));
    assert_eq!(default_device(), Some(DEFAULT));
    assert_eq!(plain(&sent(), Decoder::new()), (DEFAULT, Rule::Default));
    // For every thread, unlike a guard.
    let elsewhere = std::thread::spawn(|| plain(&sent(), Decoder::new())).join().unwrap();
    assert_eq!(elsewhere, (DEFAULT, Rule::Default));
}

#[test]
fn rule_5_before_rule_6() {
    let _turn = Turn::take();
    set_default_device(Some(DEFAULT));
    let _guard = DeviceGuard::enter(Device::Cuda(5));
    assert_eq!(plain(&sent(), Decoder::new()), (Device::Cuda(5), Rule::Guard));
}

#[test]
fn rule_6_before_rule_7() {
    let _turn = Turn::take();
    assert_eq!(plain(&sent(), Decoder::new()), (SOURCE, Rule::Source));
    set_default_device(Some(DEFAULT));
    assert_eq!(plain(&sent(), Decoder::new()), (DEFAULT, Rule::Default));
    set_default_device(None);
    assert_eq!(plain(&sent(), Decoder::new()), (SOURCE, Rule::Source));
}

#[test]
fn rules_2_to_4_before_rule_6() {
    let _turn = Turn::take();
    set_default_device(Some(DEFAULT));
    assert_eq!(plain(&sent(), on_2()), (Device::Cuda(2), Rule::Placement));
    assert_eq!(marked(&sent(), Decoder::new()), (Device::Cuda(3), Rule::Field));
    assert_eq!(plain(&sent_pinned(), Decoder::new()), (Device::Cpu, Rule::Pin));
}

#[test]
fn rule_1_by_the_process_switch_comes_before_all_others_but_0() {
    let _turn = Turn::take();
    set_default_device(Some(DEFAULT));
    set_global_routing(false);
    assert!(!global_routing());
    let _guard = DeviceGuard::enter(Device::Cuda(5));
    assert_eq!(marked(&sent_pinned(), on_2()), (SOURCE, Rule::RoutingOff));
    assert_eq!(device::current(), None);
    let (_, report) = Decoder::new().from_slice_with_report::<HostOnly>(&sent()).unwrap();
    assert_eq!(
        (report.tensors()[0].device(), report.tensors()[0].rule()),
        (Device::Cpu, Rule::HostOnly)
    );
}

#[test]
fn d5_one_call_switches_routing_off_for_the_process_and_one_on_again() {
    let _turn = Turn::take();
    set_default_device(Some(DEFAULT));
    set_global_routing(false);
    assert_eq!(plain(&sent(), Decoder::new()), (SOURCE, Rule::RoutingOff));
    set_global_routing(true);
    assert_eq!(plain(&sent(), Decoder::new()), (DEFAULT, Rule::Default));
}

#[test]
fn disabling_for_a_scope_comes_before_the_process_default() {
    let _turn = Turn::take();
    set_default_device(Some(DEFAULT));
    let off = DeviceGuard::disable();
    assert_eq!(plain(&sent(), Decoder::new()), (SOURCE, Rule::RoutingOff));
    assert_eq!(device::current(), None);
    drop(off);
    assert_eq!(device::current(), Some(DEFAULT));
}
