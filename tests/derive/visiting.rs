//! The walk that a plan makes: it borrows the tensors of marked fields, and only of those that are sent.

use serde::Serialize;
use serde_tensor::{Encoder, Tensor, TensorSerialize};

#[derive(TensorSerialize)]
struct Value {
    #[tensor]
    large: Tensor,
    #[tensor]
    samples: Vec<f64>,
    #[tensor]
    #[serde(skip)]
    #[expect(dead_code)]
    skipped: Tensor,
    #[tensor]
    #[serde(skip_serializing_if = "Option::is_some")]
    left_out: Option<Tensor>,
    unmarked: Unmarked,
}

#[derive(Serialize)]
struct Unmarked {
    tensor: Tensor,
}

fn large(value: f32) -> Tensor {
    Tensor::from_vec(vec![value; 4096], &[64, 64]).unwrap()
}

#[test]
fn a_plan_sends_what_serde_sends() {
    let value = Value {
        large: large(1.0),
        samples: vec![2.0; 512],
        skipped: large(3.0),
        left_out: Some(large(4.0)),
        unmarked: Unmarked { tensor: large(5.0) },
    };
    let mut planned = Vec::new();
    let plan = Encoder::new().plan(&value).unwrap();
    plan.write_to(&mut planned).unwrap();
    let decode = |bytes: &[u8]| serde_tensor::from_slice::<Back>(bytes).unwrap();
    let (planned, direct) = (decode(&planned), decode(&serde_tensor::to_vec(&value).unwrap()));
    assert_eq!(planned, direct);
    assert_eq!(planned.large, value.large);
    assert_eq!(planned.unmarked.tensor, value.unmarked.tensor);
    assert_eq!(planned.left_out, None);
}

#[derive(serde_tensor::TensorDeserialize, Debug, PartialEq)]
struct Back {
    #[tensor]
    large: Tensor,
    #[tensor]
    samples: Vec<f64>,
    #[tensor]
    left_out: Option<Tensor>,
    #[tensor]
    unmarked: BackUnmarked,
}

#[derive(serde_tensor::TensorDeserialize, Debug, PartialEq)]
struct BackUnmarked {
    #[tensor]
    tensor: Tensor,
}
