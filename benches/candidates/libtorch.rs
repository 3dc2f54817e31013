//! *state* as libtorch's tensors: serde-tensor next to tch's own ways to save.
//!
//! What libtorch allocates is not on Rust's heap, so no memory is counted here.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::Cursor;
use std::path::PathBuf;

use serde_tensor::{TensorDeserialize, TensorSerialize, from_slice, to_vec};
use tch::{Kind, Tensor};

use super::case::{Case, Meter, measure};
use crate::data::named::State;
use crate::data::{Data, WithTensors};

const NAME: &str = "libtorch state";

#[derive(TensorSerialize, TensorDeserialize)]
struct Value {
    #[tensor]
    tensors: BTreeMap<String, Tensor>,
}

type Named = Vec<(String, Tensor)>;

pub(super) fn cases() -> Vec<Case> {
    let case = |candidate, operation, run| Case::new(NAME, candidate, operation, run);
    vec![
        case("copy", "encode", copy),
        case("copy", "decode", copy),
        case("serde-tensor", "encode", encode),
        case("serde-tensor", "decode", decode),
        case("`save_multi_to_stream`", "encode", save_multi),
        case("`load_multi_from_stream`", "decode", load_multi),
        case("`write_safetensors`, to a file", "encode", write_safetensors),
        case("`read_safetensors`, from a file", "decode", read_safetensors),
    ]
}

fn named() -> Named {
    let value = State::peer();
    let tensor = |(name, tensor): (&str, &crate::data::peer_tensor::PeerTensor)| {
        let shape: Vec<i64> = tensor.shape.iter().map(|&dim| dim.cast_signed()).collect();
        let tensor = Tensor::from_data_size(&tensor.data, &shape, Kind::BFloat16);
        (name.to_owned(), tensor)
    };
    State::tensors(&value).into_iter().map(tensor).collect()
}

fn value() -> Value {
    Value {
        tensors: named().into_iter().collect(),
    }
}

/// Whether the tensors are those of the data set. tch writes another character for a name's dots.
fn check(tensors: impl IntoIterator<Item = (String, Tensor)>) {
    let mut expected = value().tensors;
    for (name, tensor) in tensors {
        let original = expected
            .remove(&name.replace('|', "."))
            .expect("a name of the data set");
        // Some numbers are NaN, which equals nothing.
        assert!(
            original.view_dtype(Kind::Int16) == tensor.view_dtype(Kind::Int16),
            "{name}"
        );
    }
    assert!(expected.is_empty(), "some tensors are missing");
}

/// Each tensor's bytes, into new tensors.
fn copy(meter: &mut dyn Meter) {
    let named = named();
    measure(meter, || {
        let copies: Vec<Tensor> = black_box(&named).iter().map(|(_, tensor)| tensor.copy()).collect();
        copies
    });
}

fn encode(meter: &mut dyn Meter) {
    let value = value();
    meter.message(to_vec(&value).expect("it encodes").len());
    measure(meter, || to_vec(black_box(&value)).expect("it encodes"));
}

fn decode(meter: &mut dyn Meter) {
    let message = to_vec(&value()).expect("it encodes");
    check(from_slice::<Value>(&message).expect("it decodes").tensors);
    meter.message(message.len());
    measure(meter, || from_slice::<Value>(black_box(&message)).expect("it decodes"));
}

fn saved(named: &Named) -> Vec<u8> {
    let mut buffer = Vec::new();
    Tensor::save_multi_to_stream(named, &mut buffer).expect("it encodes");
    buffer
}

fn save_multi(meter: &mut dyn Meter) {
    let named = named();
    meter.message(saved(&named).len());
    measure(meter, || saved(black_box(&named)));
}

fn load_multi(meter: &mut dyn Meter) {
    let message = saved(&named());
    let load = |message: &[u8]| Tensor::load_multi_from_stream(Cursor::new(message)).expect("it decodes");
    check(load(&message));
    meter.message(message.len());
    measure(meter, || load(black_box(&message)));
}

/// A file of this process in the temporary folder, removed at the end.
struct File(PathBuf);

impl File {
    fn new() -> Self {
        let name = format!("serde-tensor-candidate-{}.safetensors", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn len(&self) -> usize {
        let len = std::fs::metadata(&self.0).expect("it was written").len();
        usize::try_from(len).expect("a length of memory")
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // What is left in the temporary folder is no reason to fail.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn write_safetensors(meter: &mut dyn Meter) {
    let (named, file) = (named(), File::new());
    let write = || Tensor::write_safetensors(black_box(&named), &file.0).expect("it encodes");
    write();
    meter.message(file.len());
    measure(meter, write);
}

fn read_safetensors(meter: &mut dyn Meter) {
    let file = File::new();
    Tensor::write_safetensors(&named(), &file.0).expect("it encodes");
    let read = || Tensor::read_safetensors(&file.0).expect("it decodes");
    check(read());
    meter.message(file.len());
    measure(meter, read);
}
