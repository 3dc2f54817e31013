//! `#[tensor(device = "…")]` on fields of receiving and sending types.

use std::collections::BTreeMap;

use serde_tensor::{Decoder, Device, DeviceGuard, TensorDeserialize, TensorSerialize};

use crate::common::sent::SOURCE;
use crate::common::sim::{Apple, EightGpus, SimTensor};

#[derive(TensorSerialize, TensorDeserialize)]
struct Inner {
    #[tensor]
    says_nothing: SimTensor<EightGpus>,
    #[tensor(device = "auto")]
    auto: SimTensor<EightGpus>,
    #[tensor(device = "cuda:1")]
    says_cuda: SimTensor<EightGpus>,
    #[tensor(device = "source")]
    says_source: SimTensor<EightGpus>,
}

fn inner() -> Inner {
    let x = SimTensor::on(SOURCE, &[1.0, 2.0]);
    Inner {
        says_nothing: x.clone(),
        auto: x.clone(),
        says_cuda: x.clone(),
        says_source: x,
    }
}

fn devices(inner: &Inner) -> [Device; 4] {
    [&inner.says_nothing, &inner.auto, &inner.says_cuda, &inner.says_source].map(SimTensor::device)
}

/// What the outer field's `cuda:2` makes of `Inner`.
const UNDER_CUDA_2: [Device; 4] = [Device::Cuda(2), Device::Cuda(2), Device::Cuda(1), SOURCE];

#[test]
fn every_value_of_the_attribute() {
    #[derive(TensorDeserialize)]
    struct All {
        #[tensor(device = "auto")]
        auto: SimTensor<EightGpus>,
        #[tensor(device = "keep_cpu")]
        keep_cpu: SimTensor<EightGpus>,
        #[tensor(device = "source")]
        source: SimTensor<EightGpus>,
        #[tensor(device = "cpu")]
        cpu: SimTensor<EightGpus>,
        #[tensor(device = "cuda")]
        cuda: SimTensor<EightGpus>,
        #[tensor(device = "cuda:1")]
        cuda_1: SimTensor<EightGpus>,
        #[tensor(device = "mps")]
        mps: SimTensor<Apple>,
        #[tensor(device = "vulkan")]
        vulkan: SimTensor<EightGpus>,
    }
    let x = SimTensor::<EightGpus>::on(SOURCE, &[1.0]);
    let names = ["auto", "keep_cpu", "source", "cpu", "cuda", "cuda_1", "mps", "vulkan"];
    let sent: BTreeMap<_, _> = names.iter().map(|name| (*name, x.clone())).collect();
    let bytes = serde_tensor::to_vec(&sent).unwrap();
    let _guard = DeviceGuard::enter(Device::Cuda(5));
    let (all, report) = Decoder::new().from_slice_with_report::<All>(&bytes).unwrap();
    assert_eq!(all.auto.device(), Device::Cuda(5));
    assert_eq!(all.keep_cpu.device(), Device::Cpu);
    assert_eq!(all.source.device(), SOURCE);
    assert_eq!(all.cpu.device(), Device::Cpu);
    assert_eq!(all.cuda.device(), Device::Cuda(0));
    assert_eq!(all.cuda_1.device(), Device::Cuda(1));
    assert_eq!(all.mps.device(), Device::Mps);
    assert_eq!(
        (all.vulkan.device(), report.get("vulkan").unwrap().wanted()),
        (Device::Cpu, Device::Vulkan)
    );
}

#[test]
fn an_outer_attribute_holds_for_what_says_nothing_inside() {
    #[derive(TensorSerialize, TensorDeserialize)]
    struct Outer {
        #[tensor(device = "cuda:2")]
        one: Inner,
        #[tensor(device = "cuda:2")]
        many: Vec<Option<Box<Inner>>>,
        #[tensor]
        plain: Inner,
    }
    let sent = Outer {
        one: inner(),
        many: vec![None, Some(Box::new(inner()))],
        plain: inner(),
    };
    let bytes = serde_tensor::to_vec(&sent).unwrap();
    let outer: Outer = serde_tensor::from_slice(&bytes).unwrap();
    assert_eq!(devices(&outer.one), UNDER_CUDA_2);
    assert_eq!(devices(outer.many[1].as_ref().unwrap()), UNDER_CUDA_2);
    assert_eq!(devices(&outer.plain), [SOURCE, SOURCE, Device::Cuda(1), SOURCE]);
}

#[test]
fn an_outer_attribute_holds_through_serdes_buffer() {
    #[derive(TensorSerialize, TensorDeserialize)]
    #[serde(untagged)]
    enum Untagged {
        Number(u32),
        Inner(#[tensor(device = "cuda:2")] Box<Inner>),
    }
    #[derive(TensorSerialize, TensorDeserialize)]
    #[serde(tag = "kind", content = "what")]
    enum Adjacent {
        Inner(#[tensor(device = "cuda:2")] Inner),
    }
    #[derive(TensorSerialize, TensorDeserialize)]
    #[serde(tag = "kind")]
    enum Internal {
        Inner {
            #[tensor(device = "cuda:2")]
            inner: Inner,
        },
    }
    #[derive(TensorSerialize, TensorDeserialize)]
    struct Outer {
        #[serde(flatten)]
        #[tensor(device = "cuda:2")]
        flat: Inner,
        #[tensor]
        untagged: Vec<Untagged>,
        #[tensor]
        adjacent: Adjacent,
        #[tensor]
        internal: Internal,
    }
    let sent = Outer {
        flat: inner(),
        untagged: vec![Untagged::Number(1), Untagged::Inner(Box::new(inner()))],
        adjacent: Adjacent::Inner(inner()),
        internal: Internal::Inner { inner: inner() },
    };
    let bytes = serde_tensor::to_vec(&sent).unwrap();
    let (outer, report) = Decoder::new().from_slice_with_report::<Outer>(&bytes).unwrap();
    assert_eq!(devices(&outer.flat), UNDER_CUDA_2);
    let [Untagged::Number(1), Untagged::Inner(untagged)] = &*outer.untagged else {
        panic!("{report}")
    };
    assert_eq!(devices(untagged), UNDER_CUDA_2);
    let Adjacent::Inner(adjacent) = &outer.adjacent;
    assert_eq!(devices(adjacent), UNDER_CUDA_2);
    let Internal::Inner { inner: internal } = &outer.internal;
    assert_eq!(devices(internal), UNDER_CUDA_2);
    assert_eq!(report.len(), 16, "{report}");
}

#[test]
fn only_keep_cpu_and_source_of_a_sending_type_travel() {
    #[derive(TensorSerialize)]
    struct Sender {
        #[tensor(device = "keep_cpu")]
        keep_cpu: SimTensor<EightGpus>,
        #[tensor(device = "source")]
        source: SimTensor<EightGpus>,
        #[tensor(device = "cpu")]
        cpu: SimTensor<EightGpus>,
        #[tensor(device = "cuda:1")]
        cuda: SimTensor<EightGpus>,
        #[tensor(device = "keep_cpu")]
        nested: Nested,
    }
    #[derive(TensorSerialize, TensorDeserialize)]
    struct Nested {
        #[tensor]
        x: SimTensor<EightGpus>,
    }
    #[derive(TensorDeserialize)]
    struct Receiver {
        #[tensor]
        keep_cpu: SimTensor<EightGpus>,
        #[tensor]
        source: SimTensor<EightGpus>,
        #[tensor]
        cpu: SimTensor<EightGpus>,
        #[tensor]
        cuda: SimTensor<EightGpus>,
        #[tensor]
        nested: Nested,
    }
    let x = SimTensor::on(SOURCE, &[1.0]);
    let sender = Sender {
        keep_cpu: x.clone(),
        source: x.clone(),
        cpu: x.clone(),
        cuda: x.clone(),
        nested: Nested { x },
    };
    let bytes = serde_tensor::to_vec(&sender).unwrap();
    let _guard = DeviceGuard::enter(Device::Cuda(5));
    let receiver: Receiver = serde_tensor::from_slice(&bytes).unwrap();
    assert_eq!(receiver.keep_cpu.device(), Device::Cpu);
    assert_eq!(receiver.source.device(), SOURCE);
    assert_eq!(receiver.cpu.device(), Device::Cuda(5));
    assert_eq!(receiver.cuda.device(), Device::Cuda(5));
    assert_eq!(receiver.nested.x.device(), Device::Cpu);
}
