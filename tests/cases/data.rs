//! Faults of formats: values that are lost or changed on the way.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde::ser::{SerializeMap as _, SerializeSeq as _};
use serde::{Deserialize, Serialize, Serializer};
use serde_bytes::ByteBuf;
use serde_tensor::{Category, Decoder, Encoder, Tensor, TensorDeserialize, TensorSerialize, TensorView};

use crate::{both, ramp};

/// F1.
#[test]
fn a_length_that_is_not_known_beforehand_is_counted_while_writing() {
    struct Unknown;
    impl Serialize for Unknown {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut seq = serializer.serialize_seq(None)?;
            for _ in 0..3 {
                seq.serialize_element(&UnknownMap)?;
            }
            seq.end()
        }
    }
    struct UnknownMap;
    impl Serialize for UnknownMap {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut map = serializer.serialize_map(None)?;
            map.serialize_entry("tensor", &ramp(600))?;
            map.serialize_entry("none", &None::<Tensor>)?;
            map.end()
        }
    }
    let bytes = serde_tensor::to_vec(&Unknown).unwrap();
    let read: Vec<BTreeMap<String, Option<Tensor>>> = serde_tensor::from_slice(&bytes).unwrap();
    assert_eq!(
        read,
        vec![BTreeMap::from([("tensor".into(), Some(ramp(600))), ("none".into(), None)]); 3]
    );
}

/// F1.
#[test]
fn flattened_fields_and_maps_travel() {
    #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
    struct Inner {
        #[tensor]
        x: Tensor,
        n: u8,
    }
    #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
    struct Outer {
        first: u8,
        #[serde(flatten)]
        #[tensor]
        inner: Inner,
        #[serde(flatten)]
        #[tensor]
        rest: BTreeMap<String, Tensor>,
    }
    let value = Outer {
        first: 1,
        inner: Inner { x: ramp(600), n: 2 },
        rest: BTreeMap::from([("a".into(), ramp(3)), ("b".into(), ramp(700))]),
    };
    for encoder in [Encoder::new(), Encoder::new().compact(true)] {
        for bytes in both(&encoder, &value) {
            assert_eq!(serde_tensor::from_slice::<Outer>(&bytes).unwrap(), value);
        }
    }
}

#[derive(Serialize, Deserialize, Debug, PartialEq)]
struct Skips {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    a: Option<u8>,
    b: u8,
}

/// F2.
#[test]
fn a_skipped_field_does_not_shift_the_others() {
    for value in [Skips { a: None, b: 1 }, Skips { a: Some(2), b: 1 }] {
        let bytes = serde_tensor::to_vec(&value).unwrap();
        assert_eq!(serde_tensor::from_slice::<Skips>(&bytes).unwrap(), value);
    }
}

/// F2.
#[test]
fn a_reordered_field_reads_by_its_name() {
    #[derive(Serialize)]
    struct Before {
        b: u8,
        a: u8,
    }
    let bytes = serde_tensor::to_vec(&Before { b: 1, a: 2 }).unwrap();
    assert_eq!(
        serde_tensor::from_slice::<Skips>(&bytes).unwrap(),
        Skips { a: Some(2), b: 1 }
    );
}

/// F2.
#[test]
fn a_skipped_field_is_an_error_in_a_compact_message() {
    let compact = Encoder::new().compact(true);
    let value = Skips { a: Some(2), b: 1 };
    assert_eq!(
        serde_tensor::from_slice::<Skips>(&compact.to_vec(&value).unwrap()).unwrap(),
        value
    );
    let error = compact.to_vec(&[Skips { a: None, b: 1 }]).unwrap_err();
    assert_eq!(error.category(), Category::Data);
    assert!(error.to_string().contains("`a` is skipped"), "{error}");
    #[derive(Serialize)]
    enum Variant {
        V {
            #[serde(skip_serializing_if = "Option::is_none")]
            a: Option<u8>,
        },
    }
    assert!(compact.to_vec(&Variant::V { a: None }).is_err());
}

/// F3.
#[test]
fn a_field_may_be_added_or_removed_between_writer_and_reader() {
    #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
    struct Old {
        n: u8,
        #[tensor]
        gone: Tensor,
    }
    #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
    struct New {
        n: u8,
        #[serde(default)]
        text: String,
        #[tensor]
        maybe: Option<Tensor>,
        #[serde(default)]
        #[tensor]
        list: Vec<Tensor>,
    }
    for old in both(&Encoder::new(), &Old { n: 1, gone: ramp(600) }) {
        let read: New = serde_tensor::from_slice(&old).unwrap();
        assert_eq!(
            read,
            New {
                n: 1,
                text: String::new(),
                maybe: None,
                list: vec![]
            }
        );
    }
    #[derive(TensorDeserialize)]
    struct Older {
        n: u8,
    }
    let new = New {
        n: 2,
        text: "t".into(),
        maybe: Some(ramp(3)),
        list: vec![ramp(700)],
    };
    for new in both(&Encoder::new(), &new) {
        assert_eq!(serde_tensor::from_slice::<Older>(&new).unwrap().n, 2);
    }
}

/// F3.
#[test]
fn marking_an_existing_vector_keeps_old_messages_readable() {
    #[derive(Serialize, Deserialize, Debug, PartialEq)]
    struct Unmarked {
        x: Vec<f32>,
        y: Vec<u8>,
        z: [bool; 2],
    }
    #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
    struct Marked {
        #[tensor]
        x: Vec<f32>,
        #[tensor]
        y: Vec<u8>,
        #[tensor]
        z: [bool; 2],
    }
    for x in [vec![], vec![1.5, -2.0, f32::INFINITY]] {
        let old = serde_tensor::to_vec(&Unmarked {
            x: x.clone(),
            y: vec![7, 255],
            z: [true, false],
        })
        .unwrap();
        let new: Marked = serde_tensor::from_slice(&old).unwrap();
        assert_eq!(
            new,
            Marked {
                x,
                y: vec![7, 255],
                z: [true, false]
            }
        );
    }
    // Whole numbers that another program wrote, and bytes.
    let other = b"\x83\xa1x\x92\x01\xff\xa1y\xc4\x01\x09\xa1z\x92\xc2\xc3";
    let new: Marked = serde_tensor::from_slice(other).unwrap();
    assert_eq!(
        new,
        Marked {
            x: vec![1.0, -1.0],
            y: vec![9],
            z: [false, true]
        }
    );
}

/// F4.
#[test]
fn some_none_and_some_unit_survive_in_any_nesting() {
    type Deep = Vec<Option<Option<BTreeMap<u8, Option<Option<()>>>>>>;
    let value: Deep = vec![
        None,
        Some(None),
        Some(Some(BTreeMap::from([(1, None), (2, Some(None)), (3, Some(Some(())))]))),
    ];
    let bytes = serde_tensor::to_vec(&value).unwrap();
    assert_eq!(serde_tensor::from_slice::<Deep>(&bytes).unwrap(), value);
    let tensors = [None, Some(None), Some(Some(ramp(600)))];
    for bytes in both(&Encoder::new(), &tensors) {
        assert_eq!(
            serde_tensor::from_slice::<[Option<Option<Tensor>>; 3]>(&bytes).unwrap(),
            tensors
        );
    }
}

/// F5. Without a copy: `tests/format/sharing.rs` has all taggings.
#[test]
fn a_tensor_arrives_through_everything_that_serde_buffers_without_a_copy() {
    #[derive(TensorSerialize, TensorDeserialize)]
    #[serde(tag = "t", content = "c")]
    enum Adjacent<'a> {
        One(#[tensor] TensorView<'a>),
    }
    #[derive(TensorSerialize, TensorDeserialize)]
    #[serde(untagged)]
    enum Untagged<'a> {
        Text(String),
        Adjacent(#[tensor] Adjacent<'a>),
    }
    #[derive(TensorSerialize, TensorDeserialize)]
    struct Outer<'a> {
        #[serde(flatten)]
        #[tensor]
        map: BTreeMap<String, Untagged<'a>>,
    }
    let tensor = ramp(5000);
    let one = Untagged::Adjacent(Adjacent::One(tensor.view()));
    for bytes in both(
        &Encoder::new(),
        &Outer {
            map: BTreeMap::from([("k".into(), one)]),
        },
    ) {
        let read: Outer<'_> = serde_tensor::from_slice(&bytes).unwrap();
        let Untagged::Adjacent(Adjacent::One(view)) = &read.map["k"] else {
            panic!()
        };
        assert_eq!(*view, tensor);
        assert!(bytes.as_ptr_range().contains(&view.bytes().as_ptr()));
    }
}

/// F5.
#[test]
fn a_tensor_that_is_itself_an_internally_tagged_variant_travels_as_its_map() {
    #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
    #[serde(tag = "t")]
    enum Internal {
        One(#[tensor] Tensor),
    }
    for encoder in [Encoder::new(), Encoder::new().compact(true)] {
        for bytes in both(&encoder, &Internal::One(ramp(600))) {
            assert_eq!(
                serde_tensor::from_slice::<Internal>(&bytes).unwrap(),
                Internal::One(ramp(600))
            );
            assert!(bytes.windows(5).any(|window| window == b"dtype"));
        }
    }
}

/// F6.
#[test]
fn bytes_and_sequences_of_integers_read_as_each_other() {
    let numbers: Vec<u8> = (0..=255).collect();
    let bytes = serde_tensor::to_vec(&ByteBuf::from(numbers.clone())).unwrap();
    assert_eq!(bytes.len(), 3 + 256);
    assert_eq!(serde_tensor::from_slice::<Vec<u8>>(&bytes).unwrap(), numbers);
    let array = serde_tensor::to_vec(&numbers).unwrap();
    assert_eq!(serde_tensor::from_slice::<ByteBuf>(&array).unwrap(), numbers);
    // As another program writes its integers: in their widest form.
    let wide = [&[0x92, 0xd3][..], &7i64.to_be_bytes(), &[0xcf], &255u64.to_be_bytes()].concat();
    assert_eq!(serde_tensor::from_slice::<ByteBuf>(&wide).unwrap().into_vec(), [7, 255]);
}

/// F6.
#[test]
fn a_marked_vector_of_bytes_goes_in_bulk() {
    #[derive(TensorSerialize)]
    struct Marked(#[tensor] Vec<u8>);
    for bytes in both(&Encoder::new(), &Marked(vec![200; 1 << 20])) {
        assert!(bytes.len() < (1 << 20) + 256);
    }
}

/// F7.
#[test]
fn bytes_left_over_are_an_error_with_their_offset() {
    for message in [
        serde_tensor::to_vec(&[1, 2]).unwrap(),
        serde_tensor::to_vec(&ramp(600)).unwrap(),
    ] {
        let longer = [&message[..], b"x"].concat();
        let errors = [
            serde_tensor::from_slice::<IgnoredAny>(&longer).unwrap_err(),
            serde_tensor::from_bytes::<IgnoredAny>(longer.clone().into()).unwrap_err(),
            serde_tensor::inspect(&longer).map(drop).unwrap_err(),
        ];
        for error in errors {
            assert_eq!(
                (error.category(), error.offset()),
                (Category::Syntax, Some(message.len() as u64))
            );
        }
        assert_eq!(Decoder::new().take_from_slice::<IgnoredAny>(&longer).unwrap().1, b"x");
    }
    // Inside a frame's body, too.
    let mut frame = Encoder::new().framed(true).to_vec(&[1, 2]).unwrap();
    let body = crate::data::position_of_body(&frame);
    frame[body] = 0x91;
    let error = serde_tensor::from_slice::<Vec<u8>>(&frame).unwrap_err();
    assert_eq!(
        (error.category(), error.offset()),
        (Category::Syntax, Some(body as u64 + 2))
    );
}

fn position_of_body(frame: &[u8]) -> usize {
    usize::from(frame[16])
}
