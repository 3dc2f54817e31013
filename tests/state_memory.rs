//! The memory that a model's state takes on its way, counted in a binary of its own.
//!
//! Every other test would still pass if sending or reading a model took twice its size. The value is shaped as the weights of a
//! language model of 124 million parameters are, a sixteenth of the size.

#[path = "common/heap.rs"]
#[expect(dead_code, reason = "another binary uses the rest")]
mod heap;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};

use half::bf16;
use serde_tensor::{Decoder, Encoder, Limits, MessageBuffer, Plan, Tensor, TensorSerialize, TensorView};

use heap::watch;

#[global_allocator]
static ALLOCATOR: heap::Counting = heap::Counting;

/// S11's bound beyond value or payload.
const MIB: usize = 1 << 20;

type State = BTreeMap<String, Tensor>;

/// 148 tensors of bf16, 15 MB.
fn state() -> State {
    let mut state = State::new();
    let mut add = |name: String, shape: &[usize]| {
        let len = shape.iter().product();
        let values = (0..251u8).cycle().take(len).map(|n| bf16::from_f32(n.into())).collect();
        state.insert(name, Tensor::from_vec(values, shape).unwrap());
    };
    add("wte".into(), &[3142, 768]);
    add("wpe".into(), &[64, 768]);
    add("ln_f.weight".into(), &[768]);
    add("ln_f.bias".into(), &[768]);
    for layer in 0..12 {
        for (part, shape) in [
            ("ln_1.weight", &[768][..]),
            ("ln_1.bias", &[768]),
            ("attn.c_attn.weight", &[48, 2304]),
            ("attn.c_attn.bias", &[2304]),
            ("attn.c_proj.weight", &[48, 768]),
            ("attn.c_proj.bias", &[768]),
            ("ln_2.weight", &[768]),
            ("ln_2.bias", &[768]),
            ("mlp.c_fc.weight", &[48, 3072]),
            ("mlp.c_fc.bias", &[3072]),
            ("mlp.c_proj.weight", &[192, 768]),
            ("mlp.c_proj.bias", &[768]),
        ] {
            add(format!("h.{layer}.{part}"), shape);
        }
    }
    assert_eq!(state.len(), 148);
    state
}

fn payload(state: &State) -> usize {
    state.values().map(|tensor| tensor.bytes().len()).sum()
}

/// Takes bytes, and keeps only how many.
struct Counter(usize);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn message(state: &State) -> Vec<u8> {
    let mut message = Vec::new();
    Plan::new(state).unwrap().write_to(&mut message).unwrap();
    message
}

/// S3.
#[test]
fn planning_copies_no_byte_of_a_tensor() {
    let state = state();
    let (plan, heap) = watch(|| Plan::new(&state).unwrap());
    assert_eq!(plan.copied(), 0);
    assert!(plan.len() > payload(&state));
    // Less than one of its larger tensors, and the same for tensors a hundred times smaller.
    assert!(heap.peak < 200_000, "{}", heap.peak);
    let (segments, heap) = watch(|| plan.to_segments().unwrap());
    assert!(heap.peak < 100_000, "{}", heap.peak);
    assert!(
        segments
            .iter()
            .any(|segment| segment.as_ptr() == state["wte"].bytes().as_ptr())
    );
}

/// S11.
#[test]
fn writing_takes_no_more_than_the_value() {
    let state = state();
    for checksums in [false, true] {
        let mut counter = Counter(0);
        let encoder = Encoder::new().checksums(checksums);
        let (len, heap) = watch(|| {
            let plan = encoder.plan(&state).unwrap();
            plan.write_to(&mut counter).unwrap();
            plan.len()
        });
        assert_eq!(counter.0, len);
        assert!(heap.peak <= MIB, "{}", heap.peak);
    }
}

#[derive(TensorSerialize)]
struct Model {
    version: u32,
    #[tensor]
    parameters: State,
    #[tensor]
    tied: Vec<Tensor>,
    #[tensor]
    bulk: Vec<f32>,
}

/// A vector that grew would take up to twice the message.
#[test]
fn a_derived_type_is_encoded_into_memory_that_is_reserved_once() {
    let parameters = state();
    let tied = vec![parameters["wte"].clone(); 40];
    let model = Model {
        version: 1,
        parameters,
        tied,
        bulk: vec![0.5; 1 << 20],
    };
    for align in [64, 4096] {
        let encoder = Encoder::new().align(align);
        let (message, heap) = watch(|| encoder.to_vec(&model).unwrap());
        let bound = message.len() + message.len() / 16;
        assert!(heap.peak <= bound, "{} for a message of {}", heap.peak, message.len());
        // Memory that is there already is used as it is.
        let mut buffer = message;
        let ((), heap) = watch(|| encoder.to_vec_into(&model, &mut buffer).unwrap());
        assert!(heap.peak < 100_000, "{}", heap.peak);
    }
}

/// S11.
#[test]
fn reading_takes_no_more_than_the_payload() {
    let state = state();
    for message in [message(&state), serde_tensor::to_vec(&state).unwrap()] {
        let (read, heap) = watch(|| serde_tensor::from_reader::<_, State>(message.as_slice()).unwrap());
        assert!(
            heap.peak <= payload(&state) + MIB,
            "{} for {}",
            heap.peak,
            payload(&state)
        );
        assert!(
            heap.largest <= message.len() + 64,
            "one buffer for all: {}",
            heap.largest
        );
        assert!(read == state);
        // They share it: all lie inside of one range that is no longer than the message.
        let starts = read.values().map(|tensor| tensor.bytes().as_ptr().addr());
        let ends = read.values().map(|tensor| tensor.bytes().as_ptr_range().end.addr());
        assert!(ends.max().unwrap() - starts.min().unwrap() < message.len());
    }
}

#[test]
fn a_warm_buffer_is_read_into_without_new_memory_for_the_message() {
    let state = state();
    let largest = state.values().map(|tensor| tensor.bytes().len()).max().unwrap();
    for message in [message(&state), serde_tensor::to_vec(&state).unwrap()] {
        let mut buffer = MessageBuffer::new();
        for round in 0..3 {
            let (read, heap) = watch(|| {
                let decoder = Decoder::new();
                decoder
                    .read_into::<_, BTreeMap<String, TensorView<'_>>>(message.as_slice(), &mut buffer)
                    .unwrap()
            });
            assert!(read.iter().all(|(name, view)| *view == state[name]));
            assert!(
                read.values()
                    .all(|view| view.bytes().as_ptr().addr().is_multiple_of(64))
            );
            if round > 0 {
                assert!(
                    heap.peak < 200_000 && heap.largest < largest,
                    "{} {}",
                    heap.peak,
                    heap.largest
                );
            }
        }
        assert!(buffer.capacity() < message.len() + 4096);
        // A value without tensors asks for no memory at all.
        let small = Encoder::new().framed(true).to_vec(&7u8).unwrap();
        let (read, heap) = watch(|| {
            Decoder::new()
                .read_into::<_, u8>(small.as_slice(), &mut buffer)
                .unwrap()
        });
        assert_eq!((read, heap.largest < 1024), (7, true), "{} calls", heap.calls);
    }
}

#[test]
fn encoding_into_a_warm_buffer_asks_for_no_memory_for_tensors() {
    let state = state();
    let mut buffer = Vec::new();
    Encoder::new().to_vec_into(&state, &mut buffer).unwrap();
    let capacity = buffer.capacity();
    let ((), heap) = watch(|| Encoder::new().to_vec_into(&state, &mut buffer).unwrap());
    assert_eq!(buffer.capacity(), capacity);
    assert!(heap.peak < 200_000, "{}", heap.peak);
    assert!(serde_tensor::from_slice::<State>(&buffer).unwrap() == state);
}

#[test]
fn saving_takes_no_more_than_the_value() {
    let folder = std::env::temp_dir().join(format!("serde-tensor-state-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (path, state) = (folder.join("state.st"), state());
    let ((), heap) = watch(|| serde_tensor::save(&path, &state).unwrap());
    let read = serde_tensor::from_reader::<_, State>(fs::File::open(&path).unwrap());
    fs::remove_dir_all(&folder).unwrap();
    assert!(read.unwrap() == state);
    assert!(heap.peak <= MIB && heap.kept < 1024, "{} {}", heap.peak, heap.kept);
}

#[test]
fn a_segment_of_no_bytes_takes_none_and_a_message_above_the_limit_no_memory_from_the_buffer() {
    // Read from a file, a segment lies in memory that is aligned as the frame says.
    let tensor = Tensor::from_vec(vec![0u8; 7], &[7]).unwrap();
    let mut message = Encoder::new().inline_limit(0).align(1 << 16).to_vec(&tensor).unwrap();
    let dim = message.windows(4).rposition(|bytes| bytes == [1, 7, 0, 0]).unwrap() + 1;
    let len = message.len() - 16;
    (message[dim], message[len]) = (0, 0);
    let path = std::env::temp_dir().join(format!("serde-tensor-no-bytes-{}", std::process::id()));
    fs::write(&path, &message).unwrap();
    let (read, heap) = watch(|| serde_tensor::open(&path).unwrap().read::<Tensor>());
    fs::remove_file(&path).unwrap();
    assert_eq!(read.unwrap().shape(), [0]);
    assert!(heap.largest < 1 << 16, "{} bytes at once", heap.largest);

    let mut buffer = MessageBuffer::with_capacity(message.len());
    let capacity = buffer.capacity();
    let strict = Decoder::new().limits(Limits::new().message(100));
    strict
        .read_into::<_, Tensor>(message.as_slice(), &mut buffer)
        .unwrap_err();
    assert_eq!((buffer.capacity(), buffer.message()), (capacity, &[][..]));
}
