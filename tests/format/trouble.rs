//! Values and messages that are in order but unusual, and ones that are not. Each was once answered by a panic, an abort, a
//! refusal or a wrong answer, while every other test passed.

use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize, Serializer};
use serde_tensor::backend::{Description, HostBytes, Import, Imported, TensorBackend};
use serde_tensor::{
    Category, DType, Decoder, Encoder, Error, Plan, Result, Tensor, TensorDeserialize, TensorSerialize, inspect, scan,
};

fn tensor(len: usize) -> Tensor {
    Tensor::from_vec(vec![1u8; len], &[len]).unwrap()
}

/// A message by the plan.
fn planned<T: TensorSerialize>(value: &T) -> Vec<u8> {
    let mut message = Vec::new();
    Plan::new(value).unwrap().write_to(&mut message).unwrap();
    message
}

/// An untagged enum whose last variant fits: the tensor is read twenty times and counts once.
#[test]
fn variants_that_do_not_fit_do_not_use_up_the_limit_of_copies() {
    macro_rules! many {
        ($($variant:ident $field:ident)*) => {
            #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
            #[serde(untagged)]
            enum Many {
                $($variant { #[tensor] t: Vec<f32>, $field: u8 },)*
            }
        };
    }
    many! {
        A a B b C c D d E e F f G g H h I i J j K k L l M m N n O o P p Q q R r S s Z z
    }
    let value = Many::Z {
        t: vec![0.5; 1000],
        z: 1,
    };
    for message in [serde_tensor::to_vec(&value).unwrap(), planned(&value)] {
        assert_eq!(serde_tensor::from_slice::<Many>(&message).unwrap(), value);
        let detached = Decoder::new().detach(true);
        assert_eq!(detached.from_slice::<Many>(&message).unwrap(), value);
    }
}

#[test]
fn one_vector_in_many_fields_is_read_back_by_default() {
    let rows: Arc<[f32]> = vec![0.25f32; 4096].into();
    #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
    struct Shown {
        #[tensor]
        rows: Vec<Arc<[f32]>>,
    }
    let value = Shown { rows: vec![rows; 50] };
    assert_eq!(serde_tensor::from_slice::<Shown>(&planned(&value)).unwrap(), value);
    let tied: Vec<Rc<Tensor>> = std::iter::repeat_n(Rc::new(tensor(4096)), 50).collect();
    let message = planned(&tied);
    assert!(message.len() < 8192, "tensors are tied: {}", message.len());
    let read: Vec<Tensor> = serde_tensor::from_slice(&message).unwrap();
    assert!(
        read.iter()
            .all(|tensor| tensor.bytes().as_ptr() == read[0].bytes().as_ptr())
    );
}

#[test]
fn a_bool_that_is_neither_is_found_whichever_tensors_show_it_first() {
    // A frame of one segment, whose first and last tensors are in order.
    let bytes = Bytes::from([vec![1u8; 3000], vec![2], vec![0; 3000]].concat());
    let part =
        |start: usize, len: usize| Tensor::from_bytes(DType::U8, &[len], bytes.slice(start..start + len)).unwrap();
    let parts = vec![part(0, 3000), part(3001, 3000), part(1000, 1000), part(2000, 2000)];
    let mut message = planned(&parts);
    // u8, of 8 bits, becomes bool, of 8 bits: code 1 becomes 6.
    for at in 64..200 {
        if message[at..].starts_with(&[1, 1, 8, 0, 1, 0, 1]) {
            message[at + 1] = 6;
        }
    }
    let error = serde_tensor::from_slice::<Vec<Tensor>>(&message).unwrap_err();
    assert_eq!(error.category(), Category::Data);
    assert_eq!(error.path(), Some("[3]"));
    assert_eq!(error.message(), "element 1000 of a bool tensor is 2, neither 0 nor 1");
}

/// Deep values are refused by the plan as by `to_vec`: neither overflows the stack before it counts.
#[test]
fn a_plan_of_a_deep_value_is_an_error_at_the_limit() {
    #[derive(TensorSerialize)]
    struct Node {
        #[tensor]
        value: Option<Tensor>,
        #[tensor]
        next: Option<Box<Node>>,
    }
    let chain = |levels: usize| {
        (1..levels).fold(
            Node {
                value: Some(tensor(1)),
                next: None,
            },
            |next, _| Node {
                value: None,
                next: Some(Box::new(next)),
            },
        )
    };
    let fits = chain(128);
    assert_eq!(planned(&fits), serde_tensor::to_vec(&fits).unwrap());
    let deep = chain(8000);
    for error in [
        Plan::new(&deep).err().unwrap(),
        serde_tensor::to_vec(&deep).unwrap_err(),
    ] {
        assert_eq!(error.category(), Category::Limit);
    }
}

/// A type that writes another format inside its own `Serialize` writes it while it is scanned, too.
#[test]
fn a_scan_leaves_other_formats_alone() {
    struct AsJson(Tensor);

    impl Serialize for AsJson {
        fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
            serializer.serialize_str(&serde_json::to_string(&self.0).unwrap())
        }
    }

    #[derive(TensorSerialize)]
    struct Holder {
        text: AsJson,
    }

    let holder = Holder {
        text: AsJson(tensor(2)),
    };
    assert!(!scan::contains_tensor_dyn(&holder.text));
    assert!(!serde_tensor::contains_tensor(&holder));
    assert!(
        inspect(&serde_tensor::to_vec(&holder).unwrap())
            .unwrap()
            .tensors()
            .is_empty()
    );
}

/// What serde hides the format from is still seen.
#[test]
fn a_scan_sees_a_tensor_that_is_a_tagged_variant() {
    #[derive(TensorSerialize, Deserialize)]
    #[serde(tag = "t")]
    enum Tagged {
        Bare(#[tensor] Tensor),
        None,
    }
    assert!(scan::contains_tensor_dyn(&Tagged::Bare(tensor(2))));
    assert!(!scan::contains_tensor_dyn(&Tagged::None));
}

#[test]
fn inspecting_refuses_what_decoding_refuses() {
    let tensor = serde_tensor::to_vec(&tensor(1)).unwrap();
    let with = |front: &[u8]| [front, &tensor].concat();
    assert_eq!(inspect(&with(&[0x91])).unwrap().tensors().len(), 1);
    for malformed in [
        &[0x92, 0xd4, 0x53, 0xc1][..],
        &[0x92, 0xd5, 0x53, 0xc0, 0xc0],
        &[0x92, 0xd4, 0x53, 0x92],
    ] {
        let message = with(malformed);
        assert_eq!(
            inspect(&message).unwrap_err().category(),
            Category::Syntax,
            "{malformed:02x?}"
        );
        assert!(serde_tensor::from_slice::<(Option<Option<u8>>, Tensor)>(&message).is_err());
    }
    let deep = |levels: usize| with(&vec![0x91; levels]);
    assert!(inspect(&deep(128)).is_ok());
    assert_eq!(inspect(&deep(129)).unwrap_err().category(), Category::Limit);
}

#[test]
fn a_report_finds_its_way_past_a_malformed_part_that_was_ignored() {
    #[derive(TensorDeserialize)]
    struct Receiver {
        #[tensor]
        t: Tensor,
    }
    let mut message = b"\x82\xa1x\xd5\x53\xc0\xc0\xa1t".to_vec();
    message.extend_from_slice(&serde_tensor::to_vec(&tensor(1)).unwrap());
    let (receiver, report) = Decoder::new().from_slice_with_report::<Receiver>(&message).unwrap();
    assert_eq!(receiver.t, tensor(1));
    assert_eq!(report.tensors()[0].path(), "t");
}

/// A backend that breaks its word when its bytes are asked for.
struct Short;

impl TensorBackend for Short {
    fn describe(&self) -> Result<Description<'_>> {
        Ok(Description::new(DType::U8, &[4000]))
    }

    fn host_bytes(&self) -> Result<HostBytes<'_>> {
        Ok(HostBytes::copied(|sink| sink(&[0; 3])))
    }

    fn import(_: Import<'_>) -> Result<Imported<Self>> {
        Err(Error::backend("never imported"))
    }
}

serde_tensor::impl_tensor!(Short);

#[test]
fn a_copy_that_fails_names_its_field_whenever_it_is_made() {
    #[derive(TensorSerialize)]
    struct Two {
        #[tensor]
        parts: Vec<Short>,
    }
    let value = Two { parts: vec![Short] };
    let failures = [
        serde_tensor::to_vec(&value).unwrap_err(),
        Plan::new(&value).unwrap().write_to(Vec::new()).unwrap_err(),
        Encoder::new().snapshot(true).plan(&value).err().unwrap(),
        Encoder::new().checksums(true).plan(&value).err().unwrap(),
    ];
    for error in failures {
        assert_eq!((error.category(), error.path()), (Category::Backend, Some("parts[0]")));
    }
}

/// A field that is written in another format, through a buffer that is gone when the next field is read, so that the next
/// buffer may come to lie at the same address.
mod boxed {
    use serde::{Deserialize, Deserializer, Serializer, de, ser};
    use serde_tensor::Tensor;

    pub(super) fn serialize<S: Serializer>(tensor: &Tensor, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes = rmp_serde::to_vec(tensor).map_err(ser::Error::custom)?;
        serde_bytes::serialize(&bytes, serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Tensor, D::Error> {
        let bytes = serde_bytes::ByteBuf::deserialize(deserializer)?.into_vec();
        rmp_serde::from_slice(&bytes).map_err(de::Error::custom)
    }
}

#[test]
fn tensors_read_from_buffers_that_come_and_go_keep_apart() {
    #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
    struct Two {
        #[serde(with = "boxed")]
        a: Tensor,
        #[serde(with = "boxed")]
        b: Tensor,
        #[serde(with = "boxed")]
        c: Tensor,
    }
    for len in [1, 10, 1000, 100_000] {
        let of = |byte: u8| Tensor::from_vec(vec![byte; len], &[len]).unwrap();
        let bools = Tensor::from_vec(vec![true; len], &[len]).unwrap();
        let value = Two {
            a: of(1),
            b: bools,
            c: of(3),
        };
        let message = serde_tensor::to_vec(&value).unwrap();
        let (read, report) = Decoder::new().from_slice_with_report::<Two>(&message).unwrap();
        assert_eq!(read, value, "{len}");
        assert_eq!(report.len(), 3);
    }
}

/// What a type keeps of its own encoding is the same whether it was scanned before or not.
#[test]
fn a_scan_changes_nothing_that_a_type_writes() {
    struct Cached {
        tensor: Tensor,
        text: std::sync::OnceLock<String>,
    }

    impl Serialize for Cached {
        fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
            let text = self.text.get_or_init(|| {
                let json = serde_json::to_value(&self.tensor).unwrap();
                assert!(json["data"].is_string());
                json.to_string()
            });
            serializer.serialize_str(text)
        }
    }

    let new = || Cached {
        tensor: tensor(2),
        text: std::sync::OnceLock::new(),
    };
    let scanned = new();
    assert!(!scan::contains_tensor_dyn(&scanned));
    assert_eq!(
        serde_tensor::to_vec(&scanned).unwrap(),
        serde_tensor::to_vec(&new()).unwrap()
    );
}

/// An untagged enum swallows the failure, and the next tensor shows the same bytes.
#[test]
fn a_bool_that_is_neither_is_refused_each_time_it_is_shown() {
    let bytes = Bytes::from([vec![1u8; 5000], vec![9], vec![1; 5000]].concat());
    let part = |start: usize| Tensor::from_bytes(DType::U8, &[3000], bytes.slice(start..start + 3000)).unwrap();
    let mut message = planned(&vec![part(3000), part(2500), part(5000), part(0), part(7001)]);
    for at in 64..300 {
        if message[at..].starts_with(&[1, 1, 8, 0, 1, 0, 1]) {
            message[at + 1] = 6;
        }
    }
    #[derive(TensorDeserialize)]
    #[serde(untagged)]
    enum Either {
        Sound(#[tensor] Tensor),
        Other(serde::de::IgnoredAny),
    }
    let read: Vec<Either> = serde_tensor::from_slice(&message).unwrap();
    let sound: Vec<bool> = read
        .iter()
        .map(|either| match either {
            Either::Sound(tensor) => tensor.len() == 3000,
            Either::Other(_) => false,
        })
        .collect();
    assert_eq!(sound, [false, false, false, true, true]);
}
