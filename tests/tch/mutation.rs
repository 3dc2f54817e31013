//! libtorch changes tensors behind shared references; a message is then one of the values there were, or an error (T12).

use serde::Serialize;
use serde_tensor::{Encoder, Plan, TensorSerialize};
use tch::{Kind, Tensor};

use super::{FLOAT, One, bytes, iota, one};

fn write(plan: &Plan<'_>) -> One {
    let mut message = Vec::new();
    plan.write_to(&mut message).unwrap();
    serde_tensor::from_slice(&message).unwrap()
}

/// T12: values may change until they are written, and nothing else.
#[test]
fn a_planned_tensor_that_is_changed_in_place_is_sent_as_it_is_then() {
    let value = one(iota(&[300]));
    let plan = Plan::new(&value).unwrap();
    let _ = value.x.shallow_clone().fill_(4.0);
    assert_eq!(bytes(&write(&plan).x), bytes(&Tensor::full([300], 4.0, FLOAT)));
}

#[test]
fn a_planned_tensor_that_is_moved_or_given_other_memory_is_sent_whole() {
    let changes: [fn(Tensor); 5] = [
        |mut tensor| drop(tensor.resize_([1_000_000])),
        |mut tensor| drop(tensor.resize_([3])),
        |mut tensor| tensor.set_data(&Tensor::zeros([2], FLOAT)),
        |mut tensor| drop(tensor.set_()),
        |mut tensor| drop(tensor.transpose_(0, 1)),
    ];
    for change in changes {
        let value = one(iota(&[30, 20]));
        let plan = Plan::new(&value).unwrap();
        change(value.x.shallow_clone());
        let arrived = write(&plan).x;
        assert_eq!(
            (arrived.size(), bytes(&arrived)),
            (vec![30, 20], bytes(&iota(&[30, 20])))
        );
    }
}

/// The single pass takes the bytes where it meets the tensor, so a field that changes it later changes nothing.
#[test]
fn a_tensor_that_is_changed_while_the_value_is_encoded_does_not_tie_to_memory_that_is_gone() {
    struct Changes(Tensor);
    impl Serialize for Changes {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            self.0.shallow_clone().set_data(&Tensor::full([300], 8.0, FLOAT));
            serializer.serialize_unit()
        }
    }
    #[derive(TensorSerialize)]
    struct Sender {
        #[tensor]
        a: Tensor,
        #[tensor(none)]
        change: Changes,
        #[tensor]
        b: Tensor,
    }
    #[derive(Debug, serde_tensor::TensorDeserialize)]
    struct Receiver {
        #[tensor]
        a: Tensor,
        #[tensor]
        b: Tensor,
    }
    let a = iota(&[300]);
    let value = Sender {
        change: Changes(a.shallow_clone()),
        b: a.shallow_clone(),
        a,
    };
    let read: Receiver = serde_tensor::from_slice(&serde_tensor::to_vec(&value).unwrap()).unwrap();
    assert_eq!(bytes(&read.a), bytes(&iota(&[300])));
    assert_eq!(bytes(&read.b), bytes(&Tensor::full([300], 8.0, FLOAT)));
}

#[test]
fn a_snapshot_is_what_the_tensor_was_when_it_was_planned() {
    let value = one(iota(&[300]));
    let plan = Encoder::new().snapshot(true).plan(&value).unwrap();
    assert_eq!(plan.copied(), 1200);
    let _ = value.x.shallow_clone().zero_();
    assert_eq!(bytes(&write(&plan).x), bytes(&iota(&[300])));
}

/// The buffer that pieces go through belongs to one tensor at a time.
#[test]
fn a_writer_may_send_tensors_of_its_own() {
    struct Nested(Vec<u8>);
    impl std::io::Write for Nested {
        fn write(&mut self, piece: &[u8]) -> std::io::Result<usize> {
            let inner = serde_tensor::to_vec(&one(Tensor::full([50_000], 1.0, FLOAT))).unwrap();
            assert!(inner.len() > 200_000);
            self.0.extend_from_slice(piece);
            Ok(piece.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let value = one(iota(&[100_000]).to_kind(Kind::Double));
    let mut writer = Nested(Vec::new());
    Plan::new(&value).unwrap().write_to(&mut writer).unwrap();
    let arrived: One = serde_tensor::from_slice(&writer.0).unwrap();
    assert_eq!(bytes(&arrived.x), bytes(&value.x));
}

#[test]
fn a_panic_while_encoding_leaves_gradients_as_they_were() {
    struct Panics;
    impl Serialize for Panics {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            panic!("on purpose")
        }
    }
    #[derive(TensorSerialize)]
    struct Sender {
        #[tensor]
        a: Tensor,
        #[tensor(none)]
        panics: Panics,
    }
    let result = std::panic::catch_unwind(|| {
        let a = iota(&[300]).set_requires_grad(true);
        serde_tensor::to_vec(&Sender { a, panics: Panics })
    });
    assert!(result.is_err());
    let leaf = iota(&[2]).set_requires_grad(true);
    assert!((leaf * 2.0).requires_grad(), "gradients are still recorded");
    assert!(super::sent(&iota(&[300])).len() > 1);
}
