//! Every serde attribute keeps its meaning beside `#[tensor]`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_tensor::{Tensor, TensorDeserialize, TensorSerialize, contains_tensor};

use crate::{named_round_trips, round_trips, tensor};

#[track_caller]
fn keys(value: &impl Serialize) -> Vec<String> {
    let json = serde_json::to_value(value).unwrap();
    json.as_object().unwrap().keys().cloned().collect()
}

#[test]
fn names_are_renamed_and_aliased() {
    #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Names {
        #[tensor]
        first_one: Tensor,
        #[tensor]
        #[serde(rename = "2nd", alias = "second")]
        second_one: Tensor,
        #[serde(rename(serialize = "out", deserialize = "in"), alias = "out")]
        third_one: u8,
    }
    let value = Names {
        first_one: tensor(1),
        second_one: tensor(2),
        third_one: 3,
    };
    assert_eq!(keys(&value), ["2nd", "firstOne", "out"]);
    named_round_trips(&value);
    let mut json = serde_json::to_value(&value).unwrap();
    let second = json.as_object_mut().unwrap().remove("2nd").unwrap();
    json["second"] = second;
    assert_eq!(serde_json::from_value::<Names>(json.clone()).unwrap(), value);
    json["unknown"] = json!(1);
    let error = serde_json::from_value::<Names>(json).unwrap_err();
    assert!(error.to_string().starts_with("unknown field `unknown`"), "{error}");
}

#[test]
fn what_is_missing_is_filled_in() {
    fn ones() -> Vec<Tensor> {
        vec![tensor(1)]
    }
    #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
    struct Defaults {
        #[tensor]
        missing_is_none: Option<Tensor>,
        #[tensor]
        #[serde(default)]
        list: Vec<Tensor>,
        #[tensor]
        #[serde(default = "ones")]
        ones: Vec<Tensor>,
        unmarked: Option<u8>,
    }
    let value: Defaults = serde_json::from_value(json!({})).unwrap();
    let expected = Defaults {
        missing_is_none: None,
        list: vec![],
        ones: ones(),
        unmarked: None,
    };
    assert_eq!(value, expected);
    #[derive(TensorDeserialize, Debug)]
    struct Required {
        #[tensor]
        #[expect(dead_code)]
        tensor: Tensor,
    }
    let error = serde_json::from_value::<Required>(json!({})).unwrap_err();
    assert_eq!(error.to_string(), "missing field `tensor`");
}

#[test]
fn a_default_of_the_type_fills_in_what_is_missing() {
    #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
    #[serde(default)]
    struct Whole {
        #[tensor]
        tensor: Tensor,
        #[tensor]
        option: Option<Tensor>,
        rest: u8,
    }
    impl Default for Whole {
        fn default() -> Self {
            Self {
                tensor: tensor(7),
                option: Some(tensor(8)),
                rest: 9,
            }
        }
    }
    let value: Whole = serde_json::from_value(json!({ "rest": 1 })).unwrap();
    assert_eq!(
        value,
        Whole {
            rest: 1,
            ..Whole::default()
        }
    );
}

#[test]
fn skipped_fields_stay_behind() {
    #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
    struct Skips {
        #[tensor]
        #[serde(skip_serializing_if = "Option::is_none")]
        absent: Option<Tensor>,
        #[tensor]
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        present: Vec<Tensor>,
        #[serde(skip)]
        cache: Option<Tensor>,
        #[serde(skip_serializing, default)]
        read_only: u8,
        #[serde(skip_deserializing)]
        write_only: u8,
    }
    let value = Skips {
        absent: None,
        present: vec![tensor(1)],
        cache: None,
        read_only: 0,
        write_only: 0,
    };
    assert_eq!(keys(&value), ["present", "write_only"]);
    named_round_trips(&value);
    let cached = Skips {
        cache: Some(tensor(2)),
        present: vec![],
        ..value
    };
    assert!(!contains_tensor(&cached), "a skipped tensor does not travel");
}

#[test]
fn flattened_types_keep_their_tensors() {
    #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
    struct Inner {
        #[tensor]
        tensor: Tensor,
        name: String,
    }
    #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
    struct Outer {
        id: u8,
        #[tensor]
        #[serde(flatten)]
        inner: Inner,
        #[tensor]
        #[serde(flatten)]
        maybe: Option<Named>,
        #[tensor]
        #[serde(flatten)]
        rest: BTreeMap<String, Tensor>,
    }
    #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
    struct Named {
        #[tensor]
        named: Tensor,
    }
    let mut value = Outer {
        id: 1,
        inner: Inner {
            tensor: tensor(1),
            name: "inner".to_owned(),
        },
        maybe: Some(Named { named: tensor(2) }),
        rest: BTreeMap::from([("x".to_owned(), tensor(3))]),
    };
    assert_eq!(keys(&value), ["id", "name", "named", "tensor", "x"]);
    named_round_trips(&value);
    value.maybe = None;
    // A map at the end takes everything that is left.
    named_round_trips(&value);
}

#[test]
fn a_transparent_type_is_its_field() {
    #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
    #[serde(transparent)]
    struct Transparent {
        #[tensor]
        tensor: Option<Tensor>,
        #[serde(skip)]
        note: u8,
    }
    let value = Transparent {
        tensor: Some(tensor(1)),
        note: 0,
    };
    assert_eq!(
        serde_json::to_value(&value).unwrap(),
        serde_json::to_value(&value.tensor).unwrap()
    );
    round_trips(&value);
}

#[test]
fn types_are_converted_on_the_way() {
    #[derive(TensorSerialize, TensorDeserialize, Clone, Debug, PartialEq)]
    #[serde(into = "Raw", try_from = "Raw")]
    struct Checked {
        tensor: Tensor,
    }
    #[derive(TensorSerialize, TensorDeserialize)]
    struct Raw {
        #[tensor]
        raw: Tensor,
    }
    impl From<Checked> for Raw {
        fn from(checked: Checked) -> Self {
            Self { raw: checked.tensor }
        }
    }
    impl TryFrom<Raw> for Checked {
        type Error = String;
        fn try_from(raw: Raw) -> Result<Self, String> {
            if raw.raw.is_empty() {
                Err("an empty tensor".to_owned())
            } else {
                Ok(Self { tensor: raw.raw })
            }
        }
    }
    let value = Checked { tensor: tensor(1) };
    assert_eq!(keys(&value), ["raw"]);
    round_trips(&value);
    assert!(contains_tensor(&value), "what it is converted to is looked at");
    let empty = Raw {
        raw: Tensor::from_elements::<f32>(&[], &[0]).unwrap(),
    };
    let error = serde_tensor::from_slice::<Checked>(&serde_tensor::to_vec(&empty).unwrap()).unwrap_err();
    assert!(error.to_string().contains("an empty tensor"), "{error}");
}

#[test]
fn functions_of_the_users_write_other_fields() {
    mod as_text {
        use serde::{Deserialize, Deserializer, Serializer};
        pub(super) fn serialize<S: Serializer>(value: &u8, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_str(&value.to_string())
        }
        pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
            String::deserialize(deserializer)?
                .parse()
                .map_err(serde::de::Error::custom)
        }
    }
    #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
    struct With {
        #[serde(with = "as_text")]
        number: u8,
        #[serde(serialize_with = "as_text::serialize", deserialize_with = "as_text::deserialize")]
        other: u8,
        #[tensor]
        tensor: Tensor,
    }
    round_trips(&With {
        number: 1,
        other: 2,
        tensor: tensor(3),
    });
}

#[test]
fn a_type_of_another_crate_stands_in_a_field_by_with() {
    /// As if it came from a crate without serde.
    #[derive(Debug, PartialEq)]
    struct Foreign(u8);
    #[derive(Serialize, Deserialize)]
    #[serde(remote = "Foreign")]
    struct ForeignDef(u8);
    #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
    struct Holder {
        #[serde(with = "ForeignDef")]
        foreign: Foreign,
        #[tensor]
        tensor: Tensor,
    }
    round_trips(&Holder {
        foreign: Foreign(3),
        tensor: tensor(1),
    });
}

#[test]
fn self_in_attributes_and_types_means_the_type() {
    #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq, Default)]
    struct Tree {
        #[tensor]
        #[serde(skip_serializing_if = "Self::is_leaf", default = "Self::no_children")]
        children: Vec<Self>,
        #[tensor]
        data: [u8; Self::SIZE],
    }
    impl Tree {
        const SIZE: usize = 2;
        fn is_leaf(children: &[Self]) -> bool {
            children.is_empty()
        }
        fn no_children() -> Vec<Self> {
            Vec::new()
        }
    }
    named_round_trips(&Tree {
        children: vec![
            Tree::default(),
            Tree {
                children: vec![],
                data: [1, 2],
            },
        ],
        data: [3, 4],
    });
}

#[test]
fn the_type_is_called_by_its_own_name() {
    #[derive(TensorSerialize, TensorDeserialize, Debug)]
    #[serde(tag = "type")]
    struct Named {
        #[tensor]
        tensor: Tensor,
    }
    let value = Named { tensor: tensor(1) };
    assert_eq!(serde_json::to_value(&value).unwrap()["type"], "Named");
    let error = serde_json::from_str::<Named>("1").unwrap_err();
    assert!(error.to_string().contains("expected struct Named"), "{error}");

    #[derive(TensorDeserialize, Debug)]
    #[serde(expecting = "a thing of ours")]
    struct Expecting {
        #[tensor]
        #[expect(dead_code)]
        tensor: Tensor,
    }
    let error = serde_json::from_str::<Expecting>("1").unwrap_err();
    assert!(error.to_string().contains("expected a thing of ours"), "{error}");
}

#[test]
fn a_name_for_one_direction_leaves_the_other() {
    #[derive(TensorSerialize, TensorDeserialize)]
    #[serde(tag = "type", rename(deserialize = "Other"))]
    struct Named {
        #[tensor]
        tensor: Option<Tensor>,
    }
    let json = serde_json::to_value(Named { tensor: None }).unwrap();
    assert_eq!(json["type"], "Named");
    let back: Named = serde_json::from_value(json!({ "type": "Other" })).unwrap();
    assert!(back.tensor.is_none());
}

#[test]
fn a_path_of_serde_given_by_the_user_is_of_no_consequence() {
    #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
    #[serde(crate = "serde")]
    struct WithCrate {
        #[tensor]
        tensor: Tensor,
    }
    round_trips(&WithCrate { tensor: tensor(1) });
}

#[test]
fn identifiers_can_be_derived() {
    #[derive(TensorDeserialize, Debug, PartialEq)]
    #[serde(field_identifier, rename_all = "snake_case")]
    enum Field {
        FirstOne,
        Other(String),
    }
    assert_eq!(
        serde_json::from_str::<Field>(r#""first_one""#).unwrap(),
        Field::FirstOne
    );
    assert_eq!(
        serde_json::from_str::<Field>(r#""x""#).unwrap(),
        Field::Other("x".to_owned())
    );
}

#[test]
fn one_direction_alone_can_be_derived() {
    #[derive(TensorSerialize)]
    struct Out<'a> {
        #[tensor]
        tensor: &'a Tensor,
        note: &'a str,
    }
    #[derive(TensorDeserialize)]
    struct In {
        #[tensor]
        tensor: Tensor,
        note: String,
    }
    let tensor = tensor(1);
    let bytes = serde_tensor::to_vec(&Out {
        tensor: &tensor,
        note: "hi",
    })
    .unwrap();
    let back: In = serde_tensor::from_slice(&bytes).unwrap();
    assert_eq!((back.tensor, back.note.as_str()), (tensor, "hi"));
}
