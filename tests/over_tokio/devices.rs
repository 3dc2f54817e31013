//! Each task's messages land on the device of its own scope.

use futures_util::{SinkExt as _, StreamExt as _};
use serde_tensor::tokio::{read_message, write_message};
use serde_tensor::{Device, Encoder, device};
use tokio::io::duplex;
use tokio::task::JoinSet;

use crate::common::sim::{EightGpus, SimTensor};
use crate::{framed, soon};

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn tasks_that_receive_at_the_same_time_have_a_device_each() {
    let mut tasks = JoinSet::new();
    for index in 0..8 {
        // So narrow that each task waits, and moves between threads, many times within a message.
        let (here, there) = duplex(100);
        tasks.spawn(async move {
            let mut here = framed::<(), _, _>(here);
            for _ in 0..5 {
                here.send(SimTensor::<EightGpus>::cpu(&[0.5; 300])).await.unwrap();
            }
        });
        let receive = async move {
            let mut there = there;
            let first: SimTensor<EightGpus> = read_message(&mut there).await.unwrap().unwrap();
            assert_eq!(first.device(), Device::Cuda(index));
            let mut there = framed::<SimTensor<EightGpus>, (), _>(there);
            while let Some(tensor) = there.next().await {
                let tensor = tensor.unwrap().unwrap();
                assert_eq!((tensor.device(), tensor.values().len()), (Device::Cuda(index), 300));
            }
        };
        tasks.spawn(device::scope(Device::Cuda(index), receive));
    }
    soon(tasks.join_all()).await;
}

/// The copy is made before the first byte is written, and the warning or refusal is that of every other verb.
#[tokio::test]
async fn a_tensor_is_copied_off_its_device_as_it_is_planned() {
    let mut stream = Vec::new();
    let tensor = SimTensor::<EightGpus>::cuda(3, &[1.5; 300]);
    let denied = Encoder::new().device_copies(serde_tensor::DeviceCopies::Deny);
    denied.write_message(&mut stream, &tensor).await.unwrap_err();
    assert!(stream.is_empty());
    write_message(&mut stream, &tensor).await.unwrap();
    let read: SimTensor<EightGpus> = read_message(&mut stream.as_slice()).await.unwrap().unwrap();
    assert_eq!(read, tensor);
}
