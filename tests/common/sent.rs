//! One tensor, sent by a worker with eight GPUs from `cuda:7`, and types that receive it: a rule each.

use serde_tensor::device::Rule;
use serde_tensor::{Decoder, Device, DeviceCopies, Encoder, Report, Tensor, TensorDeserialize, TensorSerialize};

use super::sim::{EightGpus, Host, SimTensor};

pub(crate) const SOURCE: Device = Device::Cuda(7);

/// What a worker with eight GPUs sends; rule 7 alone speaks.
#[derive(TensorSerialize)]
pub(crate) struct Sent {
    #[tensor]
    pub(crate) x: SimTensor<EightGpus>,
}

/// The same, pinned to the CPU: rule 4.
#[derive(TensorSerialize)]
pub(crate) struct SentPinned {
    #[tensor(device = "keep_cpu")]
    pub(crate) x: SimTensor<EightGpus>,
}

#[derive(TensorDeserialize)]
pub(crate) struct Plain {
    #[tensor]
    pub(crate) x: SimTensor<EightGpus>,
}

/// Rule 3.
#[derive(TensorDeserialize)]
pub(crate) struct Marked {
    #[tensor(device = "cuda:3")]
    pub(crate) x: SimTensor<EightGpus>,
}

/// Rule 0.
#[derive(TensorDeserialize)]
pub(crate) struct HostOnly {
    #[tensor(device = "cuda:3")]
    pub(crate) x: Tensor,
}

pub(crate) fn sent() -> Vec<u8> {
    serde_tensor::to_vec(&Sent {
        x: SimTensor::on(SOURCE, &[1.0, 2.0]),
    })
    .unwrap()
}

pub(crate) fn sent_pinned() -> Vec<u8> {
    let x = SimTensor::on(SOURCE, &[1.0, 2.0]);
    Encoder::new()
        .device_copies(DeviceCopies::Allow)
        .to_vec(&SentPinned { x })
        .unwrap()
}

#[expect(clippy::needless_pass_by_value, reason = "callers build it in place")]
pub(crate) fn plain(bytes: &[u8], decoder: Decoder) -> (Device, Rule) {
    let (value, report) = decoder.from_slice_with_report::<Plain>(bytes).unwrap();
    check(&value.x, &report)
}

#[expect(clippy::needless_pass_by_value, reason = "callers build it in place")]
pub(crate) fn marked(bytes: &[u8], decoder: Decoder) -> (Device, Rule) {
    let (value, report) = decoder.from_slice_with_report::<Marked>(bytes).unwrap();
    check(&value.x, &report)
}

/// The tensor and the report agree, and the values arrived.
pub(crate) fn check<H: Host>(x: &SimTensor<H>, report: &Report) -> (Device, Rule) {
    assert_eq!(x.values(), [1.0, 2.0]);
    let [line] = report.tensors() else { panic!("{report}") };
    assert_eq!((line.path(), line.device(), line.recorded()), ("x", x.device(), SOURCE));
    (line.device(), line.rule())
}
