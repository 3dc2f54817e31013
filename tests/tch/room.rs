//! The room that a message is given at once.

use std::collections::BTreeMap;

use serde_tensor::tch::StateDict;
use serde_tensor::{TensorDeserialize, TensorSerialize};
use tch::nn::VarStore;
use tch::{Device, Kind, Tensor};

#[derive(TensorSerialize, TensorDeserialize)]
struct Model {
    #[tensor]
    variables: BTreeMap<String, Tensor>,
}

fn zeros(len: i64) -> Tensor {
    Tensor::zeros([len], (Kind::Float, Device::Cpu))
}

/// The message of a model, and how much more room it has.
fn message(tensors: impl IntoIterator<Item = Tensor>) -> (usize, usize) {
    let named = tensors
        .into_iter()
        .enumerate()
        .map(|(n, tensor)| (format!("{n:04}"), tensor));
    let variables = named.collect();
    let message = serde_tensor::to_vec(&Model { variables }).unwrap();
    (message.len(), message.capacity() - message.len())
}

#[test]
fn the_message_of_large_tensors_is_reserved_at_once() {
    // As a model's are: large ones, and with each a small one.
    let (len, spare) = message((0..18).map(|n| zeros(if n % 2 == 0 { 100_000 + n } else { 300 })));
    assert!(len > 3_600_000);
    assert!(spare < 16 << 10, "{spare} bytes of {len} were reserved and not used");
}

#[test]
fn so_is_that_of_a_models_variables() {
    let variables = VarStore::new(Device::Cpu);
    for n in 0..9 {
        let _variable = variables.root().zeros(&format!("{n}"), &[100_000 + n]);
    }
    let message = serde_tensor::to_vec(&StateDict::from(&variables)).unwrap();
    let (len, spare) = (message.len(), message.capacity() - message.len());
    assert!(spare < 16 << 10, "{spare} bytes of {len} were reserved and not used");
}

#[test]
fn no_more_is_reserved_than_tensors_show() {
    let storage = zeros(4_000_000);
    // Parts of it, with gaps and without, the same part often, and a tensor that repeats itself.
    let parts = [
        storage.narrow(0, 5, 20_000),
        storage
            .narrow(0, 1_000_000, 60_000)
            .view([300, 200])
            .transpose(0, 1)
            .narrow(0, 3, 100),
        zeros(20_000).expand([50, 20_000], false),
    ];
    let same = (0..200).map(|_| storage.narrow(0, 5, 20_000));
    let (len, spare) = message(parts.into_iter().chain(same));
    assert!(
        spare <= len.max(64 << 10),
        "{spare} bytes beside {len} were reserved and not used"
    );
}
