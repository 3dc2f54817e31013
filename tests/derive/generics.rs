//! Type parameters: bounds where the fields need them, and nowhere else.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::hash::Hash;
use std::marker::PhantomData;

use serde_tensor::{Presence, Tensor, TensorDeserialize, TensorSerialize};

use crate::{round_trips, tensor};

#[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
struct Pair<T, U = u8>
where
    T: Clone,
{
    #[tensor]
    marked: Vec<T>,
    unmarked: U,
}

#[test]
fn parameters_get_the_bound_of_their_fields() {
    round_trips(&Pair {
        marked: vec![tensor(1)],
        unmarked: "x".to_owned(),
    });
    round_trips(&Pair {
        marked: vec![1.0_f32],
        unmarked: 7_u8,
    });
    assert_eq!(
        <Pair<String, u8>>::PRESENCE,
        Presence::Maybe,
        "nothing is known of `U`, which only serde sees"
    );
}

#[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
struct Tuple<T, U: 'static>(#[tensor] T, U)
where
    U: Debug,
    T: Clone;

#[test]
fn where_clauses_after_a_tuple() {
    round_trips(&Tuple(vec![tensor(1)], 2_u8));
}

macro_rules! maybe {
    ($ty:ty) => { Option<$ty> };
}

// A type macro hides its parameters, so the bound must be given, as for serde.
#[derive(TensorSerialize, TensorDeserialize)]
#[serde(bound(serialize = "T: serde::Serialize", deserialize = "T: serde::Deserialize<'de>"))]
struct ByMacro<T> {
    unmarked: maybe!(T),
    #[tensor]
    tensor: maybe!(Tensor),
}

#[test]
fn a_macro_may_stand_for_a_type() {
    let value = ByMacro {
        unmarked: Some(1_u8),
        tensor: Some(tensor(1)),
    };
    let back: ByMacro<u8> = serde_tensor::from_slice(&serde_tensor::to_vec(&value).unwrap()).unwrap();
    assert_eq!((back.unmarked, back.tensor), (value.unmarked, value.tensor));
}

#[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
struct Sized2<const N: usize, const M: usize> {
    #[tensor]
    rows: [[f32; N]; M],
    #[tensor]
    tensors: [Tensor; N],
}

#[test]
fn const_parameters() {
    round_trips(&Sized2::<2, 3> {
        rows: [[1.0, 2.0]; 3],
        tensors: [tensor(1), tensor(2)],
    });
}

/// Implements nothing at all.
#[derive(Debug, PartialEq, Default)]
struct Nothing;

#[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
struct Unbound<T, U, V> {
    #[tensor]
    tensor: Tensor,
    #[tensor]
    marked: PhantomData<T>,
    unmarked: PhantomData<U>,
    #[serde(skip)]
    skipped: Option<V>,
}

#[test]
fn a_parameter_that_is_not_needed_gets_no_bound() {
    round_trips(&Unbound::<Nothing, fn(), Box<Nothing>> {
        tensor: tensor(1),
        marked: PhantomData,
        unmarked: PhantomData,
        skipped: None,
    });
}

#[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
struct Keyed<K: Hash + Eq + Ord, V> {
    #[tensor]
    hashed: HashMap<K, V>,
    #[tensor]
    ordered: BTreeMap<(K, u8), Option<V>>,
}

#[test]
fn the_key_of_a_marked_map_needs_serde_only() {
    /// A key with serde's traits and not this crate's.
    #[derive(serde::Serialize, serde::Deserialize, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    enum Key {
        A,
    }
    let value = Keyed {
        hashed: HashMap::from([(Key::A, tensor(1))]),
        ordered: BTreeMap::from([((Key::A, 1), None)]),
    };
    let bytes = serde_tensor::to_vec(&value).unwrap();
    assert_eq!(serde_tensor::from_slice::<Keyed<Key, Tensor>>(&bytes).unwrap(), value);
}

trait Environment {
    type State: Debug + PartialEq;
}

#[derive(Debug, PartialEq)]
struct Gym;

impl Environment for Gym {
    type State = Tensor;
}

#[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
struct Step<E: Environment> {
    #[tensor]
    state: E::State,
    #[serde(skip)]
    environment: PhantomData<E>,
}

#[test]
fn associated_types_get_the_bound_themselves() {
    round_trips(&Step::<Gym> {
        state: tensor(1),
        environment: PhantomData,
    });
}

#[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
#[tensor(bound(
    serialize = "E: Environment<State: TensorSerialize>",
    deserialize = "E: Environment<State: TensorDeserialize<'de>>"
))]
struct Steps<E: Environment> {
    #[tensor]
    states: Vec<E::State>,
}

#[test]
fn bounds_can_be_given() {
    round_trips(&Steps::<Gym> {
        states: vec![tensor(1)],
    });
}

#[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
#[serde(bound(serialize = "U: ToString + Clone + Into<String>", deserialize = "U: From<String>"))]
struct Bound<T, U> {
    #[tensor]
    tensor: T,
    #[serde(with = "text")]
    text: U,
}

mod text {
    use serde::{Deserialize, Deserializer, Serializer};
    pub(super) fn serialize<T: ToString, S: Serializer>(text: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&text.to_string())
    }
    pub(super) fn deserialize<'de, T: From<String>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        String::deserialize(deserializer).map(T::from)
    }
}

#[test]
fn serdes_bound_replaces_serdes_bounds_and_leaves_the_others() {
    round_trips(&Bound {
        tensor: tensor(1),
        text: "x".to_owned(),
    });
}

#[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
#[serde(default)]
struct Defaulted<T, const N: usize> {
    #[tensor]
    tensor: Option<T>,
}

impl<T, const N: usize> Default for Defaulted<T, N> {
    fn default() -> Self {
        Self { tensor: None }
    }
}

#[test]
fn a_default_of_a_generic_type() {
    let value: Defaulted<Tensor, 3> = serde_json::from_str("{}").unwrap();
    assert_eq!(value, Defaulted::default());
}

#[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
struct DefaultedField<T> {
    #[tensor]
    #[serde(default)]
    tensor: T,
    #[serde(skip)]
    #[expect(clippy::zero_sized_map_values)]
    skipped: std::collections::BTreeMap<u8, ()>,
}

#[test]
fn a_defaulted_field_needs_a_default() {
    let value: DefaultedField<Option<Tensor>> = serde_json::from_str("{}").unwrap();
    assert_eq!(value.tensor, None);
}

#[derive(TensorSerialize)]
struct Unsized<T: ?Sized> {
    id: u8,
    #[tensor]
    tail: T,
}

#[test]
fn a_field_without_a_size() {
    let value: &Unsized<[f32]> = &Unsized {
        id: 1,
        tail: [1.0, 2.0],
    };
    assert_eq!((value.id, &value.tail), (1, &[1.0, 2.0][..]));
    assert!(serde_tensor::contains_tensor(value));
    assert!(serde_json::to_string(value).is_ok());
}
