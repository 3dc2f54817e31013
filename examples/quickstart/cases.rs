//! The receivers, and what each is to see.

use serde_tensor::{Device, OnMissing, Rule};

/// A receiving process.
pub(crate) struct Case {
    /// The argument that starts it.
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// How many (simulated) GPUs it has.
    pub(crate) gpus: usize,
    /// The device of its `DeviceGuard`, if it enters one.
    pub(crate) guard: Option<Device>,
    pub(crate) on_missing: OnMissing,
    pub(crate) expected: Expected,
}

pub(crate) enum Expected {
    /// The images land here, by this rule, with so many warnings. The rest of the lesson stays on the CPU in every case.
    Landed { on: Device, by: Rule, warnings: usize },
    /// Decoding fails and the error says this.
    Refused(&'static str),
}

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "two-gpus",
        title: "A receiver with two GPUs, under DeviceGuard::enter(cuda:0)",
        gpus: 2,
        guard: Some(Device::Cuda(0)),
        on_missing: OnMissing::Fallback,
        expected: Expected::Landed {
            on: Device::Cuda(0),
            by: Rule::Guard,
            warnings: 0,
        },
    },
    Case {
        name: "no-gpu",
        title: "A receiver without a GPU",
        gpus: 0,
        guard: None,
        on_missing: OnMissing::Fallback,
        expected: Expected::Landed {
            on: Device::Cpu,
            by: Rule::Source,
            warnings: 1,
        },
    },
    Case {
        name: "no-gpu-strict",
        title: "A receiver without a GPU, under OnMissing::Error",
        gpus: 0,
        guard: None,
        on_missing: OnMissing::Error,
        expected: Expected::Refused("cuda:1"),
    },
    Case {
        name: "one-gpu",
        title: "A receiver with one GPU",
        gpus: 1,
        guard: None,
        on_missing: OnMissing::Fallback,
        expected: Expected::Landed {
            on: Device::Cuda(0),
            by: Rule::Source,
            warnings: 1,
        },
    },
    Case {
        name: "one-gpu-strict",
        title: "A receiver with one GPU, under OnMissing::Error",
        gpus: 1,
        guard: None,
        on_missing: OnMissing::Error,
        expected: Expected::Refused("cuda:1"),
    },
];
