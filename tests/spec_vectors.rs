//! The specification's vectors, read from its own pages (`docs/spec/vectors.md`, `docs/spec/rejected.md`).
//!
//! Without this test the bytes could drift from the specification, and the specification from itself: a reader in another
//! language has nothing else to go by. The test knows no bytes; it fails on a vector that it cannot run.

#[path = "spec_vectors/json.rs"]
mod json;
#[path = "spec_vectors/model.rs"]
mod model;
#[path = "spec_vectors/page.rs"]
mod page;
#[path = "spec_vectors/tensor.rs"]
mod tensor;
#[path = "spec_vectors/value.rs"]
mod value;

use std::fmt::{Debug, Write};
use std::io::Read;
use std::process::Command;

use bytes::Bytes;
use serde::de::Deserialize;
use serde_tensor::{
    Category, Decoder, Device, Encoder, Error, Limits, MessageBuffer, MessageReader, Reassembler, Rule, Tensor,
    TensorView,
};

use json::Json;
use model::{ByteString, E, F32s, Fields, Model, Pair, models};
use page::{Vector, unhex};
use tensor::{SpecTensor, Storages};
use value::Value;

/// A `json` block: a value and how it is written.
struct Stated {
    value: Value,
    options: Json,
}

impl Stated {
    fn of(vector: &Vector) -> Option<Self> {
        let json = Json::parse(vector.block("json")?);
        let storages: Storages = match json.get("storages") {
            Some(Json::Object(entries)) => {
                let storage = |(name, hex): &(String, Json)| (name.clone(), Bytes::from(hex.bytes()));
                entries.iter().map(storage).collect()
            }
            _ => Storages::new(),
        };
        Some(Self {
            value: Value::from_json(json.at("value"), &storages),
            options: json.get("options").cloned().unwrap_or(Json::Null),
        })
    }

    fn encoder(&self) -> Encoder {
        let mut encoder = Encoder::new()
            .framed(self.option("frame"))
            .checksums(self.option("checksum"));
        if let Some(log2) = self.options.get("align") {
            encoder = encoder.align(1 << log2.number::<u32>());
        }
        if let Some(limit) = self.options.get("inline_limit") {
            encoder = encoder.inline_limit(limit.number());
        }
        encoder
    }

    fn option(&self, name: &str) -> bool {
        self.options.get(name).is_some_and(Json::is_true)
    }

    /// Whether a plan must write the vector's very bytes: its order of sections is stated, and not its choice.
    fn is_exact(&self) -> bool {
        self.options.get("front").is_none() && !self.option("checksum")
    }
}

/// Asserts that bytes are read as a value, by every way of reading.
fn assert_reads(id: &str, bytes: &[u8], value: &Value) {
    let expected = value.arrived();
    let (read, report) = Decoder::new()
        .from_slice_with_report::<Value>(bytes)
        .unwrap_or_else(|e| panic!("{id}: {e}"));
    assert_eq!(read, expected, "{id}");
    let sent = value.tensors();
    assert_eq!(report.len(), sent.len(), "{id}");
    for (row, tensor) in report.tensors().iter().zip(sent) {
        assert_eq!(row.recorded(), tensor.device, "{id}: {}", row.path());
        assert_eq!(row.dtype(), tensor.dtype, "{id}: {}", row.path());
    }
    assert_eq!(
        serde_tensor::from_bytes::<Value>(Bytes::copy_from_slice(bytes)).unwrap(),
        expected,
        "{id}"
    );
    let (read, rest) = {
        let longer = [bytes, b"\xc0rest"].concat();
        let (read, rest) = Decoder::new().take_from_slice::<Value>(&longer).unwrap();
        (read, rest.to_vec())
    };
    assert_eq!((read, rest.as_slice()), (expected.clone(), &b"\xc0rest"[..]), "{id}");
    let mut buffer = MessageBuffer::new();
    for cut in splits(bytes.len()) {
        let (head, tail) = bytes.split_at(cut);
        let what = format!("{id}, in two pieces of which the first has {cut} bytes");
        let read = serde_tensor::from_reader::<_, Value>(head.chain(tail));
        assert_eq!(read.unwrap(), expected, "{what}");
        let read = Decoder::new().read_into::<_, Value>(head.chain(tail), &mut buffer);
        assert_eq!(read.unwrap(), expected, "{what}, into a buffer");
        if bytes[0] == 0xc1 {
            let mut stream = MessageReader::new(head.chain(tail));
            assert_eq!(
                stream.read::<Value>().unwrap().unwrap(),
                expected,
                "{what}, of a stream"
            );
            assert!(stream.read::<Value>().unwrap().is_none(), "{what}, of a stream");
        }
    }
}

/// All places to cut; of long messages those near the ends of the parts, and some.
fn splits(len: usize) -> impl Iterator<Item = usize> {
    (0..len).filter(move |&at| len < 256 || at < 200 || at + 10 > len || at % 61 == 0)
}

#[test]
fn the_stated_values_are_written_and_read() {
    for vector in Vector::of("vectors.md", "V") {
        let (id, bytes) = (&vector.id, vector.bytes());
        let stated = Stated::of(&vector).unwrap_or_else(|| panic!("{id}: no json"));
        assert_reads(id, &bytes, &stated.value);

        let plan = stated.encoder().plan(&stated.value).unwrap();
        let mut written = Vec::new();
        plan.write_to(&mut written).unwrap();
        assert_eq!(written.len(), plan.len(), "{id}");
        if stated.is_exact() {
            assert_eq!(hex(&written), hex(&bytes), "{id} {}", vector.title);
        }
        assert_reads(&format!("{id}, planned anew"), &written, &stated.value);

        let single_pass = stated.encoder().to_vec(&stated.value).unwrap();
        assert_reads(&format!("{id}, in one pass"), &single_pass, &stated.value);
        if bytes[0] != 0xc1 {
            assert_eq!(
                hex(&single_pass),
                hex(&bytes),
                "{id}: a plain message is the same either way"
            );
        }
    }
}

#[test]
fn a_pin_is_in_the_message() {
    let mut pinned = 0;
    for vector in Vector::of("vectors.md", "V") {
        let stated = Stated::of(&vector).unwrap();
        let rule = match stated.value.tensors().len() {
            1 if format!("{:?}", stated.value).contains("KeepCpu") => (Rule::Pin, Device::Cpu),
            1 if format!("{:?}", stated.value).contains("FromSource") => (Rule::Pin, stated.value.tensors()[0].device),
            _ => continue,
        };
        pinned += 1;
        // A pin is stronger than a guard, so under one it shows.
        let guarded = || {
            Decoder::new()
                .from_slice_with_report::<Value>(&vector.bytes())
                .unwrap()
                .1
        };
        let report = serde_tensor::with_device(Device::Vulkan, guarded);
        let row = &report.tensors()[0];
        assert_eq!((row.rule(), row.device()), rule, "{}", vector.id);
    }
    assert!(pinned >= 2);
}

#[test]
fn tensors_that_share_a_segment_share_memory_again() {
    let mut shared = 0;
    for vector in Vector::of("vectors.md", "V") {
        let stated = Stated::of(&vector).unwrap();
        let read: Value = serde_tensor::from_bytes(Bytes::from(vector.bytes())).unwrap();
        let (sent, got) = (stated.value.tensors(), read.tensors());
        for (i, (a, x)) in sent.iter().zip(&got).enumerate() {
            for (b, y) in sent.iter().zip(&got).skip(i + 1) {
                if overlap(a, b) {
                    shared += 1;
                    assert!(overlap(x, y), "{}", vector.id);
                    assert_eq!(distance(x, y), distance(a, b), "{}", vector.id);
                }
            }
        }
    }
    assert!(shared >= 4, "{shared} pairs");
}

fn overlap(a: &SpecTensor, b: &SpecTensor) -> bool {
    let (a, b) = (a.data.as_ptr_range(), b.data.as_ptr_range());
    a.start < b.end && b.start < a.end
}

fn distance(a: &SpecTensor, b: &SpecTensor) -> isize {
    a.data.as_ptr().addr().cast_signed() - b.data.as_ptr().addr().cast_signed()
}

#[test]
fn rust_expressions_are_written_and_read() {
    let models = models();
    let mut unused: Vec<&str> = models.iter().map(|model| model.expression).collect();
    for vector in Vector::of("vectors.md", "S") {
        let (id, bytes) = (&vector.id, vector.bytes());
        let (model, compact) = model_of(&vector, &models);
        unused.retain(|expression| *expression != model.expression);
        assert_eq!(
            hex(&(model.encode)(compact).unwrap()),
            hex(&bytes),
            "{id} {}",
            vector.title
        );
        let again = (model.decode)(&bytes, compact).unwrap_or_else(|e| panic!("{id} {}: {e}", vector.title));
        assert_eq!(hex(&again), hex(&bytes), "{id} {}", vector.title);
    }
    for vector in Vector::of("vectors.md", "A") {
        if vector.block("rust").is_some() {
            let (model, _) = model_of(&vector, &models);
            unused.retain(|expression| *expression != model.expression);
        }
    }
    assert!(unused.is_empty(), "no vector has {unused:?}");
}

/// The model of a vector's `rust` block, and whether it is in compact mode.
fn model_of<'m>(vector: &Vector, models: &'m [Model]) -> (&'m Model, bool) {
    let block = vector.block("rust").unwrap_or_else(|| panic!("{}: no rust", vector.id));
    let (compact, expression) = match block.strip_prefix("// compact\n") {
        Some(rest) => (true, rest),
        None => (false, block),
    };
    let bare = |text: &str| text.split_whitespace().collect::<String>();
    let model = models.iter().find(|model| bare(model.expression) == bare(expression));
    (
        model.unwrap_or_else(|| panic!("{}: unknown expression {expression}", vector.id)),
        compact,
    )
}

#[test]
fn other_forms_are_accepted() {
    let models = models();
    for vector in Vector::of("vectors.md", "A") {
        let (id, bytes) = (&vector.id, vector.bytes());
        if let Some(stated) = Stated::of(&vector) {
            assert_reads(id, &bytes, &stated.value);
        } else {
            let (model, _) = model_of(&vector, &models);
            let read = (model.decode)(&bytes, false);
            read.unwrap_or_else(|e| panic!("{id} {}: {e}", vector.title));
        }
    }
}

#[test]
fn a_message_cut_anywhere_ends_early() {
    let models = models();
    for vector in Vector::of("vectors.md", "VSA") {
        let bytes = vector.bytes();
        for cut in splits(bytes.len()) {
            let cut_short = &bytes[..cut];
            let errors = match vector.block("rust") {
                Some(_) => vec![(model_of(&vector, &models).0.decode)(cut_short, false).unwrap_err()],
                None => vec![
                    serde_tensor::from_slice::<Value>(cut_short).unwrap_err(),
                    serde_tensor::from_reader::<_, Value>(cut_short).unwrap_err(),
                ],
            };
            for error in errors {
                assert_eq!(error.category(), Category::Eof, "{}, {cut} bytes: {error}", vector.id);
            }
        }
    }
}

#[test]
fn a_changed_byte_never_panics() {
    for vector in Vector::of("vectors.md", "VSA")
        .into_iter()
        .chain(Vector::of("rejected.md", "R"))
    {
        let mut bytes = vector.bytes();
        for at in splits(bytes.len()).collect::<Vec<_>>() {
            for change in [0x01, 0x80, 0xff] {
                bytes[at] ^= change;
                let _ = serde_tensor::from_slice::<Value>(&bytes);
                let _ = serde_tensor::from_bytes::<Vec<Tensor>>(Bytes::copy_from_slice(&bytes));
                bytes[at] ^= change;
            }
        }
    }
}

#[test]
fn what_must_be_refused_is_refused_as_stated() {
    let mut faults = Vec::new();
    for vector in Vector::of("rejected.md", "R") {
        let json = Json::parse(vector.block("json").unwrap());
        let mut limits = Limits::new();
        if let Some(Json::Object(stated)) = json.get("limits") {
            for (name, limit) in stated {
                limits = match name.as_str() {
                    "depth" => limits.depth(limit.number()),
                    "rank" => limits.rank(limit.number()),
                    "segments" => limits.segments(limit.number()),
                    other => panic!("{}: unknown limit {other}", vector.id),
                };
            }
        }
        let into = json.get("into").map_or("value", Json::str);
        let stated = match json.at("category") {
            Json::List(either) => either.iter().map(Json::str).collect(),
            one => vec![one.str()],
        };
        let found = match refusal(into, &Decoder::new().limits(limits), &vector.bytes()) {
            Ok(error) if stated.contains(&&*format!("{:?}", error.category())) => continue,
            Ok(error) => format!("{:?} instead of {stated:?}: {error}", error.category()),
            Err(read) => format!("read as {read}"),
        };
        faults.push(format!("{} {}: {found}", vector.id, vector.title));
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

/// The error of reading bytes as a type, or what was read.
fn refusal(into: &str, decoder: &Decoder, bytes: &[u8]) -> Result<Error, String> {
    fn read<'de, T: Deserialize<'de> + Debug>(decoder: &Decoder, bytes: &'de [u8]) -> Result<Error, String> {
        match decoder.from_slice::<T>(bytes) {
            Ok(value) => Err(format!("{value:?}")),
            Err(error) => Ok(error),
        }
    }
    match into {
        "value" => read::<Value>(decoder, bytes),
        "u8" => read::<u8>(decoder, bytes),
        "u64" => read::<u64>(decoder, bytes),
        "i128" => read::<i128>(decoder, bytes),
        "u128" => read::<u128>(decoder, bytes),
        "bool" => read::<bool>(decoder, bytes),
        "char" => read::<char>(decoder, bytes),
        "ByteString" => read::<ByteString>(decoder, bytes),
        "Pair" => read::<Pair>(decoder, bytes),
        "Fields" => read::<Fields>(decoder, bytes),
        "E" => read::<E>(decoder, bytes),
        "Tensor" => read::<Tensor>(decoder, bytes),
        "TensorView" => read::<TensorView<'_>>(decoder, bytes),
        "f32s" => read::<F32s>(decoder, bytes),
        other => panic!("no type {other}"),
    }
}

#[test]
fn other_formats_hold_a_tensor_as_stated() {
    for vector in Vector::of("vectors.md", "F") {
        let (id, stated) = (&vector.id, Stated::of(&vector).unwrap());
        let text = vector.block("text").unwrap().trim_end();
        assert_eq!(serde_json::to_string(&stated.value).unwrap(), text, "{id}");
        let Value::Tensor(expected) = stated.value.arrived() else {
            panic!("{id}: no tensor");
        };
        let read: SpecTensor = serde_json::from_str(text).unwrap();
        assert_eq!(read, compacted(&expected), "{id}");

        let bytes = postcard::to_allocvec(&stated.value).unwrap();
        assert_eq!(hex(&bytes), hex(&vector.bytes()), "{id}");
        assert_eq!(postcard::from_bytes::<SpecTensor>(&bytes).unwrap(), expected, "{id}");
    }
}

#[test]
fn chunks_are_joined_as_stated() {
    for vector in Vector::of("vectors.md", "C") {
        let json = Json::parse(vector.block("json").unwrap());
        let message: String = match json.at("message") {
            Json::List(lines) => lines.iter().map(Json::str).collect(),
            line => line.str().to_owned(),
        };
        let mut reassembler = Reassembler::new();
        let mut chunks = vector.each_bytes();
        let last = chunks.pop().unwrap();
        for chunk in chunks {
            assert_eq!(reassembler.push(chunk).unwrap(), None, "{}", vector.id);
        }
        assert_eq!(
            reassembler.push(last).unwrap().unwrap(),
            unhex(&message),
            "{}",
            vector.id
        );
    }
    for vector in Vector::of("rejected.md", "K") {
        let category = Json::parse(vector.block("json").unwrap())
            .at("category")
            .str()
            .to_owned();
        let mut reassembler = Reassembler::new();
        let mut chunks = vector.each_bytes();
        let refused = chunks.pop().unwrap();
        for chunk in chunks {
            assert_eq!(reassembler.push(chunk).unwrap(), None, "{}", vector.id);
        }
        let error = reassembler.push(refused).unwrap_err();
        assert_eq!(format!("{:?}", error.category()), category, "{}: {error}", vector.id);
    }
}

/// A reader written from the specification alone must come to the same results.
#[test]
fn the_python_reader_agrees_with_the_vectors() {
    let python = |arguments: &[&str]| {
        let output = Command::new("python3").args(arguments).output();
        output.map_or((false, String::new()), |output| {
            let text = [output.stdout, output.stderr].concat();
            (output.status.success(), String::from_utf8_lossy(&text).into_owned())
        })
    };
    if !python(&["-c", "import sys; sys.exit(sys.version_info < (3, 10))"]).0 {
        eprintln!("skipped: no Python of version 3.10 or later");
        return;
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tools/check_vectors.py");
    let (agrees, output) = python(&["-B", script]);
    assert!(agrees, "{output}");
}

/// A tensor as a format without strides gives it back.
fn compacted(tensor: &SpecTensor) -> SpecTensor {
    let Some(strides) = &tensor.strides else {
        return tensor.clone();
    };
    let (shape, size) = (&tensor.shape, usize::from(tensor.dtype.bits()) / 8);
    let data = (0..shape.iter().product()).flat_map(|n: usize| {
        let (mut rest, mut at) = (n, 0);
        for (&dim, &stride) in shape.iter().zip(strides).rev() {
            at += rest % dim * stride;
            rest /= dim;
        }
        tensor.data[at * size..(at + 1) * size].to_vec()
    });
    SpecTensor {
        strides: None,
        data: data.collect(),
        ..tensor.clone()
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut hex = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        write!(hex, "{byte:02x}").unwrap();
    }
    hex
}
