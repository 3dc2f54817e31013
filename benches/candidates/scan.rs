//! Whether a value holds a tensor; `benches/scan.rs` asks it of more values.

use std::hint::black_box;

use serde_tensor::contains_tensor;
use serde_tensor::scan::contains_tensor_dyn;

use super::case::{Case, Meter, measure};
use crate::data::scan::{Always, Last, Never, policy, tensor, trace};

const NAMES: [(usize, &str); 2] = [(10, "10 nodes"), (100_000, "100,000 nodes")];

pub(super) fn cases() -> Vec<Case> {
    [cases_of::<0>(), cases_of::<1>()].concat()
}

fn cases_of<const INDEX: usize>() -> Vec<Case> {
    let case = |candidate, run| Case::new(NAMES[INDEX].1, candidate, "contains", run);
    vec![
        case("constant", constant::<INDEX>),
        case("always", always::<INDEX>),
        case("never", never::<INDEX>),
        case("maybe", maybe::<INDEX>),
        case("recursive", recursive::<INDEX>),
    ]
}

/// The limit: what answering costs at all.
fn constant<const INDEX: usize>(meter: &mut dyn Meter) {
    let value = with_weights::<INDEX>();
    measure(meter, || returns_true(black_box(&value)));
}

fn returns_true<T>(_: &T) -> bool {
    true
}

fn always<const INDEX: usize>(meter: &mut dyn Meter) {
    let value = with_weights::<INDEX>();
    assert!(contains_tensor(&value));
    measure(meter, || contains_tensor(black_box(&value)));
}

fn never<const INDEX: usize>(meter: &mut dyn Meter) {
    let value = Never {
        name: "log".to_owned(),
        trace: trace(NAMES[INDEX].0),
    };
    assert!(!contains_tensor(&value));
    measure(meter, || contains_tensor(black_box(&value)));
}

fn maybe<const INDEX: usize>(meter: &mut dyn Meter) {
    let value = without::<INDEX>();
    assert!(!contains_tensor(&value));
    measure(meter, || contains_tensor(black_box(&value)));
}

fn recursive<const INDEX: usize>(meter: &mut dyn Meter) {
    let value = without::<INDEX>();
    assert!(!contains_tensor_dyn(&value));
    measure(meter, || contains_tensor_dyn(black_box(&value)));
}

fn with_weights<const INDEX: usize>() -> Always {
    Always {
        trace: trace(NAMES[INDEX].0),
        weights: tensor(),
    }
}

/// What may hold a tensor and does not: all of it must be seen to know.
fn without<const INDEX: usize>() -> Last {
    Last {
        trace: trace(NAMES[INDEX].0),
        policy: policy(None),
    }
}
