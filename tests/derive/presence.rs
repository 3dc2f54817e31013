//! `PRESENCE` and `contains_tensor`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_tensor::{Presence, Tensor, TensorDeserialize, TensorSerialize, contains_tensor};

use crate::tensor;

#[derive(TensorSerialize, TensorDeserialize, Clone)]
struct Always {
    id: u8,
    #[tensor]
    tensor: Tensor,
    #[tensor]
    more: Option<Tensor>,
}

#[derive(TensorSerialize, TensorDeserialize, Clone)]
struct Maybe {
    #[tensor]
    maybe: Option<Always>,
}

#[derive(TensorSerialize, TensorDeserialize, Clone, Default)]
struct Never {
    id: u8,
    text: Option<String>,
    numbers: Vec<f32>,
    map: BTreeMap<String, Vec<(u8, char)>>,
    #[tensor]
    marked_for_nothing: (u8, String),
}

/// Has serde's traits alone, and so may hold anything.
#[derive(Serialize, Deserialize, Clone)]
struct Foreign {
    hidden: Vec<Tensor>,
}

#[derive(TensorSerialize, TensorDeserialize, Clone)]
struct Unseen {
    foreign: Foreign,
}

#[derive(TensorSerialize, TensorDeserialize, Clone)]
struct Asserted {
    #[tensor(none)]
    foreign: Foreign,
}

#[test]
fn presence_is_folded_from_the_fields() {
    assert_eq!(Always::PRESENCE, Presence::Always);
    assert_eq!(Maybe::PRESENCE, Presence::Maybe);
    assert_eq!(Never::PRESENCE, Presence::Never);
    assert_eq!(Unseen::PRESENCE, Presence::Maybe);
    assert_eq!(Asserted::PRESENCE, Presence::Never);
    assert_eq!(<[Always; 2]>::PRESENCE, Presence::Always);
    assert_eq!(<[Always; 0]>::PRESENCE, Presence::Never);
    assert_eq!(<(Never, Box<Always>)>::PRESENCE, Presence::Always);
    assert_eq!(<Result<Always, Tensor>>::PRESENCE, Presence::Always);
    assert_eq!(<Result<Always, String>>::PRESENCE, Presence::Maybe);
    assert_eq!(<Vec<f32>>::PRESENCE, Presence::Always);
    assert_eq!(<Vec<Vec<f32>>>::PRESENCE, Presence::Maybe);
    assert_eq!(<[[f32; 2]; 2]>::PRESENCE, Presence::Always);
    assert_eq!(<Vec<String>>::PRESENCE, Presence::Never);
    assert_eq!(<BTreeMap<u8, Tensor>>::PRESENCE, Presence::Maybe);
}

#[test]
fn presence_of_enums_is_what_all_variants_say() {
    #[derive(TensorSerialize)]
    enum All {
        #[expect(dead_code)]
        One(#[tensor] Tensor),
        #[expect(dead_code)]
        Two {
            id: u8,
            #[tensor]
            tensor: Tensor,
        },
    }
    #[derive(TensorSerialize)]
    enum Some {
        One(#[tensor] Tensor),
        #[serde(skip)]
        Skipped,
        Two,
    }
    #[derive(TensorSerialize)]
    enum SkippedOthers {
        #[expect(dead_code)]
        One(#[tensor] Tensor),
        #[serde(skip)]
        #[expect(dead_code)]
        Skipped,
    }
    #[derive(TensorSerialize)]
    enum Empty {}
    assert_eq!(All::PRESENCE, Presence::Always);
    assert_eq!(Some::PRESENCE, Presence::Maybe);
    assert_eq!(
        SkippedOthers::PRESENCE,
        Presence::Always,
        "a skipped variant is never sent"
    );
    assert_eq!(Empty::PRESENCE, Presence::Never);
    assert!(contains_tensor(&Some::One(tensor(1))));
    assert!(!contains_tensor(&Some::Two) && !contains_tensor(&Some::Skipped));
}

#[test]
fn only_fields_that_can_hold_one_are_looked_at() {
    let always = Always {
        id: 1,
        tensor: tensor(1),
        more: None,
    };
    assert!(contains_tensor(&Maybe { maybe: Some(always) }));
    assert!(!contains_tensor(&Maybe { maybe: None }));
    assert!(contains_tensor(&Unseen {
        foreign: Foreign {
            hidden: vec![tensor(1)]
        }
    }));
    assert!(!contains_tensor(&Unseen {
        foreign: Foreign { hidden: vec![] }
    }));
}

#[test]
fn a_field_that_may_be_left_out_counts_only_when_it_is_not() {
    #[derive(TensorSerialize)]
    struct Left {
        #[tensor]
        #[serde(skip_serializing_if = "is_empty")]
        tensor: Tensor,
    }
    fn is_empty(tensor: &Tensor) -> bool {
        tensor.is_empty()
    }
    assert_eq!(Left::PRESENCE, Presence::Maybe);
    assert!(contains_tensor(&Left { tensor: tensor(1) }));
    assert!(!contains_tensor(&Left {
        tensor: Tensor::from_elements::<u8>(&[], &[0]).unwrap()
    }));
}

#[test]
fn serde_passes_over_skip_serializing_if_where_the_field_is_all_there_is() {
    #[expect(dead_code)]
    fn always<T>(_: &T) -> bool {
        true
    }
    #[derive(TensorSerialize)]
    struct Newtype(
        #[tensor]
        #[serde(skip_serializing_if = "always")]
        Tensor,
    );
    #[derive(TensorSerialize)]
    #[serde(transparent)]
    struct Transparent {
        #[tensor]
        #[serde(skip_serializing_if = "always")]
        tensor: Tensor,
    }
    assert!(contains_tensor(&Newtype(tensor(1))));
    assert!(contains_tensor(&Transparent { tensor: tensor(1) }));
    let json = serde_json::to_value(Newtype(tensor(1))).unwrap();
    assert!(json.get("dtype").is_some(), "{json}");
}

#[test]
fn what_a_function_writes_is_looked_at_too() {
    #[derive(TensorSerialize)]
    struct With {
        #[serde(serialize_with = "first")]
        tensors: Vec<Tensor>,
        #[serde(serialize_with = "nothing")]
        lost: Tensor,
        #[serde(serialize_with = "number")]
        number: u8,
    }
    fn first<S: serde::Serializer>(tensors: &[Tensor], serializer: S) -> Result<S::Ok, S::Error> {
        tensors.first().serialize(serializer)
    }
    fn nothing<S: serde::Serializer>(_: &Tensor, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
    fn number<S: serde::Serializer>(number: &u8, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(*number)
    }
    assert_eq!(With::PRESENCE, Presence::Maybe);
    assert!(contains_tensor(&With {
        tensors: vec![tensor(1)],
        lost: tensor(2),
        number: 3
    }));
    assert!(!contains_tensor(&With {
        tensors: vec![],
        lost: tensor(2),
        number: 3
    }));
}

/// `Deep8` holds a tensor eight derived types down, and `Deep9` nine.
mod depth {
    use super::{Tensor, TensorSerialize};

    macro_rules! nest {
        ($($outer:ident $inner:ident)*) => {
            $(#[derive(TensorSerialize)] pub(super) struct $outer(#[tensor] pub(super) $inner);)*
        };
    }

    nest!(Deep1 Tensor Deep2 Deep1 Deep3 Deep2 Deep4 Deep3 Deep5 Deep4 Deep6 Deep5 Deep7 Deep6 Deep8 Deep7 Deep9 Deep8);
}

#[test]
fn presence_is_exact_to_a_depth_of_eight() {
    use depth::*;
    assert_eq!(Deep8::PRESENCE, Presence::Always);
    assert_eq!(Deep9::PRESENCE, Presence::Maybe);
    let deep = Deep9(Deep8(Deep7(Deep6(Deep5(Deep4(Deep3(Deep2(Deep1(tensor(1))))))))));
    assert!(contains_tensor(&deep));
}
