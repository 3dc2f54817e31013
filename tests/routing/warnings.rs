//! How often the two warnings come, and what they say.

use std::thread;

use serde::Serialize;
use serde_tensor::{Category, Decoder, Device, DeviceGuard, OnMissing, TensorDeserialize, TensorSerialize};

use crate::common::capture::{Warning, warnings};
use crate::common::sim::{Apple, EightGpus, NoGpu, OneGpu, SimTensor};

type Sim = SimTensor<EightGpus>;

/// Encodes without listening to the warnings about device copies.
fn encode(value: &impl Serialize) -> Vec<u8> {
    serde_tensor::to_vec(value).unwrap()
}

fn said<'a>(warned: &'a [Warning], name: &str) -> Vec<&'a str> {
    warned.iter().map(|warning| &*warning[name]).collect()
}

#[test]
fn a_missing_device_is_warned_of_once_for_each_field_and_pair() {
    #[derive(TensorDeserialize)]
    #[expect(dead_code, reason = "decoded for its warnings")]
    struct Receiver {
        #[tensor]
        many: Vec<SimTensor<OneGpu>>,
        #[tensor]
        one: SimTensor<OneGpu>,
    }
    #[derive(TensorSerialize)]
    struct Sender {
        #[tensor]
        many: Vec<Sim>,
        #[tensor]
        one: Sim,
    }
    let on = |many: &[usize], one| {
        let many = many.iter().map(|index| Sim::cuda(*index, &[1.0])).collect();
        encode(&Sender {
            many,
            one: Sim::cuda(one, &[1.0]),
        })
    };
    let decode = |bytes: &[u8]| warnings(|| serde_tensor::from_slice::<Receiver>(bytes).unwrap()).1;

    let first = decode(&on(&[0, 3, 3, 4], 3));
    assert_eq!(said(&first, "path"), ["many[1]", "many[3]", "one"]);
    assert_eq!(said(&first, "wanted"), ["cuda:3", "cuda:4", "cuda:3"]);
    assert_eq!(said(&first, "device"), ["cuda:0"; 3]);
    assert_eq!(
        said(&first, "field"),
        ["Receiver.many", "Receiver.many", "Receiver.one"]
    );

    assert!(decode(&on(&[3, 4, 3], 3)).is_empty());
    // Another pair is another case.
    assert_eq!(said(&decode(&on(&[3], 5)), "path"), ["one"]);
}

#[test]
fn the_process_is_warned_once_not_each_thread() {
    #[derive(TensorDeserialize)]
    struct Receiver {
        #[tensor]
        x: SimTensor<NoGpu>,
    }
    let bytes = crate::common::sent::sent();
    let warned: usize = thread::scope(|threads| {
        let decode = || {
            warnings(|| serde_tensor::from_slice::<Receiver>(&bytes).unwrap().x)
                .1
                .len()
        };
        let handles: Vec<_> = (0..4).map(|_| threads.spawn(decode)).collect();
        handles.into_iter().map(|handle| handle.join().unwrap()).sum()
    });
    assert_eq!(warned, 1);
}

#[test]
fn outside_derived_types_it_is_once_a_call_and_pair_with_the_first_path() {
    let bytes = encode(&[3, 0, 3, 4, 4].map(|index| Sim::cuda(index, &[1.0])));
    for _ in 0..2 {
        let (tensors, warned) = warnings(|| serde_tensor::from_slice::<Vec<SimTensor<OneGpu>>>(&bytes).unwrap());
        assert!(tensors.iter().all(|tensor| tensor.device() == Device::Cuda(0)));
        assert_eq!(said(&warned, "path"), ["[0]", "[3]"]);
        assert_eq!(said(&warned, "wanted"), ["cuda:3", "cuda:4"]);
        assert!(warned.iter().all(|warning| !warning.contains_key("field")));
    }
}

#[test]
fn a_device_that_only_the_guard_wants_is_named() {
    #[derive(TensorDeserialize)]
    struct Receiver {
        #[tensor]
        x: SimTensor<NoGpu>,
        #[tensor(device = "keep_cpu")]
        kept: SimTensor<NoGpu>,
    }
    #[derive(TensorSerialize)]
    struct Sender {
        #[tensor]
        x: Sim,
        #[tensor]
        kept: Sim,
    }
    let bytes = encode(&Sender {
        x: Sim::cpu(&[1.0]),
        kept: Sim::cuda(1, &[1.0]),
    });
    let _guard = DeviceGuard::enter(Device::Mps);
    let (receiver, warned) = warnings(|| serde_tensor::from_slice::<Receiver>(&bytes).unwrap());
    assert_eq!(
        (receiver.x.device(), receiver.kept.device()),
        (Device::Cpu, Device::Cpu)
    );
    // What is kept on the CPU misses nothing.
    assert_eq!(
        (said(&warned, "path"), said(&warned, "wanted")),
        (vec!["x"], vec!["mps"])
    );
}

#[test]
fn what_lands_where_it_was_wanted_is_not_warned_of() {
    let bytes = encode(&[Sim::cuda(3, &[1.0]), Sim::cpu(&[1.0])]);
    let ((), warned) = warnings(|| {
        drop(serde_tensor::from_slice::<Vec<Sim>>(&bytes).unwrap());
        let _guard = DeviceGuard::enter(Device::Mps);
        drop(serde_tensor::from_slice::<Vec<SimTensor<Apple>>>(&bytes).unwrap());
    });
    assert!(warned.is_empty(), "{warned:?}");
}

#[test]
fn each_of_very_many_devices_is_warned_of_once() {
    #[derive(TensorDeserialize)]
    struct Receiver {
        #[tensor]
        x: SimTensor<NoGpu>,
    }
    // One tensor is described as on `cuda:0`; each copy of the message names another index.
    let one = encode(&Sim::cuda(0, &[1.0]));
    let descriptor = one.windows(4).position(|bytes| bytes == [2, 32, 0, 2]).unwrap();
    let ((), warned) = warnings(|| {
        for index in (0..120).chain(0..120) {
            let mut bytes = b"\x81\xa1x".to_vec();
            bytes.extend_from_slice(&one);
            bytes[3 + descriptor + 4] = index;
            let receiver: Receiver = serde_tensor::from_slice(&bytes).unwrap();
            assert!(receiver.x.device().is_cpu());
        }
    });
    assert_eq!(warned.len(), 120);
}

/// A message from outside can name as many devices as it has tensors.
#[test]
fn one_message_gives_a_bounded_number_of_warnings_and_counts_the_rest() {
    let one = encode(&Sim::cuda(0, &[1.0]));
    let descriptor = one.windows(4).position(|bytes| bytes == [2, 32, 0, 2]).unwrap();
    let mut bytes = vec![0xdc, 0, 120];
    for index in 0..120 {
        let start = bytes.len();
        bytes.extend_from_slice(&one);
        bytes[start + descriptor + 4] = index;
    }
    let ((), warned) = warnings(|| drop(serde_tensor::from_slice::<Vec<SimTensor<NoGpu>>>(&bytes).unwrap()));
    assert_eq!(warned.len(), 65);
    assert_eq!(warned[63]["path"], "[63]");
    assert_eq!(warned[64]["count"], "56");
}

#[test]
fn a_device_copy_is_warned_of_once_for_each_field_and_device() {
    #[derive(TensorSerialize)]
    struct Sender {
        #[tensor]
        layers: Vec<Sim>,
        #[tensor]
        head: Sim,
    }
    let on = |layers: &[usize], head| Sender {
        layers: layers.iter().map(|index| Sim::cuda(*index, &[1.0, 2.0])).collect(),
        head: Sim::cuda(head, &[1.0]),
    };
    let send = |sender: &Sender| warnings(|| drop(encode(sender))).1;

    let first = send(&on(&[1, 1, 2], 1));
    assert_eq!(said(&first, "path"), ["layers[0]", "layers[2]", "head"]);
    assert_eq!(said(&first, "device"), ["cuda:1", "cuda:2", "cuda:1"]);
    assert_eq!(said(&first, "bytes"), ["8", "8", "4"]);
    assert_eq!(said(&first, "field"), ["Sender.layers", "Sender.layers", "Sender.head"]);
    assert!(send(&on(&[2, 1], 1)).is_empty());
    assert_eq!(said(&send(&on(&[1], 3)), "path"), ["head"]);
}

#[test]
fn outside_derived_types_a_device_copy_is_warned_of_once_a_call_and_device() {
    let tensors = [0, 1, 1, 0].map(|index| Sim::cuda(index, &[1.0]));
    for _ in 0..2 {
        let ((), warned) = warnings(|| drop(encode(&tensors)));
        assert_eq!(said(&warned, "path"), ["[0]", "[1]"]);
        assert_eq!(said(&warned, "device"), ["cuda:0", "cuda:1"]);
    }
}

#[test]
fn a_plan_warns_of_a_device_copy_no_more_often() {
    #[derive(TensorSerialize)]
    struct Sender {
        #[tensor]
        x: Sim,
    }
    #[derive(TensorDeserialize)]
    struct Back {
        #[tensor]
        x: Sim,
    }
    let sender = Sender {
        x: Sim::cuda(1, &[0.0; 1000]),
    };
    let ((), warned) = warnings(|| {
        for _ in 0..2 {
            let plan = serde_tensor::Encoder::new().plan(&sender).unwrap();
            let mut bytes = Vec::new();
            plan.write_to(&mut bytes).unwrap();
            assert_eq!(
                serde_tensor::from_slice::<Back>(&bytes).unwrap().x.values(),
                [0.0; 1000]
            );
        }
    });
    assert_eq!(
        (said(&warned, "path"), said(&warned, "bytes")),
        (vec!["x"], vec!["4000"])
    );
}

#[test]
fn an_untagged_enum_fails_with_the_device_error_not_with_no_variant_matched() {
    #[derive(TensorDeserialize, Debug)]
    #[serde(untagged)]
    #[expect(dead_code, reason = "decoding fails")]
    enum Either {
        Tensor {
            #[tensor]
            x: SimTensor<NoGpu>,
        },
        Text {
            x: String,
        },
    }
    let bytes = crate::common::sent::sent();
    let strict = Decoder::new().on_missing(OnMissing::Error);
    let error = strict.from_slice::<Either>(&bytes).unwrap_err();
    assert_eq!((error.category(), error.path()), (Category::Device, Some("x")));
    assert!(error.to_string().contains("cuda:7"), "{error}");
}
