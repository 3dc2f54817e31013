//! Whether a value holds a tensor: what its type tells, against a walk over all of it.
//!
//! Four ways to ask, on values of 10 to 100,000 plain nodes:
//!
//! * `constant`: `contains_tensor` of a type whose presence is `Always` or `Never`, next to a function that returns `true`;
//! * `short_circuit`: `contains_tensor` of a type that may hold one, which looks at the marked fields alone;
//! * `recursive`: `scan::contains_tensor_dyn` of the same values, which goes wherever serde goes;
//! * `marked`: both scans where every node is marked and may hold one, so that even `contains_tensor` must look at all of them.
//!
//! What a node is, and the values, are in `data/scan.rs`.

#[path = "data/scan.rs"]
mod values;

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use serde::Serialize;
use serde_tensor::scan::contains_tensor_dyn;
use serde_tensor::{TensorSerialize, contains_tensor};
use values::{Always, First, Last, Marked, Memory, Never, policy, tensor, trace};

const NODES: [usize; 5] = [10, 100, 1_000, 10_000, 100_000];

/// What a constant answer costs here; the limit that `constant` is held to.
fn returns_true<T>(_: &T) -> bool {
    true
}

/// Measures one question, asked of a value that the optimiser cannot see.
fn ask<T>(criterion: &mut Criterion, group: &str, name: &str, nodes: usize, value: &T, question: impl Fn(&T) -> bool) {
    criterion
        .benchmark_group(group)
        .bench_function(BenchmarkId::new(name, nodes), |bencher| {
            bencher.iter(|| question(black_box(value)));
        });
}

fn constant(criterion: &mut Criterion) {
    for nodes in NODES {
        let weights = tensor();
        let always = Always {
            trace: trace(nodes),
            weights,
        };
        let name = "log".to_owned();
        let never = Never {
            name,
            trace: trace(nodes),
        };
        assert!(contains_tensor(&always) && !contains_tensor(&never));
        ask(criterion, "constant", "baseline", nodes, &always, returns_true);
        ask(criterion, "constant", "always", nodes, &always, contains_tensor);
        ask(criterion, "constant", "never", nodes, &never, contains_tensor);
    }
}

fn maybe(criterion: &mut Criterion) {
    for nodes in NODES {
        let first = First {
            policy: policy(Some(tensor())),
            trace: trace(nodes),
        };
        let last = |hidden| Last {
            trace: trace(nodes),
            policy: policy(hidden),
        };
        both(criterion, "first", nodes, &first, true);
        both(criterion, "last", nodes, &last(Some(tensor())), true);
        both(criterion, "absent", nodes, &last(None), false);
    }
}

/// Both scans of one value, which must agree.
fn both<T: TensorSerialize + Serialize>(criterion: &mut Criterion, tensor: &str, nodes: usize, value: &T, holds: bool) {
    assert_eq!((contains_tensor(value), contains_tensor_dyn(value)), (holds, holds));
    ask(criterion, "short_circuit", tensor, nodes, value, contains_tensor);
    ask(criterion, "recursive", tensor, nodes, value, contains_tensor_dyn);
}

fn marked(criterion: &mut Criterion) {
    for nodes in NODES {
        let slot = |_| Memory {
            capacity: 64,
            hidden: None,
        };
        let value = Marked {
            slots: (0..nodes).map(slot).collect(),
        };
        ask(criterion, "marked", "short_circuit", nodes, &value, contains_tensor);
        ask(criterion, "marked", "recursive", nodes, &value, contains_tensor_dyn);
    }
}

criterion_group!(benches, constant, maybe, marked);
criterion_main!(benches);
