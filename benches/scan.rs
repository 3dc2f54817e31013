//! Whether a value holds a tensor: what its type tells, against a walk over all of it.
//!
//! Four ways to ask, on values of 10 to 100,000 plain nodes:
//!
//! * `constant`: `contains_tensor` of a type whose presence is `Always` or `Never`, next to a function that returns `true`;
//! * `short_circuit`: `contains_tensor` of a type that may hold one, which looks at the marked fields alone;
//! * `recursive`: `scan::contains_tensor_dyn` of the same values, which goes wherever serde goes;
//! * `marked`: both scans where every node is marked and may hold one, so that even `contains_tensor` must look at all of them.
//!
//! A node is what a walk must look at: a struct, a container, a map's key, a number, a string.

use std::collections::BTreeMap;
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use serde::Serialize;
use serde_tensor::scan::contains_tensor_dyn;
use serde_tensor::{Presence, Tensor, TensorSerialize, contains_tensor};

const NODES: [usize; 5] = [10, 100, 1_000, 10_000, 100_000];

/// A line of a training log. Ten nodes: itself, its five fields, two numbers in `at`, a key and a value in `metrics`.
#[derive(TensorSerialize)]
struct Record {
    step: u64,
    level: Level,
    at: (f32, f32),
    message: Option<String>,
    metrics: BTreeMap<String, f64>,
}

const NODES_A_RECORD: usize = 10;

#[derive(TensorSerialize, Clone, Copy)]
enum Level {
    Info,
    Warning,
}

/// Plain nodes, half of them in a list and half in a map; with one record, in the list.
#[derive(TensorSerialize)]
struct Trace {
    records: Vec<Record>,
    by_name: BTreeMap<String, Record>,
}

/// What may hold a tensor, two derived types deep.
#[derive(TensorSerialize)]
struct Policy {
    name: String,
    #[tensor]
    memory: Memory,
}

#[derive(TensorSerialize)]
struct Memory {
    capacity: u32,
    #[tensor]
    hidden: Option<Tensor>,
}

/// Whether it holds a tensor depends on the value; the tensor is the first thing that a walk meets.
#[derive(TensorSerialize)]
struct First {
    #[tensor]
    policy: Policy,
    trace: Trace,
}

/// The same, with the tensor behind all plain nodes.
#[derive(TensorSerialize)]
struct Last {
    trace: Trace,
    #[tensor]
    policy: Policy,
}

/// Always holds a tensor, behind all plain nodes.
#[derive(TensorSerialize)]
struct Always {
    trace: Trace,
    #[tensor]
    weights: Tensor,
}

/// Never holds one.
#[derive(TensorSerialize)]
struct Never {
    name: String,
    trace: Trace,
}

/// Many nodes that each may hold a tensor.
#[derive(TensorSerialize)]
struct Marked {
    #[tensor]
    slots: Vec<Memory>,
}

// What is compared is what it is said to be.
const _: () = {
    assert!(matches!(Always::PRESENCE, Presence::Always));
    assert!(matches!(Never::PRESENCE, Presence::Never));
    assert!(matches!(First::PRESENCE, Presence::Maybe));
    assert!(matches!(Last::PRESENCE, Presence::Maybe));
    assert!(matches!(Marked::PRESENCE, Presence::Maybe));
};

fn trace(nodes: usize) -> Trace {
    let records = nodes / NODES_A_RECORD;
    let in_list = records.div_ceil(2);
    Trace {
        records: (0..in_list).map(record).collect(),
        by_name: (in_list..records)
            .map(|step| (format!("worker-{step:06}"), record(step)))
            .collect(),
    }
}

fn record(step: usize) -> Record {
    let number = u32::try_from(step).expect("at most 100,000 nodes");
    Record {
        step: u64::from(number),
        level: if step.is_multiple_of(7) {
            Level::Warning
        } else {
            Level::Info
        },
        at: (0.5, 0.25),
        message: Some(format!("episode {step} done")),
        metrics: BTreeMap::from([("loss".to_owned(), 1.0 / f64::from(number + 1))]),
    }
}

fn policy(hidden: Option<Tensor>) -> Policy {
    Policy {
        name: "actor".to_owned(),
        memory: Memory { capacity: 64, hidden },
    }
}

fn tensor() -> Tensor {
    Tensor::from_vec(vec![0.5f32; 64], &[8, 8]).expect("64 elements")
}

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
