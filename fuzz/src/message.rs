//! Derived types, with a tensor in each kind of place that serde treats in its own way.

use std::collections::BTreeMap;

use arbitrary::{Arbitrary, Result, Unstructured};
use serde_tensor::{Tensor, TensorDeserialize, TensorSerialize, TensorView};

use crate::tensor::tensor;

/// A message with tensors nearly everywhere.
#[derive(TensorSerialize, TensorDeserialize, Arbitrary, Debug, PartialEq)]
pub struct Message {
    id: u64,
    name: Option<String>,
    wide: i128,
    nested: Option<Option<()>>,
    #[tensor]
    always: Held,
    #[tensor(device = "keep_cpu")]
    maybe: Option<Option<Held>>,
    #[tensor]
    list: Vec<(Held, u8)>,
    #[tensor]
    by_name: BTreeMap<String, Held>,
    #[tensor]
    bulk: Vec<u16>,
    #[tensor]
    array: [i32; 3],
    #[tensor]
    result: std::result::Result<Held, String>,
    #[tensor]
    external: External,
    #[tensor]
    adjacent: Adjacent,
    #[tensor]
    internal: Internal,
    #[tensor]
    untagged: Untagged,
    #[tensor]
    #[serde(default)]
    next: Option<Box<Message>>,
}

/// A tensor, which `Arbitrary` is not implemented for.
#[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
#[serde(transparent)]
pub struct Held(#[tensor] Tensor);

impl<'a> Arbitrary<'a> for Held {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        tensor(u).map(Held)
    }
}

#[derive(TensorSerialize, TensorDeserialize, Arbitrary, Debug, PartialEq)]
enum External {
    Unit,
    Newtype(#[tensor] Held),
    Tuple(u8, #[tensor] Held),
    Struct {
        #[tensor]
        held: Held,
    },
}

/// No unit and no struct variant: of the sequence that a compact message holds, serde reads neither back.
#[derive(TensorSerialize, TensorDeserialize, Arbitrary, Debug, PartialEq)]
#[serde(tag = "t", content = "c")]
enum Adjacent {
    Newtype(#[tensor] Held),
    Tuple(u8, #[tensor] Held),
}

#[derive(TensorSerialize, TensorDeserialize, Arbitrary, Debug, PartialEq)]
#[serde(tag = "t")]
enum Internal {
    Unit,
    Struct {
        #[tensor]
        held: Option<Held>,
    },
}

#[derive(TensorSerialize, TensorDeserialize, Arbitrary, Debug, PartialEq)]
#[serde(untagged)]
enum Untagged {
    Held(#[tensor] Held),
    List(#[tensor] Vec<Held>),
    Number(u64),
}

/// A message that borrows from the bytes it is read from.
#[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
pub struct Borrowing<'a> {
    #[serde(borrow)]
    name: &'a str,
    #[tensor]
    #[serde(borrow)]
    view: TensorView<'a>,
    #[tensor]
    #[serde(borrow, default)]
    more: Vec<Option<TensorView<'a>>>,
    #[serde(flatten)]
    rest: BTreeMap<String, u8>,
}
