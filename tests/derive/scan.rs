//! `contains_tensor` and the recursive scan give one answer, whatever the value.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde::Serialize;
use serde_tensor::scan::contains_tensor_dyn;
use serde_tensor::{Tensor, TensorSerialize, contains_tensor};

use crate::tensor;

#[derive(TensorSerialize, Clone, Debug)]
enum Value {
    Unit,
    Text(String),
    Numbers(Vec<f32>),
    Tensor(#[tensor] Tensor),
    Bulk(#[tensor] Vec<f32>),
    List(#[tensor] Vec<Self>),
    Array(#[tensor] [Box<Self>; 2]),
    Map(#[tensor] BTreeMap<u8, Self>),
    Pair(#[tensor] (Box<Self>, u8)),
    Nested(#[tensor] Option<Option<Box<Self>>>),
    Outcome(#[tensor] Result<Box<Self>, String>),
    Struct {
        #[tensor]
        #[serde(skip_serializing_if = "Option::is_none")]
        left_out: Option<Box<Self>>,
        #[serde(skip)]
        cache: Option<Tensor>,
        foreign: Foreign,
    },
    ForeignMap(BTreeMap<String, Foreign>),
}

/// What only serde sees into: structs, newtypes, tuples, enums, as a walk over lists and maps would miss them.
#[derive(Serialize, Clone, Debug)]
enum Foreign {
    Nothing,
    Newtype(Wrapper),
    Struct { number: u8, inner: Box<Foreign> },
    Tuple(u8, Option<Box<Foreign>>),
    Map(BTreeMap<u8, Foreign>),
}

#[derive(Serialize, Clone, Debug)]
struct Wrapper(Option<Tensor>);

fn foreign() -> impl Strategy<Value = Foreign> {
    let leaf = prop_oneof![
        4 => Just(Foreign::Nothing),
        1 => any::<bool>().prop_map(|some| Foreign::Newtype(Wrapper(some.then(|| tensor(1))))),
    ];
    leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|inner| Foreign::Struct {
                number: 1,
                inner: Box::new(inner)
            }),
            option::of(inner.clone()).prop_map(|inner| Foreign::Tuple(2, inner.map(Box::new))),
            btree_map(any::<u8>(), inner, 0..3).prop_map(Foreign::Map),
        ]
    })
}

fn value() -> impl Strategy<Value = Value> {
    // Few leaves are tensors, so that both answers come up.
    let leaf = prop_oneof![
        8 => Just(Value::Unit),
        4 => Just(Value::Text("text".to_owned())),
        4 => Just(Value::Numbers(vec![1.0])),
        1 => Just(Value::Tensor(tensor(1))),
        1 => Just(Value::Bulk(vec![])),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::List),
            [boxed.clone(), boxed.clone()].prop_map(Value::Array),
            btree_map(any::<u8>(), inner, 0..4).prop_map(Value::Map),
            boxed.clone().prop_map(|inner| Value::Pair((inner, 3))),
            option::of(option::of(boxed.clone())).prop_map(Value::Nested),
            boxed.clone().prop_map(|inner| Value::Outcome(Ok(inner))),
            (option::of(boxed), any::<bool>(), foreign()).prop_map(|(left_out, cached, foreign)| Value::Struct {
                left_out,
                cache: cached.then(|| tensor(2)),
                foreign,
            }),
            btree_map("[a-z]", foreign(), 0..3).prop_map(Value::ForeignMap),
            Just(Value::Outcome(Err("error".to_owned()))),
        ]
    })
}

proptest! {
    #[test]
    fn both_scans_agree(value in value()) {
        prop_assert_eq!(contains_tensor(&value), contains_tensor_dyn(&value));
    }
}
