//! Enums of every tagging, with variants of every shape.

use serde_tensor::{Tensor, TensorDeserialize, TensorSerialize};

use crate::{named_round_trips, round_trips, tensor};

macro_rules! actions {
    ($(#[$tag:meta])* $action:ident $($tuple:ident)?) => {
        #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
        $(#[$tag])*
        enum $action {
            Wait,
            Move {
                #[tensor]
                by: Tensor,
                #[serde(default)]
                fast: bool,
                #[tensor]
                hint: Option<Tensor>,
            },
            Nested(#[tensor] Inner),
            $($tuple(#[tensor] Tensor, u8),)?
        }

        impl $action {
            fn all() -> Vec<Self> {
                vec![
                    Self::Wait,
                    Self::Move { by: tensor(1), fast: true, hint: None },
                    Self::Move { by: tensor(2), fast: false, hint: Some(tensor(3)) },
                    Self::Nested(Inner { inner: tensor(4) }),
                    $(Self::$tuple(tensor(5), 6),)?
                ]
            }
        }
    };
}

#[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
struct Inner {
    #[tensor]
    inner: Tensor,
}

actions!(External Pair);
actions!(
    #[serde(tag = "type")]
    Internal
);
actions!(#[serde(tag = "type", content = "content")] Adjacent Pair);
actions!(#[serde(untagged)] Untagged Pair);

#[test]
fn externally_tagged() {
    External::all().iter().for_each(round_trips);
}

#[test]
fn internally_tagged() {
    Internal::all().iter().for_each(named_round_trips);
}

#[test]
fn adjacently_tagged() {
    for value in Adjacent::all() {
        named_round_trips(&value);
        let compact = serde_tensor::Encoder::new().compact(true).to_vec(&value).unwrap();
        let read = serde_tensor::from_slice::<Adjacent>(&compact);
        if has_tuple_content(&value) {
            assert_eq!(read.unwrap(), value);
        } else {
            // Of a sequence, serde's own code asks for two elements where it wrote one (a unit variant), and takes no fields in
            // order (a struct variant).
            assert_eq!(read.unwrap_err().category(), serde_tensor::Category::Data);
        }
    }
}

fn has_tuple_content(value: &Adjacent) -> bool {
    let json = serde_json::to_value(value).unwrap();
    json.get("content")
        .is_some_and(|content| !matches!(value, Adjacent::Move { .. }) && !content.is_null())
}

#[test]
fn untagged() {
    Untagged::all().iter().for_each(named_round_trips);
}

#[test]
fn content_may_come_before_the_tag() {
    for value in Adjacent::all() {
        let json = serde_json::to_value(&value).unwrap();
        let Some(content) = json.get("content") else { continue };
        let swapped = format!(r#"{{"content":{content},"type":{}}}"#, json["type"]);
        assert_eq!(serde_json::from_str::<Adjacent>(&swapped).unwrap(), value);
    }
}

#[test]
fn bare_tensors_are_variants() {
    #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
    enum Bare {
        One(#[tensor] Tensor),
        Many(#[tensor] Vec<Tensor>),
    }
    round_trips(&Bare::One(tensor(1)));
    round_trips(&Bare::Many(vec![tensor(1)]));

    #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
    #[serde(untagged)]
    enum Either {
        One(#[tensor] Tensor),
        Text(String),
        Number(f64),
    }
    named_round_trips(&Either::One(tensor(1)));
    named_round_trips(&Either::Text("dtype".to_owned()));
    named_round_trips(&Either::Number(0.5));

    #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
    #[serde(tag = "t")]
    enum Internal {
        One(#[tensor] Tensor),
    }
    // The tag goes into the tensor's own map form.
    named_round_trips(&Internal::One(tensor(1)));
}

#[test]
fn variants_keep_their_attributes() {
    #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
    #[serde(rename_all = "snake_case", rename_all_fields = "UPPERCASE")]
    enum Variants {
        FirstOne {
            #[tensor]
            tensor: Tensor,
        },
        #[serde(rename = "2", alias = "two")]
        Second(#[tensor] Tensor),
        #[serde(skip_deserializing)]
        Gone(#[tensor] Option<Tensor>),
        #[serde(other)]
        Unknown,
    }
    let json = serde_json::to_value(Variants::FirstOne { tensor: tensor(1) }).unwrap();
    assert!(json["first_one"]["TENSOR"].is_object(), "{json}");
    round_trips(&Variants::Second(tensor(2)));
    assert_eq!(
        serde_json::from_str::<Variants>(r#""whatever""#).unwrap(),
        Variants::Unknown
    );
    assert!(serde_json::to_string(&Variants::Gone(None)).is_ok());
}

#[test]
fn single_variants_may_be_untagged() {
    #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
    enum External {
        Tagged(#[tensor] Tensor),
        #[serde(untagged)]
        Bare(#[tensor] Tensor),
    }
    #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
    #[serde(tag = "t", content = "c")]
    enum Adjacent {
        Tagged(#[tensor] Tensor),
        #[serde(untagged)]
        Bare(#[tensor] Vec<Tensor>),
    }
    named_round_trips(&External::Tagged(tensor(1)));
    named_round_trips(&External::Bare(tensor(1)));
    named_round_trips(&Adjacent::Tagged(tensor(1)));
    named_round_trips(&Adjacent::Bare(vec![tensor(1)]));
}

#[test]
fn structs_of_every_shape() {
    #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
    struct Unit;
    #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
    struct Newtype(#[tensor] Tensor);
    #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
    struct Tuple(u8, #[tensor] Tensor, #[tensor(none)] String);
    #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
    struct Empty {}
    #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
    struct EmptyTuple();
    #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
    enum Never {}
    round_trips(&Unit);
    round_trips(&Newtype(tensor(1)));
    round_trips(&Tuple(1, tensor(2), "x".to_owned()));
    round_trips(&Empty {});
    round_trips(&EmptyTuple());
    round_trips(&None::<Never>);
}
