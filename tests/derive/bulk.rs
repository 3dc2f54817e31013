//! Numbers in a row: one tensor where they are marked, a list where they are not; either is read under the mark.

use half::{bf16, f16};
use serde::{Deserialize, Serialize};
use serde_tensor::{Tensor, TensorDeserialize, TensorSerialize, contains_tensor};

use crate::round_trips;

#[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
struct Marked {
    #[tensor]
    samples: Vec<f32>,
    #[tensor]
    mask: Box<[bool]>,
    #[tensor]
    weights: [f64; 3],
    #[tensor]
    bytes: Vec<u8>,
    #[tensor]
    rows: Vec<Vec<i16>>,
    #[tensor]
    scale: f32,
}

fn marked() -> Marked {
    Marked {
        samples: vec![0.5, -1.0, f32::MAX],
        mask: Box::new([true, false]),
        weights: [1.0, 2.0, 3.0],
        bytes: (0..=255).collect(),
        rows: vec![vec![1, 2], vec![], vec![-3]],
        scale: 2.0,
    }
}

#[derive(Serialize, Deserialize, Debug, PartialEq)]
struct Unmarked {
    samples: Vec<f32>,
    mask: Box<[bool]>,
    weights: [f64; 3],
    bytes: Vec<u8>,
    rows: Vec<Vec<i16>>,
    scale: f32,
}

#[test]
fn rows_of_numbers_come_back() {
    assert!(contains_tensor(&marked()));
    round_trips(&marked());
}

#[test]
fn a_marked_row_is_a_tensor_of_one_dim() {
    #[derive(TensorDeserialize)]
    struct AsTensors {
        #[tensor]
        samples: Tensor,
        #[tensor]
        weights: Tensor,
        #[tensor]
        rows: Vec<Tensor>,
    }
    let bytes = serde_tensor::to_vec(&marked()).unwrap();
    let tensors: AsTensors = serde_tensor::from_slice(&bytes).unwrap();
    assert_eq!(*tensors.samples.elements::<f32>().unwrap(), marked().samples);
    assert_eq!(tensors.weights.shape(), [3]);
    assert_eq!(tensors.rows.len(), 3);
}

#[test]
fn adding_the_mark_to_a_field_keeps_old_messages_readable() {
    let Marked {
        samples,
        mask,
        weights,
        bytes,
        rows,
        scale,
    } = marked();
    let old = Unmarked {
        samples,
        mask,
        weights,
        bytes,
        rows,
        scale,
    };
    let message = serde_tensor::to_vec(&old).unwrap();
    assert_eq!(serde_tensor::from_slice::<Marked>(&message).unwrap(), marked());
    let json = serde_json::to_string(&old).unwrap();
    assert_eq!(serde_json::from_str::<Marked>(&json).unwrap(), marked());
}

#[test]
fn an_array_of_numbers_of_the_wrong_length_is_an_error() {
    #[derive(TensorSerialize, TensorDeserialize, Debug)]
    struct Weights<const N: usize>(#[tensor] [f32; N]);
    let bytes = serde_tensor::to_vec(&Weights([1.0, 2.0])).unwrap();
    let error = serde_tensor::from_slice::<Weights<3>>(&bytes).unwrap_err();
    assert!(error.to_string().contains("an array of length 3"), "{error}");
}

#[test]
fn a_shared_slice_of_numbers_is_written_from_where_it_lies() {
    #[derive(TensorSerialize)]
    struct Borrowed<'a> {
        #[tensor]
        samples: &'a [f32],
    }
    #[derive(TensorDeserialize)]
    struct Owned {
        #[tensor]
        samples: std::sync::Arc<[f32]>,
    }
    let samples = [1.0, 2.0];
    let bytes = serde_tensor::to_vec(&Borrowed { samples: &samples }).unwrap();
    let owned: Owned = serde_tensor::from_slice(&bytes).unwrap();
    assert_eq!(*owned.samples, samples);
}

#[test]
fn half_precision_numbers_travel_exactly() {
    #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
    struct Halves {
        #[tensor]
        row: Vec<f16>,
        #[tensor]
        brain: Vec<bf16>,
        #[tensor]
        one: f16,
        #[tensor]
        other: bf16,
    }
    round_trips(&Halves {
        row: vec![f16::MAX, f16::MIN_POSITIVE],
        brain: vec![bf16::MAX, bf16::from_f32(1.5)],
        one: f16::from_f32(0.1),
        other: bf16::from_f32(1.5),
    });
}
