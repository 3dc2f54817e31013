//! Over tokio. A `tch::Tensor` is not `Sync`, and the task that sends it may move between threads all the same.

use serde_tensor::tokio::{MessageReader, read_message, write_message};
use serde_tensor::{TensorDeserialize, TensorSerialize};
use tch::Tensor;
use tokio::io::duplex;

use crate::FLOAT;

#[derive(TensorSerialize, TensorDeserialize)]
struct Policy {
    step: u64,
    #[tensor]
    weights: Tensor,
    #[tensor]
    small: Vec<Tensor>,
}

impl Policy {
    fn of(step: u64) -> Self {
        let weights = Tensor::arange(100_000, FLOAT).view([100, 1000]) + i64::try_from(step).unwrap();
        Self {
            step,
            weights: weights.set_requires_grad(true),
            small: vec![Tensor::from_slice(&[1_i64, -2]), Tensor::zeros([0, 3], FLOAT)],
        }
    }

    fn assert_equal(&self, other: &Self) {
        assert_eq!(self.step, other.step);
        assert_eq!(self.weights, other.weights);
        assert!(self.weights.requires_grad() && other.weights.requires_grad());
        assert_eq!(self.small, other.small);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_sends_tensors_may_move_and_change_them_once_they_are_planned() {
    // So narrow that the task waits many times within a message.
    let (mut here, mut there) = duplex(1000);
    let sender = tokio::spawn(async move {
        let mut policy = Policy::of(1);
        let written = write_message(&mut here, &policy);
        tch::no_grad(|| drop(policy.weights.fill_(0.5)));
        written.await.unwrap();
        for step in 2..4 {
            write_message(&mut here, &Policy::of(step)).await.unwrap();
        }
    });
    let first: Policy = read_message(&mut there).await.unwrap().unwrap();
    first.assert_equal(&Policy::of(1));
    // The reader's task, too.
    let receiver = tokio::spawn(async move {
        let mut reader = MessageReader::new(there);
        for step in 2..4 {
            let policy: Policy = reader.read().await.unwrap().unwrap();
            policy.assert_equal(&Policy::of(step));
        }
        assert!(reader.read::<Policy>().await.unwrap().is_none());
    });
    sender.await.unwrap();
    receiver.await.unwrap();
}
