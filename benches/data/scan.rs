//! What the scan is asked of: values of a number of plain nodes, with a tensor or without.
//!
//! A node is what a walk must look at: a struct, a container, a map's key, a number, a string.

use std::collections::BTreeMap;

use serde_tensor::{Presence, Tensor, TensorSerialize};

/// A line of a training log. Ten nodes: itself, its five fields, two numbers in `at`, a key and a value in `metrics`.
#[derive(TensorSerialize)]
pub(crate) struct Record {
    pub(crate) step: u64,
    pub(crate) level: Level,
    pub(crate) at: (f32, f32),
    pub(crate) message: Option<String>,
    pub(crate) metrics: BTreeMap<String, f64>,
}

const NODES_A_RECORD: usize = 10;

#[derive(TensorSerialize, Clone, Copy)]
pub(crate) enum Level {
    Info,
    Warning,
}

/// Plain nodes, half of them in a list and half in a map; with one record, in the list.
#[derive(TensorSerialize)]
pub(crate) struct Trace {
    pub(crate) records: Vec<Record>,
    pub(crate) by_name: BTreeMap<String, Record>,
}

/// What may hold a tensor, two derived types deep.
#[derive(TensorSerialize)]
pub(crate) struct Policy {
    pub(crate) name: String,
    #[tensor]
    pub(crate) memory: Memory,
}

#[derive(TensorSerialize)]
pub(crate) struct Memory {
    pub(crate) capacity: u32,
    #[tensor]
    pub(crate) hidden: Option<Tensor>,
}

/// Whether it holds a tensor depends on the value; the tensor is the first thing that a walk meets.
#[derive(TensorSerialize)]
pub(crate) struct First {
    #[tensor]
    pub(crate) policy: Policy,
    pub(crate) trace: Trace,
}

/// The same, with the tensor behind all plain nodes.
#[derive(TensorSerialize)]
pub(crate) struct Last {
    pub(crate) trace: Trace,
    #[tensor]
    pub(crate) policy: Policy,
}

/// Always holds a tensor, behind all plain nodes.
#[derive(TensorSerialize)]
pub(crate) struct Always {
    pub(crate) trace: Trace,
    #[tensor]
    pub(crate) weights: Tensor,
}

/// Never holds one.
#[derive(TensorSerialize)]
pub(crate) struct Never {
    pub(crate) name: String,
    pub(crate) trace: Trace,
}

/// Many nodes that each may hold a tensor.
#[derive(TensorSerialize)]
pub(crate) struct Marked {
    #[tensor]
    pub(crate) slots: Vec<Memory>,
}

// What is compared is what it is said to be.
const _: () = {
    assert!(matches!(Always::PRESENCE, Presence::Always));
    assert!(matches!(Never::PRESENCE, Presence::Never));
    assert!(matches!(First::PRESENCE, Presence::Maybe));
    assert!(matches!(Last::PRESENCE, Presence::Maybe));
    assert!(matches!(Marked::PRESENCE, Presence::Maybe));
};

pub(crate) fn trace(nodes: usize) -> Trace {
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

pub(crate) fn policy(hidden: Option<Tensor>) -> Policy {
    Policy {
        name: "actor".to_owned(),
        memory: Memory { capacity: 64, hidden },
    }
}

pub(crate) fn tensor() -> Tensor {
    Tensor::from_vec(vec![0.5f32; 64], &[8, 8]).expect("64 elements")
}
