//! libtorch's tensors in `#[tensor]` fields, with a real libtorch.
//!
//! Without these, what libtorch does behind a shared reference, to a short buffer or to a tensor without memory would first be
//! seen as a crash in a user's process. `cargo xtask test` provides libtorch and runs them.

#[path = "../common/mod.rs"]
mod common;

mod arena;
mod devices;
mod example;
mod gpu;
mod kinds;
mod layouts;
mod linked;
mod mutation;
mod oracle;
mod over_tokio;
mod readme;
mod refused;
mod room;
mod state_dict;
mod tied;
mod training;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::{env, fmt};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_tensor::tch::Arena;
use serde_tensor::{Decoder, Encoder, Tensor as HostTensor, TensorDeserialize, TensorSerialize};
use tch::{Device, Kind, Tensor};

/// The kind and device of most tensors here.
const FLOAT: (Kind, Device) = (Kind::Float, Device::Cpu);

/// One tensor: serde's own traits cannot be implemented for tch's.
#[derive(Debug, TensorSerialize, TensorDeserialize)]
struct One {
    #[tensor]
    x: Tensor,
}

/// The same message as the crate's own tensor.
#[derive(Debug, TensorSerialize, TensorDeserialize)]
struct Host {
    #[tensor]
    x: HostTensor,
}

/// A file of `data/`: beside this program, where `cargo xtask gpu-bundle` puts it, or in the repository.
fn data(name: &str) -> PathBuf {
    let beside = env::current_exe().unwrap().with_file_name("data").join(name);
    if beside.exists() {
        return beside;
    }
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(name)
}

/// Says why a test is not run, also where what tests that pass print is not shown.
fn skipped(why: impl fmt::Display) {
    let test = std::thread::current().name().map(str::to_owned);
    // Not by `println!`, which is captured.
    let _ = writeln!(io::stderr(), "skipped: {}: {why}", test.unwrap_or_default());
}

fn one(x: Tensor) -> One {
    One { x }
}

/// The message of both writers.
fn messages<T: TensorSerialize + Serialize>(encoder: &Encoder, value: &T) -> [Vec<u8>; 2] {
    let mut planned = Vec::new();
    encoder.plan(value).unwrap().write_to(&mut planned).unwrap();
    [encoder.to_vec(value).unwrap(), planned]
}

/// The value after each way through the format: both writers, inline and in segments, every reader.
fn round_trips<T: TensorSerialize + Serialize + DeserializeOwned>(value: &T) -> Vec<T> {
    let encoders = [
        Encoder::new(),
        Encoder::new().inline_limit(0),
        Encoder::new().inline_limit(usize::MAX),
    ];
    let messages = encoders.iter().flat_map(|encoder| messages(encoder, value));
    let read = |message: Vec<u8>| {
        // At an odd address.
        let moved = [&[0], message.as_slice()].concat();
        [
            serde_tensor::from_slice(&message).unwrap(),
            serde_tensor::from_slice(&moved[1..]).unwrap(),
            Decoder::new().detach(true).from_slice(&message).unwrap(),
            serde_tensor::from_reader(message.as_slice()).unwrap(),
            serde_tensor::tch::from_reader(message.as_slice()).unwrap(),
            Decoder::new()
                .detach(true)
                .from_memory(Arena::read(message.as_slice()).unwrap())
                .unwrap(),
            serde_tensor::from_bytes(message.into()).unwrap(),
        ]
    };
    messages.flat_map(read).collect()
}

/// The one tensor after each way through the format.
fn sent(tensor: &Tensor) -> Vec<Tensor> {
    let value = one(tensor.shallow_clone());
    round_trips(&value).into_iter().map(|one| one.x).collect()
}

/// What the message says of the tensor: through the crate's own.
fn as_host(tensor: &Tensor) -> HostTensor {
    let message = serde_tensor::to_vec(&one(tensor.shallow_clone())).unwrap();
    serde_tensor::from_slice::<Host>(&message).unwrap().x
}

/// The elements' bytes in row-major order, by libtorch.
fn bytes(tensor: &Tensor) -> Vec<u8> {
    let tensor = tensor.detach().resolve_conj().resolve_neg().contiguous();
    let elements = tensor.numel();
    let mut bytes = vec![0; elements * tensor.kind().elt_size_in_bytes()];
    if elements > 0 {
        tensor.copy_data_u8(&mut bytes, elements);
    }
    bytes
}

fn iota(shape: &[i64]) -> Tensor {
    Tensor::arange(shape.iter().product::<i64>(), FLOAT).reshape(shape)
}

/// The error of sending it, from both writers, which agree.
fn send_error(tensor: Tensor) -> serde_tensor::Error {
    let value = one(tensor);
    let error = serde_tensor::to_vec(&value).unwrap_err();
    let planned = Encoder::new().plan(&value).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), planned.to_string());
    error
}
