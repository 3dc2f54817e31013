//! The same derived types under other formats, and this format under serde's adapters.
//!
//! Without these a tensor could depend on what only this crate's serializer knows, and a type that travels here could be
//! stuck here.

mod adapters;
mod map_form;
mod peers;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_tensor::{DType, Tensor, TensorDeserialize, TensorSerialize};

/// A value with a bit of everything that every format can hold.
#[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq, Clone)]
struct Rollout {
    step: u64,
    #[tensor]
    small: Tensor,
    #[tensor]
    large: Tensor,
    #[tensor]
    hidden: Option<Vec<Tensor>>,
    #[tensor]
    none: Option<Tensor>,
    #[tensor]
    bulk: Vec<f32>,
    #[tensor]
    by_name: BTreeMap<String, (Tensor, bool)>,
    #[tensor]
    policy: Policy,
    note: Note,
}

#[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq, Clone)]
enum Policy {
    Random,
    Fixed(#[tensor] Tensor),
    Mixed {
        #[tensor]
        weights: Result<Tensor, String>,
        rate: f64,
    },
}

#[derive(Serialize, Deserialize, Debug, PartialEq, Clone)]
enum Note {
    Empty,
    Text(String),
}

/// A tensor of bytes, each different from its neighbours.
fn ramp(len: usize) -> Tensor {
    let bytes: Vec<u8> = (0..251).cycle().take(len).collect();
    Tensor::from_bytes(DType::U8, &[len], bytes).unwrap()
}

fn rollouts() -> Vec<Rollout> {
    let one = Rollout {
        step: u64::MAX >> 1,
        small: Tensor::from_elements(&[1.5f32, -2.5], &[2, 1]).unwrap(),
        large: ramp(100_000),
        hidden: Some(vec![Tensor::scalar(7i64), ramp(513), ramp(0)]),
        none: None,
        bulk: vec![0.5, -1.0, f32::MAX],
        by_name: BTreeMap::from([("a".to_owned(), (ramp(3), true)), (String::new(), (ramp(700), false))]),
        policy: Policy::Mixed {
            weights: Ok(ramp(600)),
            rate: 0.5,
        },
        note: Note::Text("ß".to_owned()),
    };
    vec![
        Rollout {
            hidden: None,
            bulk: vec![],
            policy: Policy::Random,
            ..one.clone()
        },
        Rollout {
            none: Some(ramp(2)),
            policy: Policy::Fixed(ramp(1)),
            note: Note::Empty,
            ..one.clone()
        },
        Rollout {
            policy: Policy::Mixed {
                weights: Err("no".to_owned()),
                rate: -1.0,
            },
            ..one.clone()
        },
        one,
    ]
}
