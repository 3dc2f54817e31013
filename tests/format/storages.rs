//! Tensors of one storage: one segment on the way, one storage on arrival.
//!
//! Without these two names could become two copies, a view could drag its storage along, or a tensor could be taken for another
//! that lay at its address before.

use std::rc::Rc;

use serde::{Serialize, Serializer};
use serde_tensor::{DType, Decoder, Encoder, Plan, Tensor, TensorDeserialize, TensorSerialize, Transfer, inspect};

use crate::{assert_outside, both, placed, planned, ramp, segments};

#[test]
fn two_names_for_one_storage_are_one_segment_and_share_again() {
    let one = ramp(2000);
    let value = (one.clone(), 1u8, vec![Some(one.clone()), None], ramp(2000));
    for message in both(&Encoder::new(), &value) {
        assert_eq!(
            inspect(&message).unwrap().segments(),
            Some(2),
            "equal bytes are not one storage"
        );
        let read: (Tensor, u8, Vec<Option<Tensor>>, Tensor) = serde_tensor::from_slice(&message).unwrap();
        assert_eq!(read, value);
        let second = read.2[0].as_ref().unwrap();
        assert_eq!(read.0.bytes().as_ptr(), second.bytes().as_ptr());
        assert_ne!(read.0.bytes().as_ptr(), read.3.bytes().as_ptr());

        let message = placed(&message, 0);
        let read: (Tensor, u8, Vec<Option<Tensor>>, Tensor) = serde_tensor::from_bytes(message).unwrap();
        assert_eq!(read.0.bytes().as_ptr(), read.2[0].as_ref().unwrap().bytes().as_ptr());
    }
}

fn slice(whole: &Tensor, range: std::ops::Range<usize>) -> Tensor {
    Tensor::from_bytes(DType::U8, &[range.len()], whole.shared_bytes().slice(range)).unwrap()
}

#[test]
fn overlapping_tensors_are_one_segment_in_a_plan_and_overlap_again() {
    let whole = ramp(10_000);
    // In another order than in memory; the last one overlaps none of the others, nor does what lies between travel.
    let value = vec![
        slice(&whole, 2000..4000),
        slice(&whole, 1000..3000),
        slice(&whole, 3999..4001),
        slice(&whole, 5000..6000),
    ];
    let message = planned(&Encoder::new(), &value);
    let table = segments(&message);
    assert_eq!(table.iter().map(|&(_, len)| len).collect::<Vec<_>>(), [3001, 1000]);
    let offsets = |read: &[Tensor]| {
        let first = read[1].bytes().as_ptr().addr();
        [
            read[0].bytes().as_ptr().addr() - first,
            read[2].bytes().as_ptr().addr().wrapping_sub(first),
        ]
    };
    let read: Vec<Tensor> = serde_tensor::from_bytes(placed(&message, 0)).unwrap();
    assert_eq!(read, value);
    assert_eq!(offsets(&read), [1000, 2999]);
    let read: Vec<Tensor> = serde_tensor::from_reader(message.as_slice()).unwrap();
    assert_eq!(offsets(&read), [1000, 2999]);
    let read: Vec<Tensor> = serde_tensor::from_slice(&message).unwrap();
    assert_eq!(read, value);
    assert_eq!(offsets(&read), [1000, 2999], "in one copy of the segment");
}

#[test]
fn overlapping_tensors_are_tied_whatever_their_size_in_a_plan() {
    let one = ramp(10);
    let value = (one.clone(), one);
    let message = planned(&Encoder::new(), &value);
    assert_eq!(segments(&message).len(), 1);
    let read: (Tensor, Tensor) = serde_tensor::from_slice(&message).unwrap();
    assert_eq!(read, value);
    assert_eq!(read.0.bytes().as_ptr(), read.1.bytes().as_ptr());
    // Empty ones have nothing to tie.
    let nothing = (ramp(0), ramp(0));
    assert!(!Plan::new(&nothing).unwrap().is_frame());
}

#[test]
fn one_pass_ties_what_lies_inside_a_segment_already_written() {
    let whole = ramp(5000);
    let value = vec![
        slice(&whole, 0..10),
        whole.clone(),
        slice(&whole, 100..2000),
        slice(&whole, 4999..5000),
        slice(&whole, 0..0),
    ];
    let message = serde_tensor::to_vec(&value).unwrap();
    assert_eq!(segments(&message).len(), 1);
    let found = inspect(&message).unwrap();
    let places: Vec<Option<u64>> = found.tensors().iter().map(serde_tensor::TensorInfo::segment).collect();
    assert_eq!(places, [None, Some(0), Some(0), Some(0), None]);
    assert_eq!(serde_tensor::from_slice::<Vec<Tensor>>(&message).unwrap(), value);

    // One that sticks out is written whole.
    let value = vec![slice(&whole, 0..3000), slice(&whole, 2000..4000)];
    let message = serde_tensor::to_vec(&value).unwrap();
    assert_eq!(segments(&message).len(), 2);
    assert_eq!(serde_tensor::from_slice::<Vec<Tensor>>(&message).unwrap(), value);
}

#[test]
fn only_what_a_view_shows_travels() {
    let whole = ramp(1_000_000);
    let value = slice(&whole, 500_000..501_000);
    for message in both(&Encoder::new(), &value) {
        assert!(message.len() < 2000);
    }
}

/// Makes its tensors while it is written, and drops each before the next: the allocator gives them one address.
struct Temporaries {
    bulk: bool,
}

impl Serialize for Temporaries {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(TensorSerialize)]
        struct Bulk(#[tensor] Vec<u8>);
        let tensor = |n| Tensor::from_elements(&[n; 600], &[600]).unwrap();
        match self.bulk {
            true => serializer.collect_seq((0..20u8).map(|n| Bulk(vec![n; 600]))),
            false => serializer.collect_seq((0..20u8).map(tensor)),
        }
    }
}

#[test]
fn tensors_that_are_gone_already_are_not_taken_for_new_ones_at_their_address() {
    #[derive(TensorSerialize)]
    struct Around {
        temporaries: Temporaries,
    }
    #[derive(TensorDeserialize)]
    struct Read {
        #[tensor]
        temporaries: Vec<Tensor>,
    }
    for bulk in [false, true] {
        for message in both(
            &Encoder::new(),
            &Around {
                temporaries: Temporaries { bulk },
            },
        ) {
            let read: Read = serde_tensor::from_slice(&message).unwrap();
            assert_eq!(read.temporaries.len(), 20);
            for (n, tensor) in (0..20).zip(&read.temporaries) {
                assert_eq!(tensor.bytes(), [n; 600]);
            }
        }
    }
}

#[test]
fn a_plan_ties_one_value_under_two_names() {
    #[derive(TensorSerialize)]
    struct Two<'a> {
        #[tensor]
        first: Rc<Tensor>,
        #[tensor]
        second: Rc<Tensor>,
        #[tensor]
        rows: &'a [f32],
        #[tensor]
        again: &'a [f32],
        #[tensor]
        part: &'a [f32],
    }
    let (tensor, rows) = (Rc::new(ramp(700)), vec![0.5f32; 1000]);
    let value = Two {
        first: tensor.clone(),
        second: tensor,
        rows: &rows,
        again: &rows,
        part: &rows[500..600],
    };
    let message = planned(&Encoder::new(), &value);
    // Vectors share nothing on arrival, so one that is shown twice travels twice, and `Limits::copies` is not asked for it.
    assert_eq!(
        segments(&message).iter().map(|&(_, len)| len).collect::<Vec<_>>(),
        [700, 4000, 4000]
    );
}

#[test]
fn detached_tensors_share_with_nothing() {
    let one = ramp(2000);
    let message = placed(&serde_tensor::to_vec(&(one.clone(), one.clone())).unwrap(), 0);
    let decoder = Decoder::new().detach(true);
    let (read, report) = decoder
        .from_bytes_with_report::<(Tensor, Tensor)>(message.clone())
        .unwrap();
    assert_eq!(read, (one.clone(), one.clone()));
    assert_outside(&message, read.0.bytes());
    assert_ne!(read.0.bytes().as_ptr(), read.1.bytes().as_ptr());
    assert!(report.iter().all(|row| row.transfer() == Transfer::Copied));
    let read: (Tensor, Tensor) = decoder.from_slice(&message).unwrap();
    assert_ne!(read.0.bytes().as_ptr(), read.1.bytes().as_ptr());
}
