//! The report names every tensor of a message, however deep, once, in the order of the message.

use std::collections::BTreeMap;

use serde_tensor::device::{Rule, Transfer};
use serde_tensor::{
    DType, Decoder, Device, DeviceGuard, Report, Tensor, TensorDeserialize, TensorReport, TensorSerialize, TensorView,
};

use crate::common::sim::{EightGpus, SimTensor, TwoGpus};

type Sim = SimTensor<EightGpus>;

fn sim(len: usize) -> Sim {
    Sim::cuda(1, &vec![0.5; len])
}

fn paths(report: &Report) -> Vec<&str> {
    report.iter().map(TensorReport::path).collect()
}

#[derive(TensorSerialize, TensorDeserialize)]
struct Layer {
    name: String,
    #[tensor]
    weight: Sim,
    #[tensor(device = "keep_cpu")]
    bias: Option<Sim>,
}

#[derive(TensorSerialize, TensorDeserialize)]
enum Head {
    None,
    Pair(#[tensor] Sim, #[tensor] Vec<Sim>),
    Named {
        #[tensor]
        x: Sim,
    },
}

#[derive(TensorSerialize, TensorDeserialize)]
struct Model {
    step: u64,
    #[tensor]
    layers: Vec<Layer>,
    #[tensor]
    buffers: BTreeMap<String, Sim>,
    #[tensor]
    head: Head,
    #[serde(flatten)]
    #[tensor]
    rest: Rest,
    #[tensor]
    host: Tensor,
}

#[derive(TensorSerialize, TensorDeserialize)]
struct Rest {
    #[tensor]
    tail: Box<Sim>,
}

fn model() -> Model {
    let layer = |bias| Layer {
        name: "dense".to_owned(),
        weight: sim(1000),
        bias,
    };
    Model {
        step: 1,
        layers: vec![layer(Some(sim(2))), layer(None)],
        buffers: BTreeMap::from([("mean".to_owned(), sim(3)), ("var.x".to_owned(), sim(4))]),
        head: Head::Pair(sim(5), vec![sim(6), sim(0)]),
        rest: Rest {
            tail: Box::new(sim(1000)),
        },
        host: Tensor::from_elements(&[1_u8, 2, 3], &[3]).unwrap(),
    }
}

#[test]
fn it_is_complete_and_in_the_order_of_the_message() {
    let bytes = serde_tensor::to_vec(&model()).unwrap();
    let _guard = DeviceGuard::enter(Device::Cuda(5));
    let (model, report) = Decoder::new().from_slice_with_report::<Model>(&bytes).unwrap();
    let expected = [
        "layers[0].weight",
        "layers[0].bias",
        "layers[1].weight",
        "buffers.mean",
        "buffers[\"var.x\"]",
        "head.Pair[0]",
        "head.Pair[1][0]",
        "head.Pair[1][1]",
        "tail",
        "host",
    ];
    assert_eq!(paths(&report), expected, "{report}");

    let weight = report.get("layers[0].weight").unwrap();
    assert_eq!(
        (weight.dtype(), weight.shape(), weight.bytes()),
        (DType::F32, &[1000][..], 4000)
    );
    assert_eq!(
        (weight.recorded(), weight.wanted(), weight.device()),
        (Device::Cuda(1), Device::Cuda(5), Device::Cuda(5))
    );
    assert_eq!(
        (weight.rule(), weight.transfer()),
        (Rule::Guard, Transfer::HostToDevice)
    );
    assert_eq!(weight.field().as_deref(), Some("Layer.weight"));
    assert_eq!(model.layers[0].weight.device(), Device::Cuda(5));

    let bias = report.get("layers[0].bias").unwrap();
    assert_eq!((bias.device(), bias.rule()), (Device::Cpu, Rule::Field));
    let host = report.get("host").unwrap();
    assert_eq!(
        (host.dtype(), host.bytes(), host.rule()),
        (DType::U8, 3, Rule::HostOnly)
    );
    assert_eq!(report.to_string().lines().count(), 1 + expected.len());
}

#[test]
fn a_tensor_that_is_the_whole_value_has_an_empty_path() {
    let bytes = serde_tensor::to_vec(&sim(2)).unwrap();
    let (_, report) = Decoder::new().from_slice_with_report::<Sim>(&bytes).unwrap();
    assert_eq!((paths(&report), report.tensors()[0].field()), (vec![""], None));
}

#[test]
fn a_value_without_tensors_has_an_empty_report() {
    let bytes = serde_tensor::to_vec(&(1, "two")).unwrap();
    let (_, report) = Decoder::new().from_slice_with_report::<(u8, String)>(&bytes).unwrap();
    assert!(report.is_empty());
}

#[test]
fn it_says_how_the_bytes_got_there() {
    let host = Tensor::from_vec(vec![1.0_f32; 1000], &[1000]).unwrap();
    let bytes = serde_tensor::to_vec(&host).unwrap();
    let transfer = |report: Report| report.tensors()[0].transfer();

    let (_, report) = Decoder::new().from_slice_with_report::<TensorView<'_>>(&bytes).unwrap();
    assert_eq!(transfer(report), Transfer::Borrowed);
    let (_, report) = Decoder::new().from_slice_with_report::<Tensor>(&bytes).unwrap();
    assert_eq!(transfer(report), Transfer::Copied);
    let owned = bytes::Bytes::from(bytes.clone());
    let (_, report) = Decoder::new().from_bytes_with_report::<Tensor>(owned.clone()).unwrap();
    assert_eq!(transfer(report), Transfer::Shared);
    let (_, report) = Decoder::new()
        .detach(true)
        .from_bytes_with_report::<Tensor>(owned)
        .unwrap();
    assert_eq!(transfer(report), Transfer::Copied);
    let (_, report) = Decoder::new().from_reader_with_report::<_, Tensor>(&*bytes).unwrap();
    assert_eq!(transfer(report), Transfer::Shared);
    let _guard = DeviceGuard::enter(Device::Cuda(1));
    let (_, report) = Decoder::new()
        .from_slice_with_report::<SimTensor<TwoGpus>>(&bytes)
        .unwrap();
    assert_eq!(transfer(report), Transfer::HostToDevice);
}

#[test]
fn of_the_variants_that_an_untagged_enum_tries_the_last_is_reported() {
    #[derive(TensorSerialize, TensorDeserialize)]
    #[serde(untagged)]
    enum Either {
        Wide {
            #[tensor(device = "cuda:2")]
            x: Sim,
            more: u32,
        },
        Narrow {
            #[tensor(device = "cuda:3")]
            x: Sim,
        },
    }
    let bytes = serde_tensor::to_vec(&vec![Either::Narrow { x: sim(2) }]).unwrap();
    let (value, report) = Decoder::new().from_slice_with_report::<Vec<Either>>(&bytes).unwrap();
    let [Either::Narrow { x }] = &*value else {
        panic!("{report}")
    };
    assert_eq!(x.device(), Device::Cuda(3));
    assert_eq!(paths(&report), ["[0].x"]);
    assert_eq!(report.tensors()[0].device(), Device::Cuda(3));
}
