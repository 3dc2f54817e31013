//! D8: calls inside calls. A value may encode or decode another message while it is itself encoded or decoded; the
//! inner call starts afresh and leaves the outer as it was.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_tensor::device::Rule;
use serde_tensor::{
    Category, Decoder, Device, DeviceGuard, OnMissing, Placement, TensorDeserialize, TensorReport, TensorSerialize,
};

use crate::common::sent::{Plain, SOURCE, Sent, plain, sent};
use crate::common::sim::{EightGpus, NoGpu, SimTensor};

type Sim = SimTensor<EightGpus>;

/// A message inside a message, as bytes: encoded and decoded by calls of its own.
struct Letter {
    landed: Option<(Device, Rule)>,
}

impl Serialize for Letter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let inner = Sent {
            x: SimTensor::on(SOURCE, &[1.0, 2.0]),
        };
        serializer.serialize_bytes(&serde_tensor::to_vec(&inner).map_err(ser::Error::custom)?)
    }
}

impl<'de> Deserialize<'de> for Letter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = Vec::<u8>::deserialize(deserializer)?;
        let (value, report) = Decoder::new()
            .from_slice_with_report::<Plain>(&bytes)
            .map_err(de::Error::custom)?;
        assert_eq!(report.len(), 1);
        Ok(Self {
            landed: Some((value.x.device(), report.tensors()[0].rule())),
        })
    }
}

/// Holds a letter where an attribute of the field around it can reach.
#[derive(TensorSerialize, TensorDeserialize)]
struct Sealed {
    #[tensor(none)]
    letter: Letter,
}

fn sealed() -> Sealed {
    Sealed {
        letter: Letter { landed: None },
    }
}

#[derive(TensorSerialize, TensorDeserialize)]
struct Envelope {
    #[tensor(device = "cuda:1")]
    before: Sim,
    #[tensor(device = "cuda:2")]
    sealed: Sealed,
    #[tensor(device = "cuda:3")]
    after: Sim,
    #[tensor]
    unmarked: Sim,
}

fn envelope() -> Vec<u8> {
    let x = Sim::on(SOURCE, &[1.0, 2.0]);
    let envelope = Envelope {
        before: x.clone(),
        sealed: sealed(),
        after: x.clone(),
        unmarked: x,
    };
    serde_tensor::to_vec(&envelope).unwrap()
}

#[test]
fn d8_a_decode_inside_a_decode_starts_afresh() {
    let decoded = Decoder::new().from_slice_with_report::<Envelope>(&envelope()).unwrap();
    let (envelope, report) = decoded;
    assert_eq!(envelope.sealed.letter.landed, Some((SOURCE, Rule::Source)));
    assert_eq!(
        (envelope.before.device(), envelope.after.device()),
        (Device::Cuda(1), Device::Cuda(3))
    );
    assert_eq!((envelope.unmarked.device(), report.len()), (SOURCE, 3), "{report}");
    let paths: Vec<_> = report.iter().map(TensorReport::path).collect();
    assert_eq!(paths, ["before", "after", "unmarked"]);
}

#[test]
fn d8_the_outer_calls_options_do_not_reach_the_inner_but_guards_do() {
    let decoder = || Decoder::new().placement(Placement::On(Device::Cuda(4)));
    let envelope: Envelope = decoder().from_slice(&self::envelope()).unwrap();
    assert_eq!(envelope.sealed.letter.landed, Some((SOURCE, Rule::Source)));
    assert_eq!(
        (envelope.after.device(), envelope.unmarked.device()),
        (Device::Cuda(4), Device::Cuda(4))
    );

    let _guard = DeviceGuard::enter(Device::Cuda(5));
    let envelope: Envelope = serde_tensor::from_slice(&self::envelope()).unwrap();
    assert_eq!(envelope.sealed.letter.landed, Some((Device::Cuda(5), Rule::Guard)));
}

#[test]
fn d8_an_encode_inside_an_encode_starts_afresh() {
    #[derive(TensorSerialize)]
    struct Pinning {
        #[tensor(device = "keep_cpu")]
        sealed: Sealed,
        #[tensor(device = "keep_cpu")]
        after: Sim,
        #[tensor]
        unmarked: Sim,
    }
    #[derive(TensorDeserialize)]
    struct Receiver {
        #[tensor]
        sealed: Sealed,
        #[tensor]
        after: Sim,
        #[tensor]
        unmarked: Sim,
    }
    let x = Sim::on(SOURCE, &[1.0, 2.0]);
    let pinning = Pinning {
        sealed: sealed(),
        after: x.clone(),
        unmarked: x,
    };
    let bytes = serde_tensor::to_vec(&pinning).unwrap();
    let _guard = DeviceGuard::enter(Device::Cuda(5));
    let receiver: Receiver = serde_tensor::from_slice(&bytes).unwrap();
    assert_eq!(receiver.sealed.letter.landed, Some((Device::Cuda(5), Rule::Guard)));
    assert_eq!(
        (receiver.after.device(), receiver.unmarked.device()),
        (Device::Cpu, Device::Cuda(5))
    );
}

/// Decodes a message for which a device is missing, and goes on without it.
struct Forgiving;

impl<'de> Deserialize<'de> for Forgiving {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = Vec::<u8>::deserialize(deserializer)?;
        let strict = Decoder::new().on_missing(OnMissing::Error);
        let error = strict.from_slice::<Vec<SimTensor<NoGpu>>>(&bytes).unwrap_err();
        assert_eq!(error.category(), Category::Device);
        Ok(Self)
    }
}

#[test]
fn d8_an_inner_calls_failure_is_not_the_outers() {
    #[derive(TensorDeserialize)]
    struct Receiver {
        #[tensor(none)]
        #[expect(dead_code, reason = "decoded for its effect")]
        inner: Forgiving,
        #[tensor]
        x: Sim,
    }
    #[derive(TensorSerialize)]
    struct Sender {
        inner: Vec<u8>,
        #[tensor]
        x: Sim,
    }
    let inner = serde_tensor::to_vec(&[Sim::cuda(3, &[1.0])]).unwrap();
    let bytes = serde_tensor::to_vec(&Sender {
        inner,
        x: Sim::cuda(3, &[1.0]),
    })
    .unwrap();
    let receiver: Receiver = serde_tensor::from_slice(&bytes).unwrap();
    assert_eq!(receiver.x.device(), Device::Cuda(3));
    assert_eq!(plain(&sent(), Decoder::new()), (SOURCE, Rule::Source));
}
