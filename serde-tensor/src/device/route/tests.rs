//! Each rule, each pair of rules, the map, and devices that are not there.

use super::*;
use crate::error::Category;

/// A machine with the given devices besides the CPU.
struct Machine(&'static [Device]);

impl Present for Machine {
    fn host_only(&self) -> bool {
        false
    }
    fn is_available(&self, device: Device) -> bool {
        self.0.contains(&device)
    }
    fn available(&self) -> Vec<Device> {
        self.0.to_vec()
    }
    fn why_missing(&self, device: Device) -> Option<String> {
        matches!(device, Device::Cuda(_)).then(|| "the CUDA library is not linked".to_owned())
    }
}

struct Host;

impl Present for Host {
    fn host_only(&self) -> bool {
        true
    }
    fn is_available(&self, _: Device) -> bool {
        false
    }
    fn available(&self) -> Vec<Device> {
        Vec::new()
    }
    fn why_missing(&self, _: Device) -> Option<String> {
        None
    }
}

const NO_GPU: Machine = Machine(&[]);
const ONE_GPU: Machine = Machine(&[Device::Cuda(0)]);
/// Enough devices for each rule to choose another one.
const MANY: Machine = Machine(&[
    Device::Cuda(1),
    Device::Cuda(2),
    Device::Cuda(3),
    Device::Cuda(4),
    Device::Cuda(5),
    Device::Cuda(6),
    Device::Cuda(7),
]);

/// Rules 2 to 6 name the device of their own number; the source, of rules 1 and 7, is `cuda:7`.
const RECORDED: Device = Device::Cuda(7);

fn request() -> Request<'static> {
    Request {
        recorded: RECORDED,
        pin: Pin::None,
        field: FieldDevice::Auto,
        placement: Placement::Auto,
        device_map: &[],
        on_missing: OnMissing::Fallback,
    }
}

/// A request and surroundings in which exactly `rules` apply.
fn with(rules: &[usize]) -> (Request<'static>, Ambient) {
    let (mut request, mut ambient) = (request(), Ambient::default());
    for rule in rules {
        match rule {
            1 => ambient.routing_off = true,
            2 => request.placement = Placement::On(Device::Cuda(2)),
            3 => request.field = FieldDevice::On(Device::Cuda(3)),
            4 => request.pin = Pin::KeepCpu,
            5 => ambient.guard = Some(Device::Cuda(5)),
            6 => ambient.default = Some(Device::Cuda(6)),
            _ => {}
        }
    }
    (request, ambient)
}

fn expected(rule: usize) -> (Device, Rule) {
    match rule {
        1 => (RECORDED, Rule::RoutingOff),
        2 => (Device::Cuda(2), Rule::Placement),
        3 => (Device::Cuda(3), Rule::Field),
        4 => (Device::Cpu, Rule::Pin),
        5 => (Device::Cuda(5), Rule::Guard),
        6 => (Device::Cuda(6), Rule::Default),
        _ => (RECORDED, Rule::Source),
    }
}

fn outcome((request, ambient): (Request<'_>, Ambient), machine: &Machine) -> Decision {
    decide_under(&request, machine, ambient).unwrap()
}

#[test]
fn each_rule_alone_decides() {
    for rule in 1..=7 {
        let decision = outcome(with(&[rule]), &MANY);
        assert_eq!((decision.device, decision.rule), expected(rule));
        assert_eq!(usize::from(decision.rule.number()), rule);
        assert!(!decision.is_fallback());
    }
}

#[test]
fn of_any_two_rules_the_earlier_wins() {
    for first in 1..=7 {
        for second in first + 1..=7 {
            let decision = outcome(with(&[first, second]), &MANY);
            assert_eq!(
                (decision.device, decision.rule),
                expected(first),
                "{first} before {second}"
            );
        }
    }
}

#[test]
fn when_all_apply_the_first_wins() {
    for first in 1..=7 {
        let rules: Vec<usize> = (first..=7).collect();
        let decision = outcome(with(&rules), &MANY);
        assert_eq!((decision.device, decision.rule), expected(first));
    }
}

#[test]
fn rule_0_comes_before_all_others_and_misses_nothing() {
    let (mut request, _) = with(&[2, 3, 4]);
    request.device_map = &[(Device::Cpu, Device::Cuda(1))];
    request.on_missing = OnMissing::Error;
    let decision = decide(&request, &Host).unwrap();
    assert_eq!(
        decision,
        Decision {
            wanted: Device::Cpu,
            device: Device::Cpu,
            rule: Rule::HostOnly
        }
    );
}

#[test]
fn source_means_the_recorded_device_at_every_rule() {
    for (placement, field, pin, rule) in [
        (Placement::Source, FieldDevice::Auto, Pin::None, Rule::Placement),
        (Placement::Auto, FieldDevice::Source, Pin::None, Rule::Field),
        (Placement::Auto, FieldDevice::Auto, Pin::Source, Rule::Pin),
    ] {
        let ambient = Ambient {
            guard: Some(Device::Cuda(5)),
            default: Some(Device::Cuda(6)),
            ..Ambient::default()
        };
        let decision = outcome(
            (
                Request {
                    pin,
                    field,
                    placement,
                    ..request()
                },
                ambient,
            ),
            &MANY,
        );
        assert_eq!((decision.device, decision.rule), (RECORDED, rule));
    }
}

#[test]
fn the_map_is_applied_to_whatever_rule_chose_once() {
    // A chain and a swap: two steps would be seen.
    let map: &[_] = &[
        (Device::Cuda(7), Device::Cuda(1)),
        (Device::Cuda(1), Device::Cuda(7)),
        (Device::Cuda(2), Device::Cuda(3)),
        (Device::Cuda(3), Device::Cuda(4)),
        (Device::Cuda(5), Device::Cpu),
        (Device::Cuda(6), Device::Cuda(5)),
    ];
    for (rule, device) in [
        (1, Device::Cuda(1)),
        (2, Device::Cuda(3)),
        (3, Device::Cuda(4)),
        (5, Device::Cpu),
        (6, Device::Cuda(5)),
        (7, Device::Cuda(1)),
    ] {
        let (mut request, ambient) = with(&[rule]);
        request.device_map = map;
        let decision = outcome((request, ambient), &MANY);
        assert_eq!((decision.device, decision.wanted), (device, device), "rule {rule}");
    }
}

#[test]
fn of_several_pairs_for_one_device_the_last_holds() {
    let device_map: &[_] = &[(RECORDED, Device::Cuda(1)), (RECORDED, Device::Cuda(2))];
    let request = Request {
        device_map,
        ..request()
    };
    let decision = outcome((request, Ambient::default()), &MANY);
    assert_eq!(decision.device, Device::Cuda(2));
}

#[test]
fn the_map_never_moves_what_is_kept_on_the_cpu() {
    let device_map: &[_] = &[(Device::Cpu, Device::Cuda(1))];
    for kept in [
        Request {
            placement: Placement::KeepCpu,
            ..request()
        },
        Request {
            field: FieldDevice::KeepCpu,
            ..request()
        },
        Request {
            pin: Pin::KeepCpu,
            ..request()
        },
    ] {
        let decision = outcome((Request { device_map, ..kept }, Ambient::default()), &MANY);
        assert_eq!(decision.device, Device::Cpu);
    }
    // `cpu` names a device like any other.
    let named = Request {
        field: FieldDevice::On(Device::Cpu),
        device_map,
        ..request()
    };
    assert_eq!(outcome((named, Ambient::default()), &MANY).device, Device::Cuda(1));
}

#[test]
fn the_map_is_applied_before_availability_is_looked_at() {
    let request = Request {
        recorded: Device::Cuda(3),
        device_map: &[(Device::Cuda(3), Device::Cuda(0)), (Device::Cuda(9), Device::Cuda(8))],
        on_missing: OnMissing::Error,
        ..request()
    };
    assert_eq!(outcome((request, Ambient::default()), &ONE_GPU).device, Device::Cuda(0));
    let error = decide_under(
        &Request {
            recorded: Device::Cuda(9),
            ..request
        },
        &ONE_GPU,
        Ambient::default(),
    );
    assert!(error.unwrap_err().to_string().contains("cuda:8"));
}

#[test]
fn a_missing_device_falls_back_to_the_first_of_its_kind_then_to_the_cpu() {
    const APPLE: Machine = Machine(&[Device::Mps]);
    for (machine, recorded, device) in [
        (&ONE_GPU, Device::Cuda(3), Device::Cuda(0)),
        (&NO_GPU, Device::Cuda(3), Device::Cpu),
        (&NO_GPU, Device::Cuda(0), Device::Cpu),
        (&ONE_GPU, Device::Rocm(0), Device::Cpu),
        (&ONE_GPU, Device::Mps, Device::Cpu),
        (&APPLE, Device::from_dlpack(8, 4), Device::Mps),
        (&NO_GPU, Device::from_dlpack(1, 4), Device::Cpu),
        (&NO_GPU, Device::from_dlpack(12, 0), Device::Cpu),
    ] {
        let decision = outcome((Request { recorded, ..request() }, Ambient::default()), machine);
        assert_eq!((decision.wanted, decision.device), (recorded, device));
        assert!(decision.is_fallback());
    }
}

#[test]
fn the_cpu_is_there_even_if_nobody_says_so() {
    let request = Request {
        recorded: Device::Cpu,
        on_missing: OnMissing::Error,
        ..request()
    };
    assert_eq!(outcome((request, Ambient::default()), &NO_GPU).device, Device::Cpu);
}

#[test]
fn an_error_names_the_device_what_chose_it_what_there_is_and_why() {
    let request = Request {
        recorded: Device::Cuda(3),
        on_missing: OnMissing::Error,
        ..request()
    };
    let error = decide_under(&request, &ONE_GPU, Ambient::default()).unwrap_err();
    assert_eq!(error.category(), Category::Device);
    let message = error.to_string();
    assert!(
        message.contains(
            "device cuda:3, chosen by the recorded source, is not there; available: cpu, cuda:0 (the CUDA library is not linked)"
        ),
        "{message}"
    );
    let request = Request {
        recorded: Device::Mps,
        ..request
    };
    let message = decide_under(&request, &NO_GPU, Ambient::default())
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("device mps") && message.contains("available: cpu") && !message.contains('('),
        "{message}"
    );
}
