//! Views: which travel as they lie in memory, which are compacted, and that no more than they show travels (T1, T4, T5, T10).

use std::io::{self, Write};

use serde_tensor::{Encoder, Plan, inspect};
use tch::{Kind, Tensor};

use super::{FLOAT, bytes, iota, messages, one, sent};

/// T4.
#[test]
fn transposed_and_permuted_tensors_keep_their_strides_on_both_sides() {
    let cube = iota(&[2, 3, 4, 5]);
    for tensor in [
        iota(&[40, 30]).transpose(0, 1),
        cube.permute([3, 1, 0, 2]),
        cube.permute([0, 2, 3, 1]),
        iota(&[2, 3]).tr(),
        iota(&[1, 3, 1, 2]).permute([2, 3, 0, 1]),
    ] {
        let strides = tensor.stride();
        for arrived in sent(&tensor) {
            assert_eq!(bytes(&arrived), bytes(&tensor));
            assert!(!arrived.is_contiguous(), "it arrives as it was, not sorted");
            assert_eq!((arrived.size(), arrived.stride()), (tensor.size(), strides.clone()));
        }
        assert!(!tensor.is_contiguous(), "sending it leaves it as it was");
        let plan_value = one(tensor);
        assert_eq!(Plan::new(&plan_value).unwrap().copied(), 0);
    }
}

/// T5.
#[test]
fn a_small_view_does_not_drag_its_storage_along() {
    let storage = iota(&[1000, 1000]);
    for (view, shown) in [
        (storage.narrow(0, 500, 2), 2000),
        (storage.narrow(1, 500, 2), 2000),
        (storage.select(1, 3), 1000),
        (storage.get(7), 1000),
        (storage.diagonal(0, 0, 1), 1000),
        (storage.slice(0, 0, 10, 3), 4000),
    ] {
        assert_eq!(view.numel(), shown);
        for message in messages(&Encoder::new(), &one(view.shallow_clone())) {
            assert!(
                message.len() < shown * 4 + 256,
                "{} bytes for {shown} elements",
                message.len()
            );
        }
        for arrived in sent(&view) {
            assert_eq!(bytes(&arrived), bytes(&view));
        }
    }
}

#[test]
fn expanded_tensors_and_windows_are_compacted() {
    let row = iota(&[3]);
    let window = iota(&[10]).unfold(0, 4, 1);
    for view in [row.expand([1000, 3], false), window, row.as_strided([2, 2], [1, 1], 0)] {
        for arrived in sent(&view) {
            assert!(arrived.is_contiguous());
            assert_eq!(bytes(&arrived), bytes(&view));
        }
    }
}

/// A view that conjugates or negates when it is read hands out other bytes than its values'.
#[test]
fn conjugation_and_negation_are_resolved_and_stay_on_the_sender() {
    let complex = Tensor::complex(&iota(&[3, 400]), &(iota(&[3, 400]) + 0.5));
    for view in [
        complex.conj(),
        complex.conj().transpose(0, 1),
        complex.conj().imag(),
        complex.internal_neg_view(),
        complex.conj().internal_neg_view(),
        complex.conj().select(0, 1),
    ] {
        let (conj, neg) = (view.is_conj(), view.is_neg());
        assert!(conj || neg);
        for arrived in sent(&view) {
            assert!(!arrived.is_conj() && !arrived.is_neg());
            assert_eq!(bytes(&arrived), bytes(&view));
        }
        assert_eq!(
            (view.is_conj(), view.is_neg()),
            (conj, neg),
            "the sender's view is left as it was"
        );
    }
}

/// T1.
#[test]
fn what_arrives_is_aligned_in_libtorchs_memory() {
    for kind in [Kind::Uint8, Kind::Half, Kind::Double, Kind::ComplexDouble] {
        for arrived in sent(&Tensor::ones([100], (kind, FLOAT.1))) {
            assert_eq!(arrived.data_ptr().addr() % kind.elt_size_in_bytes(), 0);
        }
    }
    let value = one(iota(&[1000]));
    for message in messages(&Encoder::new().align(4096), &value) {
        let offset = message
            .windows(8)
            .position(|w| w == [0, 0, 0, 0, 0, 0, 128, 63])
            .unwrap();
        assert_eq!(offset % 4096, 0);
    }
}

/// T10. However large the tensor and whatever its strides, it goes through a small buffer.
#[test]
fn a_plan_writes_large_tensors_in_small_pieces() {
    /// Keeps the size of the largest piece, and the sum.
    struct Pieces(usize, usize);
    impl Write for Pieces {
        fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
            self.0 = self.0.max(piece.len());
            self.1 += piece.len();
            Ok(piece.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let large = iota(&[1024, 3, 1024]);
    for view in [
        large.shallow_clone(),
        large.transpose(0, 2),
        large.slice(2, 0, 1024, 2),
        large.narrow(1, 1, 2),
        Tensor::ones([1, 1], FLOAT).expand([1, 1 << 20], false),
    ] {
        let value = one(view);
        let plan = Plan::new(&value).unwrap();
        let mut pieces = Pieces(0, 0);
        plan.write_to(&mut pieces).unwrap();
        assert_eq!((plan.copied(), pieces.1), (0, plan.len()));
        assert!(pieces.0 <= 128 * 1024, "a piece of {} bytes", pieces.0);
    }
}

/// Strides with gaps are allowed on the wire, whoever writes them.
#[test]
fn strides_with_gaps_are_read() {
    let host = serde_tensor::Tensor::from_elements(&[0.5f32, -1.0, 7.0], &[3]).unwrap();
    let mut message = serde_tensor::to_vec(&super::Host { x: host }).unwrap();
    // Of the inline tensor: form, code, bits, flags, device, index, rank, dims; then the data.
    let body = [&[0u8, 2, 32, 2, 1, 0, 1, 2, 2][..], &message[message.len() - 12..]].concat();
    message.truncate(3);
    message.extend([0xc7, u8::try_from(body.len()).unwrap(), 0x54]);
    message.extend(body);
    assert_eq!(inspect(&message).unwrap().tensors()[0].strides(), Some(&[2][..]));
    let arrived: super::One = serde_tensor::from_slice(&message).unwrap();
    assert_eq!(arrived.x.stride(), [2]);
    assert_eq!(Vec::<f32>::try_from(arrived.x.contiguous()).unwrap(), [0.5, 7.0]);
}
