use std::collections::BTreeMap;

use serde_tensor::{Tensor, TensorDeserialize, TensorSerialize, TensorView};

#[derive(TensorSerialize, TensorDeserialize)]
struct Policy {
    #[tensor]
    weights: Vec<f32>,
}

#[derive(TensorSerialize, TensorDeserialize)]
struct Rollout<'a, T> {
    tensor: Tensor,
    view: TensorView<'a>,
    #[serde(default)]
    nested: Option<Vec<(u8, Box<Tensor>)>>,
    map: BTreeMap<String, Tensor>,
    policy: Policy,
    // None of these is a mistake.
    list: Vec<f32>,
    generic: T,
    #[serde(skip)]
    skipped: Option<Tensor>,
    #[tensor(none)]
    asserted: Tensor,
}

#[derive(TensorSerialize)]
enum Action {
    Move { by: Tensor },
    Turn(Box<Policy>),
    Recurse(Option<Box<Action>>),
}

fn main() {}
