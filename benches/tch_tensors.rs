//! The cost of each libtorch tensor: ten thousand of one size, there and back.
//!
//! * `encode/copy`, `decode/copy`: their bytes alone, from one place to another;
//! * `encode/libtorch`: the calls by which any encoder must learn what a tensor is and where, and the copy;
//! * `decode/libtorch`: `Tensor::f_empty` and the copy;
//! * the others are ours.
//!
//! `cargo xtask example` and `test` say how to provide libtorch; then `cargo bench --features tch --bench tch_tensors`.
#![allow(
    unsafe_code,
    reason = "what is measured against writes to libtorch's memory by its address, and the promise of the sender is part of what is measured"
)]

use std::hint::black_box;
use std::{ptr, slice};

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use serde_tensor::{Encoder, TensorDeserialize, TensorSerialize};
use tch::{Device, Kind, Tensor};

const TENSORS: usize = 10_000;

/// The sizes of a tensor, in bytes.
const SIZES: [usize; 4] = [64, 1024, 4096, 65536];

#[derive(TensorSerialize, TensorDeserialize)]
struct Batch {
    #[tensor]
    tensors: Vec<Tensor>,
}

fn elements(size: usize) -> i64 {
    i64::try_from(size / size_of::<f32>()).expect("64 KiB at most")
}

fn batch(size: usize) -> Batch {
    let value = |n: usize| f64::from(u16::try_from(n).expect("10,000 at most"));
    let tensor = |n| Tensor::full([elements(size)], value(n), (Kind::Float, Device::Cpu));
    Batch {
        tensors: (0..TENSORS).map(tensor).collect(),
    }
}

/// What cannot be left out: whether the tensor is plain memory, its kind, device, shape, strides, gradient and address.
fn look_and_copy(tensor: &Tensor, out: &mut Vec<u8>) {
    let plain = tensor.defined()
        && !tensor.is_conj()
        && !tensor.is_neg()
        && !tensor.internal_is_zerotensor()
        && tensor.is_set_to(tensor);
    black_box((plain, tensor.device(), tensor.requires_grad(), tensor.stride()));
    let len = tensor.size().iter().product::<i64>();
    let len = usize::try_from(len).expect("a size") * tensor.kind().elt_size_in_bytes();
    // SAFETY: a dense tensor on the CPU of `len` bytes, which nothing writes to meanwhile.
    out.extend_from_slice(unsafe { slice::from_raw_parts(tensor.data_ptr().cast(), len) });
}

fn empty_and_copy(bytes: &[u8]) -> Tensor {
    let tensor = Tensor::f_empty([elements(bytes.len())], (Kind::Float, Device::Cpu)).expect("memory");
    // SAFETY: the tensor is new, and has as many bytes.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), tensor.data_ptr().cast(), bytes.len()) };
    tensor
}

fn encode(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("encode");
    group.sample_size(10).throughput(Throughput::Elements(TENSORS as u64));
    for size in SIZES {
        let value = batch(size);
        let blocks = vec![vec![1u8; size]; TENSORS];
        let mut out = Vec::new();
        group.bench_function(BenchmarkId::new("copy", size), |bencher| {
            bencher.iter(|| {
                out.clear();
                for bytes in &blocks {
                    out.extend_from_slice(bytes);
                }
            });
        });
        group.bench_function(BenchmarkId::new("libtorch", size), |bencher| {
            bencher.iter(|| {
                out.clear();
                for tensor in &value.tensors {
                    look_and_copy(tensor, &mut out);
                }
            });
        });
        let encoder = Encoder::new();
        // SAFETY: nothing else has a handle to the tensors, and nothing here writes to them.
        let promised = unsafe { Encoder::new().assume_unmodified() };
        for (name, encoder) in [("to_vec", &encoder), ("to_vec, unmodified", &promised)] {
            group.bench_function(BenchmarkId::new(name, size), |bencher| {
                bencher.iter(|| encoder.to_vec_into(&value, &mut out).expect("a message"));
            });
        }
        for (name, encoder) in [("plan", &encoder), ("plan, unmodified", &promised)] {
            group.bench_function(BenchmarkId::new(name, size), |bencher| {
                bencher.iter(|| {
                    out.clear();
                    let plan = encoder.plan(&value).expect("a plan");
                    plan.write_to(&mut out).expect("a message");
                });
            });
        }
    }
    group.finish();
}

fn decode(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decode");
    group.sample_size(10).throughput(Throughput::Elements(TENSORS as u64));
    for size in SIZES {
        let message = serde_tensor::to_vec(&batch(size)).expect("a message");
        let blocks = vec![vec![1u8; size]; TENSORS];
        group.bench_function(BenchmarkId::new("copy", size), |bencher| {
            bencher.iter(|| blocks.clone());
        });
        group.bench_function(BenchmarkId::new("libtorch", size), |bencher| {
            bencher.iter(|| blocks.iter().map(|bytes| empty_and_copy(bytes)).collect::<Vec<_>>());
        });
        group.bench_function(BenchmarkId::new("from_slice", size), |bencher| {
            bencher.iter(|| serde_tensor::from_slice::<Batch>(&message).expect("a value"));
        });
        group.bench_function(BenchmarkId::new("from_reader", size), |bencher| {
            bencher.iter(|| serde_tensor::from_reader::<_, Batch>(&message[..]).expect("a value"));
        });
        group.bench_function(BenchmarkId::new("arena", size), |bencher| {
            bencher.iter(|| serde_tensor::tch::from_reader::<_, Batch>(&message[..]).expect("a value"));
        });
        let shared = bytes::Bytes::from(message);
        group.bench_function(BenchmarkId::new("from_bytes", size), |bencher| {
            let read = |message| serde_tensor::from_bytes::<Batch>(message).expect("a value");
            bencher.iter_batched(|| shared.clone(), read, BatchSize::PerIteration);
        });
    }
    group.finish();
}

criterion_group!(benches, encode, decode);
criterion_main!(benches);
