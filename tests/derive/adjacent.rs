//! Newtype variants of adjacently tagged enums: serde asks for more than the adapter there, unless it is on the variant.

use serde_tensor::{Tensor, TensorDeserialize, TensorSerialize};

use crate::{compact_round_trips, named_round_trips, tensor};

/// Has the library's traits and not serde's.
#[derive(Debug, PartialEq)]
struct OnlyOurs(Tensor);

impl TensorSerialize for OnlyOurs {
    const PRESENCE: serde_tensor::Presence = serde_tensor::Presence::Always;

    fn contains_tensor(&self) -> bool {
        true
    }

    fn serialize_tensors<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize_tensors(serializer)
    }

    fn visit_tensors<'a>(&'a self, visitor: &mut serde_tensor::TensorVisitor<'a, '_>) -> serde_tensor::Result<()> {
        self.0.visit_tensors(visitor)
    }
}

impl<'de> TensorDeserialize<'de> for OnlyOurs {
    fn deserialize_tensors<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Tensor::deserialize_tensors(deserializer).map(Self)
    }
}

#[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
#[serde(tag = "t", content = "c")]
enum Adjacent {
    One(#[tensor] OnlyOurs),
    Rc(#[tensor] std::rc::Rc<OnlyOurs>),
    Pair(#[tensor] OnlyOurs, #[tensor(device = "cpu")] Option<OnlyOurs>),
}

#[test]
fn marked_variants_need_only_this_crates_traits() {
    for value in [
        Adjacent::One(OnlyOurs(tensor(1))),
        Adjacent::Rc(std::rc::Rc::new(OnlyOurs(tensor(1)))),
        Adjacent::Pair(OnlyOurs(tensor(1)), None),
    ] {
        // postcard reads no identifiers, which serde asks for here.
        named_round_trips(&value);
        compact_round_trips(&value);
    }
}
