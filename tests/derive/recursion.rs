//! Types that hold themselves: directly, through each other, an alias, or a generic.

use std::collections::BTreeMap;

use serde_tensor::{Presence, Tensor, TensorDeserialize, TensorSerialize, contains_tensor};

use crate::{round_trips, tensor};

#[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
struct Tree {
    #[tensor]
    value: Option<Tensor>,
    #[tensor]
    children: Vec<Tree>,
}

#[test]
fn direct() {
    let leaf = |value| Tree {
        value,
        children: vec![],
    };
    let tree = Tree {
        value: None,
        children: vec![
            leaf(None),
            Tree {
                value: None,
                children: vec![leaf(Some(tensor(1)))],
            },
        ],
    };
    assert!(contains_tensor(&tree));
    assert!(!contains_tensor(&leaf(None)));
    round_trips(&tree);
}

#[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
struct List {
    #[tensor]
    value: Tensor,
    #[tensor]
    next: Option<Box<List>>,
}

#[test]
fn presence_is_known_where_a_field_beside_the_recursion_tells() {
    assert_eq!(List::PRESENCE, Presence::Always);
    round_trips(&List {
        value: tensor(1),
        next: Some(Box::new(List {
            value: tensor(2),
            next: None,
        })),
    });
}

#[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
enum Expression {
    Constant(#[tensor] Tensor),
    Call(#[tensor] Call),
}

#[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
struct Call {
    name: String,
    #[tensor]
    arguments: Arguments,
}

type Arguments = BTreeMap<String, Expression>;

#[test]
fn through_each_other_and_an_alias() {
    let call = Call {
        name: "add".to_owned(),
        arguments: BTreeMap::from([
            ("a".to_owned(), Expression::Constant(tensor(1))),
            (
                "b".to_owned(),
                Expression::Call(Call {
                    name: "none".to_owned(),
                    arguments: BTreeMap::new(),
                }),
            ),
        ]),
    };
    assert_eq!(Call::PRESENCE, Presence::Maybe);
    assert!(contains_tensor(&call));
    round_trips(&Expression::Call(call));
}

#[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
struct Generic<T> {
    #[tensor]
    value: T,
    #[tensor]
    next: Option<Box<Generic<T>>>,
}

#[test]
fn through_a_generic() {
    round_trips(&Generic {
        value: tensor(1),
        next: Some(Box::new(Generic {
            value: tensor(2),
            next: None,
        })),
    });
    assert_eq!(<Generic<Tensor>>::PRESENCE, Presence::Always);
    assert_eq!(<Generic<u8>>::PRESENCE, Presence::Maybe);
}

/// Two generic types that hold each other need their bound given: serde's inference sees `T` alone.
#[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
struct Even<T> {
    #[tensor]
    value: T,
    #[tensor]
    odd: Option<Box<Odd<T>>>,
}

#[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
struct Odd<T> {
    #[tensor]
    even: Vec<Even<T>>,
}

#[test]
fn through_two_generics() {
    let even = |odd| Even { value: tensor(1), odd };
    round_trips(&even(Some(Box::new(Odd {
        even: vec![even(None), even(None)],
    }))));
}
