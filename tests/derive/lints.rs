//! The derive's output sets off no lint that its user has switched on; clippy's are checked by running clippy.

#![deny(
    warnings,
    deprecated,
    elided_lifetimes_in_paths,
    explicit_outlives_requirements,
    let_underscore_drop,
    missing_copy_implementations,
    missing_debug_implementations,
    missing_docs,
    redundant_lifetimes,
    single_use_lifetimes,
    trivial_casts,
    trivial_numeric_casts,
    unreachable_pub,
    unused_lifetimes,
    unused_qualifications,
    unused_results,
    variant_size_differences,
    clippy::all,
    clippy::pedantic,
    clippy::nursery
)]
#![forbid(unsafe_code)]

use serde_tensor::{Tensor, TensorDeserialize, TensorSerialize, TensorView};

#[derive(TensorSerialize, TensorDeserialize, Debug)]
#[serde(rename_all = "camelCase")]
struct Rollout<'a, T, const N: usize>
where
    T: Clone,
{
    #[tensor]
    view: TensorView<'a>,
    #[tensor(device = "cuda")]
    #[serde(skip_serializing_if = "Option::is_none")]
    hidden: Option<T>,
    unmarked: std::collections::BTreeMap<String, f32>,
    #[tensor]
    array: [Tensor; N],
    name: &'a str,
    #[serde(skip)]
    cache: u8,
}

#[derive(TensorSerialize, TensorDeserialize, Debug)]
#[serde(tag = "t", content = "c")]
enum Action {
    Wait,
    Move(#[tensor] Tensor),
    Turn {
        #[tensor]
        by: Vec<f32>,
        fast: bool,
    },
    Both(u8, #[tensor] Box<Self>),
}

#[derive(TensorSerialize, TensorDeserialize, Debug)]
struct Old {
    #[tensor]
    #[deprecated]
    tensor: Option<Tensor>,
}

#[test]
fn the_types_are_used() {
    let tensor = crate::tensor(1);
    let rollout = Rollout {
        view: tensor.view(),
        hidden: Some(1.0_f32),
        unmarked: std::collections::BTreeMap::new(),
        array: [tensor.clone(), tensor.clone()],
        name: "name",
        cache: 0,
    };
    assert!(serde_json::to_string(&rollout).is_ok() && rollout.cache == 0);
    let actions = [
        Action::Wait,
        Action::Turn { by: vec![], fast: true },
        Action::Both(1, Box::new(Action::Move(tensor.clone()))),
    ];
    assert!(serde_json::to_string(&actions).is_ok());
    assert!(serde_json::from_str::<Old>("{}").is_ok());
}
