//! A tensor as a map, which people read and other programs write.

use std::marker::PhantomData;

use serde_json::{Value, json};
use serde_tensor::backend::{Description, HostBytes, Import, Imported, TensorBackend};
use serde_tensor::device::Transfer;
use serde_tensor::{DType, Decoder, Device, Report, Rule, Tensor, TensorDeserialize, TensorSerialize};

/// A transposed matrix on some device; there is one of each.
#[derive(Debug, PartialEq, Clone)]
struct Sim {
    device: Device,
    grad: bool,
    columns: Vec<u8>,
    marker: PhantomData<()>,
}

impl Sim {
    /// `[[1, 2, 3], [4, 5, 6]]`, column by column.
    fn on(device: Device, grad: bool) -> Self {
        Self {
            device,
            grad,
            columns: vec![1, 4, 2, 5, 3, 6],
            marker: PhantomData,
        }
    }
}

impl TensorBackend for Sim {
    fn describe(&self) -> serde_tensor::Result<Description<'_>> {
        Ok(Description::new(DType::U8, &[2, 3])
            .strides(&[1, 2])
            .device(self.device)
            .requires_grad(self.grad))
    }

    fn host_bytes(&self) -> serde_tensor::Result<HostBytes<'_>> {
        Ok(HostBytes::copied(|sink| {
            self.columns.chunks(4).try_for_each(&mut *sink)
        }))
    }

    fn import(import: Import<'_>) -> serde_tensor::Result<Imported<Self>> {
        let rows = import.row_major()?.into_owned();
        let columns = (0..rows.len()).map(|i| rows[i % 2 * 3 + i / 2]).collect();
        let (device, grad) = (import.device(), import.requires_grad());
        Ok(Imported::new(
            Self {
                device,
                grad,
                columns,
                marker: PhantomData,
            },
            Transfer::HostToDevice,
        ))
    }

    fn is_available(_: Device) -> bool {
        true
    }
}

serde_tensor::impl_tensor!(Sim);

#[test]
fn the_map_is_as_documented() {
    let tensor = Tensor::from_elements(&[1.0f32, 2.0], &[2, 1]).unwrap();
    let expected = json!({"dtype": "f32", "shape": [2, 1], "data": "AACAPwAAAEA="});
    assert_eq!(serde_json::to_value(&tensor).unwrap(), expected);
    assert_eq!(serde_json::from_value::<Tensor>(expected).unwrap(), tensor);
}

#[test]
fn strided_tensors_are_compacted_and_their_device_is_named() {
    let json = serde_json::to_value(Sim::on(Device::Cuda(1), true)).unwrap();
    let expected =
        json!({"dtype": "u8", "shape": [2, 3], "device": "cuda:1", "requires_grad": true, "data": "AQIDBAUG"});
    assert_eq!(json, expected);
    assert_eq!(
        serde_json::from_value::<Sim>(json).unwrap(),
        Sim::on(Device::Cuda(1), true)
    );
}

#[test]
fn strides_and_devices_travel_in_binary_formats() {
    for sent in [
        Sim::on(Device::Cpu, false),
        Sim::on(Device::Cuda(1), true),
        Sim::on(Device::Vulkan, false),
    ] {
        let bytes = postcard::to_stdvec(&sent).unwrap();
        assert_eq!(postcard::from_bytes::<Sim>(&bytes).unwrap(), sent);
        assert!(bytes.ends_with(&[1, 4, 2, 5, 3, 6]), "as they lie");
        let bytes = rmp_serde::to_vec(&sent).unwrap();
        assert_eq!(rmp_serde::from_slice::<Sim>(&bytes).unwrap(), sent);
        let (read, report): (Sim, Report) = Decoder::new().from_slice_with_report(&bytes).unwrap();
        assert_eq!(read, sent);
        assert_eq!(report.tensors()[0].recorded(), sent.device);
    }
}

#[test]
fn unnamed_dtypes_and_devices_have_names_all_the_same() {
    let device = Device::from_dlpack(12, 0);
    assert_eq!(
        serde_json::to_value(Sim::on(device, false)).unwrap()["device"],
        "dl:12:0"
    );
    let tensor = Tensor::from_bytes(DType::from_dlpack(9, 8).unwrap(), &[1], vec![5]).unwrap();
    assert_eq!(serde_json::to_value(&tensor).unwrap()["dtype"], "dl:9/8");
}

#[test]
fn a_pin_travels_in_the_map_and_holds_where_it_arrives() {
    #[derive(TensorSerialize)]
    struct Sent {
        #[tensor(device = "keep_cpu")]
        kept: Sim,
        #[tensor(device = "source")]
        source: Sim,
        #[tensor(device = "cuda:3")]
        own: Sim,
    }
    #[derive(TensorDeserialize)]
    struct Read {
        #[tensor]
        kept: Sim,
        #[tensor]
        source: Sim,
        #[tensor]
        own: Sim,
    }
    let sim = Sim::on(Device::Cuda(1), false);
    let sent = Sent {
        kept: sim.clone(),
        source: sim.clone(),
        own: sim,
    };
    let json = serde_json::to_value(&sent).unwrap();
    assert_eq!(json["kept"]["pin"], "keep_cpu");
    assert_eq!(json["source"]["pin"], "source");
    assert_eq!(
        json["own"].get("pin"),
        None,
        "what the receiver does is not the sender's to say"
    );
    serde_tensor::with_device(Device::Cuda(7), || {
        let binary = postcard::from_bytes::<Read>(&postcard::to_stdvec(&sent).unwrap()).unwrap();
        let text = serde_json::from_value::<Read>(json.clone()).unwrap();
        // The map inside this format, with what was decided.
        let bytes = serde_tensor::to_vec(&json).unwrap();
        let (ours, report): (Read, Report) = Decoder::new().from_slice_with_report(&bytes).unwrap();
        for read in [binary, text, ours] {
            assert_eq!(read.kept.device, Device::Cpu);
            assert_eq!(read.source.device, Device::Cuda(1));
            assert_eq!(read.own.device, Device::Cuda(7));
        }
        let mut rules: Vec<Rule> = report.iter().map(serde_tensor::TensorReport::rule).collect();
        rules.sort();
        assert_eq!(rules, [Rule::Pin, Rule::Pin, Rule::Guard]);
    });
}

#[test]
fn keys_may_come_in_any_order_and_optional_ones_may_say_the_default() {
    let text = r#"{"data":"BQ==","pin":"none","requires_grad":false,"shape":[1],"device":"cpu","dtype":"u8"}"#;
    let expected = Tensor::from_elements(&[5u8], &[1]).unwrap();
    assert_eq!(serde_json::from_str::<Tensor>(text).unwrap(), expected);
    let ours = serde_tensor::to_vec(&serde_json::from_str::<Value>(text).unwrap()).unwrap();
    assert_eq!(serde_tensor::from_slice::<Tensor>(&ours).unwrap(), expected);
}

#[test]
fn what_is_missing_unknown_twice_or_wrong_is_refused() {
    let good = json!({"dtype": "u8", "shape": [1], "data": "BQ=="});
    serde_json::from_value::<Tensor>(good.clone()).unwrap();
    let mut bad = Vec::new();
    for key in ["dtype", "shape", "data"] {
        let mut map = good.as_object().unwrap().clone();
        map.remove(key);
        bad.push((Value::Object(map), format!("missing field `{key}`")));
    }
    for (key, value, message) in [
        ("extra", json!(1), "unknown field `extra`"),
        ("strides", json!([1]), "unknown field `strides`"),
        ("dtype", json!("f99"), "f99"),
        ("dtype", json!(5), "invalid type"),
        ("device", json!("gpu"), "gpu"),
        ("pin", json!("maybe"), "unknown variant `maybe`"),
        ("shape", json!([-1]), "invalid value"),
        ("shape", json!([2]), "2 bytes"),
        ("data", json!("BQ"), "not base64"),
        ("data", json!("BQ=*"), "not base64"),
        ("data", json!("BQ==BQ=="), "not base64"),
        ("data", json!("BQUF"), "1 bytes"),
        ("requires_grad", json!("yes"), "invalid type"),
    ] {
        let mut map = good.as_object().unwrap().clone();
        map.insert(key.to_owned(), value);
        bad.push((Value::Object(map), message.to_owned()));
    }
    for (value, message) in bad {
        let error = serde_json::from_value::<Tensor>(value.clone()).unwrap_err();
        assert!(error.to_string().contains(&message), "{value}: {error}");
        let ours = serde_tensor::to_vec(&value).unwrap();
        let error = serde_tensor::from_slice::<Tensor>(&ours).unwrap_err();
        assert!(error.to_string().contains(&message), "{value}: {error}");
    }
    let twice = r#"{"dtype":"u8","shape":[1],"data":"BQ==","shape":[1]}"#;
    let error = serde_json::from_str::<Tensor>(twice).unwrap_err();
    assert!(error.to_string().contains("duplicate field `shape`"), "{error}");
}

#[test]
fn a_map_that_is_no_tensor_is_left_to_the_next_variant() {
    #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
    #[serde(untagged)]
    enum Either {
        Tensor(#[tensor] Tensor),
        Map(std::collections::BTreeMap<String, Value>),
    }
    let map = |value: Value| serde_json::from_value::<Either>(value).unwrap();
    assert!(matches!(
        map(json!({"dtype": "u8", "shape": [1], "data": "BQ=="})),
        Either::Tensor(_)
    ));
    for value in [
        json!({}),
        json!({"dtype": "u8", "shape": [1]}),
        json!({"dtype": "u8", "shape": [1], "data": "BQ==", "name": "x"}),
    ] {
        assert!(matches!(map(value), Either::Map(_)));
    }
}
