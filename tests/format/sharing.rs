//! Where the bytes lie: shared with the message, borrowed from it, or copied, checked by pointer.
//!
//! Without these a copy could creep in anywhere and every value would still be equal.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_tensor::{Decoder, Encoder, Tensor, TensorView, Transfer};

use crate::{Rollout, assert_inside, assert_outside, both, placed, ramp, segments};

#[test]
fn tensors_from_shared_bytes_are_the_messages_own_memory() {
    for message in both(&Encoder::new(), &Rollout::sample()) {
        let message = placed(&message, 0);
        let (read, report) = Decoder::new()
            .from_bytes_with_report::<Rollout>(message.clone())
            .unwrap();
        assert_eq!(read, Rollout::sample());
        let hidden = read.hidden.unwrap();
        assert_inside(&message, read.large.bytes());
        assert_inside(&message, hidden[1].bytes());
        for row in &report {
            let expected = match (row.path(), row.bytes()) {
                // Small ones lie in the body wherever they happen to; an empty one has nothing to share.
                ("small" | "hidden[0]", _) => continue,
                (_, 0) => Transfer::Copied,
                _ => Transfer::Shared,
            };
            assert_eq!(row.transfer(), expected, "{report}");
        }
        let offsets: Vec<usize> = segments(&message).iter().map(|&(offset, _)| offset).collect();
        assert_eq!(offsets.len(), 2);
        assert_eq!(read.large.bytes().as_ptr(), message[offsets[0]..].as_ptr());
        assert_eq!(hidden[1].bytes().as_ptr(), message[offsets[1]..].as_ptr());
    }
}

#[test]
fn a_shared_tensor_keeps_the_message_alive() {
    let message = placed(&serde_tensor::to_vec(&ramp(5000)).unwrap(), 0);
    let read: Tensor = serde_tensor::from_bytes(message).unwrap();
    assert_eq!(read, ramp(5000));
}

#[test]
fn inline_tensors_share_too_where_they_lie_aligned() {
    let value = (ramp(3), ramp(300));
    let message = Bytes::from(serde_tensor::to_vec(&value).unwrap());
    let read: (Tensor, Tensor) = serde_tensor::from_bytes(message.clone()).unwrap();
    assert_inside(&message, read.0.bytes());
    assert_inside(&message, read.1.bytes());
}

#[test]
fn a_message_at_an_odd_address_is_copied_and_the_report_says_so() {
    let value = (Tensor::from_vec(vec![0.5f64; 100], &[100]).unwrap(), ramp(700));
    let message = serde_tensor::to_vec(&value).unwrap();
    for offset in 0..17 {
        let message = placed(&message, offset);
        let (read, report) = Decoder::new()
            .from_bytes_with_report::<(Tensor, Tensor)>(message.clone())
            .unwrap();
        assert_eq!(read, value);
        assert_eq!(read.0.bytes().as_ptr().addr() % 8, 0);
        let floats = report.get("[0]").unwrap().transfer();
        if offset % 8 == 0 {
            assert_eq!(floats, Transfer::Shared);
            assert_inside(&message, read.0.bytes());
        } else {
            assert_eq!(floats, Transfer::Copied);
            assert_outside(&message, read.0.bytes());
        }
        assert_eq!(
            report.get("[1]").unwrap().transfer(),
            Transfer::Shared,
            "bytes have no alignment"
        );
    }
}

#[test]
fn a_tensor_from_a_slice_is_a_copy_and_a_view_is_not() {
    let message = serde_tensor::to_vec(&ramp(5000)).unwrap();
    let (tensor, report) = Decoder::new().from_slice_with_report::<Tensor>(&message).unwrap();
    assert_outside(&message, tensor.bytes());
    assert_eq!(report.tensors()[0].transfer(), Transfer::Copied);
    let (view, report) = Decoder::new()
        .from_slice_with_report::<TensorView<'_>>(&message)
        .unwrap();
    assert_inside(&message, view.bytes());
    assert_eq!(report.tensors()[0].transfer(), Transfer::Borrowed);
}

#[test]
fn a_view_of_what_is_not_in_the_message_is_an_error_that_says_so() {
    let json = serde_json::to_string(&ramp(5)).unwrap();
    let error = serde_json::from_str::<TensorView<'_>>(&json).unwrap_err();
    assert!(error.to_string().contains("decode into a Tensor"), "{error}");
}

#[derive(Serialize, Deserialize)]
struct Plain {
    x: Tensor,
}

#[test]
fn types_that_only_have_serdes_derive_share_too() {
    let message = placed(&serde_tensor::to_vec(&Plain { x: ramp(3000) }).unwrap(), 0);
    let read: Plain = serde_tensor::from_bytes(message.clone()).unwrap();
    assert_inside(&message, read.x.bytes());
}
