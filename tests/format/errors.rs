//! What errors say: category, place and words, exactly.
//!
//! Without these an error could lose its path or its offset, or turn into "invalid value" and no more, and no test of
//! behaviour would notice.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::io;

use serde::{Deserialize, Serialize};
use serde_tensor::backend::{Description, HostBytes, Import, Imported, TensorBackend};
use serde_tensor::{
    Category, Decoder, Device, DeviceCopies, Encoder, Error, Limits, OnMissing, Tensor, TensorDeserialize,
    TensorSerialize, TensorView,
};

use crate::ramp;

/// A tensor library that can only refuse, and a device that is only claimed.
#[derive(Debug)]
struct Awkward {
    on: Device,
    sparse: bool,
}

impl TensorBackend for Awkward {
    fn describe(&self) -> serde_tensor::Result<Description<'_>> {
        if self.sparse {
            return Err(Error::backend("a sparse tensor cannot travel").with_source(io::Error::other("no layout")));
        }
        Ok(Description::new(serde_tensor::DType::U8, &[4]).device(self.on))
    }

    fn host_bytes(&self) -> serde_tensor::Result<HostBytes<'_>> {
        Ok(HostBytes::borrowed(&[1, 2, 3]))
    }

    fn import(_: Import<'_>) -> serde_tensor::Result<Imported<Self>> {
        Err(Error::backend("the library took no tensor today"))
    }
}

serde_tensor::impl_tensor!(Awkward);

#[derive(TensorSerialize, TensorDeserialize, Debug)]
struct Layer {
    #[tensor]
    weight: Tensor,
    #[tensor]
    other: Option<Awkward>,
}

#[derive(TensorSerialize, TensorDeserialize, Debug)]
struct Model {
    name: String,
    #[tensor]
    layers: Vec<Layer>,
}

fn model(other: Option<Awkward>) -> Model {
    let layer = |other| Layer { weight: ramp(2), other };
    Model {
        name: "m".to_owned(),
        layers: vec![layer(None), layer(other)],
    }
}

fn awkward(on: Device, sparse: bool) -> Model {
    model(Some(Awkward { on, sparse }))
}

#[derive(Serialize, Deserialize, Debug)]
enum Kind {
    Unit,
    Number(u8),
}

#[derive(Serialize, Deserialize, Debug)]
struct Config {
    size: u16,
    kind: Kind,
}

#[derive(TensorDeserialize, Debug)]
#[serde(untagged)]
#[expect(dead_code, reason = "read only")]
enum Either {
    One(#[tensor] Awkward),
    Text(String),
}

#[derive(TensorDeserialize, Debug)]
#[expect(dead_code, reason = "read only")]
struct Bulk(#[tensor] Vec<u16>);

#[derive(TensorDeserialize, Debug)]
#[expect(dead_code, reason = "read only")]
struct Views<'a> {
    #[tensor]
    view: TensorView<'a>,
}

fn read<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Error {
    serde_tensor::from_slice::<T>(bytes).map(drop).unwrap_err()
}

#[expect(clippy::needless_pass_by_value, reason = "callers build it in place")]
fn written<T: Serialize + ?Sized>(encoder: Encoder, value: &T) -> Error {
    encoder.to_vec(value).unwrap_err()
}

/// A frame of a tensor, with a byte changed.
#[expect(clippy::needless_pass_by_value, reason = "callers build it in place")]
fn frame(encoder: Encoder, at: usize, byte: u8) -> Vec<u8> {
    let mut frame = encoder.to_vec(&BTreeMap::from([("x", ramp(600))])).unwrap();
    frame[at] = byte;
    frame
}

fn errors() -> Vec<Error> {
    let config = |bytes: &[u8]| read::<Config>(bytes);
    let map = |value: &[u8]| [b"\x81\xa1x".as_slice(), value].concat();
    let tensors = |value: &[u8]| read::<BTreeMap<String, Tensor>>(&map(value));
    let mut strided = map(&[0xc7, 14, 0x54]);
    strided.extend_from_slice(&[0, 1, 8, 2, 1, 0, 2, 2, 2, 1, 2, 1, 2, 3, 4]);
    strided[4] = 15;
    let with_view = [b"\x81\xa4view".as_slice(), &strided[3..]].concat();
    let on_cuda = Encoder::new().inline_limit(1000).device_copies(DeviceCopies::Allow);
    let mut sent = serde_tensor::to_vec(&map_of(ramp(4))).unwrap();
    sent[10] = 2;
    sent[11] = 5;
    let missing = Decoder::new().on_missing(OnMissing::Error);
    vec![
        // Syntax and the end of input.
        read::<u8>(&[]),
        read::<u8>(&[0xcd, 1]),
        read::<String>(b"\xa5abc"),
        read::<u8>(&[7, 8, 9]),
        read::<Vec<u8>>(&[0xdd, 0xff, 0xff, 0xff, 0xff, 1]),
        read::<BTreeMap<u8, u8>>(&[0xc1]),
        read::<BTreeMap<String, String>>(&map(b"\xa2\xff\xff")),
        read::<Vec<Option<Option<()>>>>(&[0x91, 0xd5, 0x53, 0xc0, 0xc0]),
        read::<u128>(&[0xd4, 0x55, 1]),
        // Data.
        config(b"\x82\xa4size\xa3big\xa4kind\xa4Unit"),
        config(b"\x82\xa4size\xce\x00\x01\x00\x00\xa4kind\xa4Unit"),
        config(b"\x81\xa4size\x05"),
        config(b"\x82\xa4size\x05\xa4kind\xa5Other"),
        config(b"\x82\xa4size\x05\xa4kind\x81\xa6Number\xa1x"),
        config(b"\x82\xa4size\x05\xa4kind\x82\xa6Number\x01\xa4Unit\xc0"),
        config(b"\x82\xa4size\x05\xa4kind\x93\x01\x02\x03"),
        config(b"\x93\x05\xa4Unit\x07"),
        read::<BTreeMap<String, u8>>(&map(&[0xd4, 7, 0])),
        read::<serde_bytes::ByteBuf>(&[0x92, 1, 0xcd, 1, 0]),
        // Tensors.
        tensors(b"\xa4text"),
        tensors(&[0xd4, 0x54, 0]),
        tensors(&[0xc7, 9, 0x54, 0, 1, 8, 0, 1, 0, 1, 3, 9]),
        tensors(&[0xc7, 9, 0x54, 0, 1, 0, 0, 1, 0, 1, 1, 9]),
        tensors(&[0xc7, 9, 0x54, 2, 1, 8, 0, 1, 0, 1, 1, 9]),
        tensors(&[0xc7, 9, 0x54, 0, 1, 8, 0x30, 1, 0, 1, 1, 9]),
        tensors(&[0xc7, 9, 0x54, 0, 6, 8, 0, 1, 0, 1, 1, 9]),
        tensors(&[0xc7, 11, 0x54, 0, 1, 8, 2, 1, 0, 1, 3, 0, 9, 9]),
        tensors(&[0xc7, 9, 0x54, 1, 1, 8, 0, 1, 0, 0, 0, 0]),
        read::<Views<'_>>(&with_view),
        read::<Bulk>(&serde_tensor::to_vec(&ramp(2)).unwrap()),
        read::<Bulk>(&[0x92, 1, 0xa1, b'x']),
        // Frames.
        read::<BTreeMap<String, Tensor>>(&frame(Encoder::new(), 4, 9)),
        read::<BTreeMap<String, Tensor>>(&frame(Encoder::new(), 16, 1)),
        read::<BTreeMap<String, Tensor>>(&frame(Encoder::new(), 9, 99)),
        read::<BTreeMap<String, Tensor>>(&frame(Encoder::new().checksums(true), 64, 99)),
        read::<BTreeMap<String, Tensor>>(&frame(Encoder::new().checksums(true), 665, 99)),
        // Limits.
        Decoder::new()
            .limits(Limits::new().depth(3))
            .from_slice::<serde_json::Value>(&[0x91; 200])
            .unwrap_err(),
        Decoder::new()
            .limits(Limits::new().rank(0))
            .from_slice::<Vec<Tensor>>(&serde_tensor::to_vec(&[ramp(2)]).unwrap())
            .unwrap_err(),
        Decoder::new()
            .limits(Limits::new().message(2))
            .from_slice::<Vec<u8>>(&[0x92, 1, 2])
            .unwrap_err(),
        written(Encoder::new().depth(2), &BTreeMap::from([("a", [[1]])])),
        // Writing.
        written(Encoder::new(), &awkward(Device::Cpu, true)),
        written(on_cuda, &awkward(Device::Cuda(1), false)),
        written(
            Encoder::new().device_copies(DeviceCopies::Deny),
            &awkward(Device::Cuda(1), false),
        ),
        written(
            Encoder::new(),
            &BTreeMap::from([("path", std::cell::RefCell::new(1))].map(|(key, cell)| {
                std::mem::forget(cell.borrow_mut());
                (key, cell)
            })),
        ),
        written(Encoder::new().align(100), &1),
        // Devices and backends.
        read::<BTreeMap<String, Awkward>>(&serde_tensor::to_vec(&map_of(ramp(4))).unwrap()),
        missing.from_slice::<BTreeMap<String, Awkward>>(&sent).unwrap_err(),
        missing.from_slice::<BTreeMap<String, Either>>(&sent).unwrap_err(),
        io::Error::new(io::ErrorKind::BrokenPipe, "the pipe is broken").into(),
    ]
}

fn map_of(tensor: Tensor) -> BTreeMap<&'static str, Tensor> {
    BTreeMap::from([("x", tensor)])
}

#[test]
fn errors_read_as_they_always_have() {
    let found: Vec<String> = errors()
        .iter()
        .map(|error| format!("{}: {error}", error.category()))
        .collect();
    for (found, expected) in found.iter().zip(SNAPSHOTS) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.len(), SNAPSHOTS.len(), "{found:#?}");
}

#[rustfmt::skip]
const SNAPSHOTS: &[&str] = &[
    "end of input: the message is empty, at byte 0",
    "end of input: the message ends where a number or length should be, at byte 2",
    "end of input: a string of 5 bytes is cut short: 3 bytes left, at byte 1",
    "syntax: 2 bytes are left over after the value, at byte 1",
    "end of input: an array of 4294967295 elements does not fit into the 1 bytes left, at byte 5",
    "end of input: a frame's header takes 64 bytes, 1 are left, at byte 0",
    "syntax: x: a string is not UTF-8: invalid utf-8 sequence of 1 bytes from index 0, at byte 4",
    "syntax: [0]: an ext 0x53 holds more or less than one value, at byte 5",
    "syntax: a 128-bit integer has 1 bytes, at byte 2",
    "data: size: invalid type: string \"big\", expected u16, at byte 6",
    "data: size: invalid value: integer `65536`, expected u16, at byte 6",
    "data: missing field `kind`, at byte 0",
    "data: kind: unknown variant `Other`, expected `Unit` or `Number`, at byte 12",
    "data: kind.Number: invalid type: string \"x\", expected u8, at byte 20",
    "data: kind: a map of 2 entries, where a variant of `Kind` is a map of one, at byte 12",
    "data: kind: invalid type: sequence, expected a variant of `Kind`: its name, its index, or a map of one, at byte 12",
    "data: 1 more elements than the type holds, at byte 7",
    "data: x: extension type 7 (0x07) is not this format's own; decode it as an `Ext`, at byte 3",
    "data: [1]: invalid type: integer `256`, expected an integer from 0 to 255, at byte 2",
    "data: x: invalid type: string \"text\", expected a tensor, at byte 3",
    "end of input: x: a tensor's description is cut short, at byte 5",
    "data: x: a tensor's dtype, shape and strides ask for 3 bytes, its data has 1, at byte 3",
    "syntax: x: a tensor's elements have 0 bits, at byte 3",
    "syntax: x: unknown tensor form 2, at byte 6",
    "syntax: x: unknown tensor flags 0x30, at byte 3",
    "data: x: element 0 of a bool tensor is 9, neither 0 nor 1, at byte 3",
    "data: x: stride 0 of dim 0 (size 3) is refused: its elements would share one place, at byte 3",
    "syntax: x: a tensor is said to be in a segment, and the message is not a frame, at byte 6",
    "data: view: a TensorView cannot show strided data, which must be compacted: decode into a Tensor, at byte 6",
    "data: a tensor of u8 where u16 is expected, at byte 0",
    "data: [1]: invalid type: string \"x\", expected a number for u16, at byte 2",
    "syntax: unknown frame version 9, at byte 4",
    "syntax: the body section overlaps the data section, at byte 16",
    "end of input: the frame has 25537 bytes, 705 are there, at byte 8",
    "syntax: x: the checksum of segment 0 is 0x60e2e4d6, the message says 0xb3032661, at byte 64",
    "syntax: the checksum of the header, body and table is 0xbf9a552e, the message says 0x9b40b211, at byte 44",
    "limit: [0][0][0]: the value nests deeper than the limit of 3, at byte 3",
    "limit: [0]: a tensor of rank 1, above the limit of 0, at byte 1",
    "limit: a message of 3 bytes, above the limit of 2",
    "limit: a[0]: the value nests deeper than the limit of 2",
    "backend: layers[1].other: a sparse tensor cannot travel",
    "backend: layers[1].other: the tensor's library gives 3 bytes, its dtype, shape and strides ask for 4",
    "device: layers[1].other: a tensor of 4 bytes on cuda:1 would be copied to the host, which the call denies",
    "data: path: already mutably borrowed",
    "data: an alignment of 100 bytes is not a power of two from 16 to 65536",
    "backend: x: the library took no tensor today, at byte 3",
    "device: x: device cuda:5, chosen by the recorded source, is not there; available: cpu, at byte 3",
    "device: x: device cuda:5, chosen by the recorded source, is not there; available: cpu, at byte 3",
    "I/O: the pipe is broken",
];

#[test]
fn an_error_is_its_path_its_message_and_its_offset() {
    for error in errors() {
        let mut text = String::new();
        if let Some(path) = error.path() {
            text.push_str(path);
            text.push_str(": ");
        }
        text.push_str(error.message());
        if let Some(offset) = error.offset() {
            text = format!("{text}, at byte {offset}");
        }
        assert_eq!(error.to_string(), text);
        assert!(
            !error.message().is_empty() && !error.message().ends_with('.'),
            "{error}"
        );
        let debug = format!("{error:?}");
        assert!(
            debug.starts_with("Error { category: ") && debug.contains("message: "),
            "{debug}"
        );
    }
}

#[test]
fn an_error_is_one_word_wide() {
    assert_eq!(size_of::<Error>(), size_of::<usize>());
    assert_eq!(size_of::<serde_tensor::Result<()>>(), size_of::<usize>());
}

#[test]
fn an_error_crosses_threads_and_is_an_error() {
    fn check<T: std::error::Error + Send + Sync + 'static>() {}
    check::<Error>();
}

#[test]
fn an_io_error_is_kept_as_the_source_and_comes_back_out() {
    let error = Error::from(io::Error::new(io::ErrorKind::TimedOut, "too slow"));
    assert_eq!(error.category(), Category::Io);
    assert_eq!(error.source().unwrap().to_string(), "too slow");
    let io = io::Error::from(error);
    assert_eq!(io.kind(), io::ErrorKind::TimedOut);
    let inside = io.into_inner().unwrap().downcast::<Error>().unwrap();
    assert_eq!(inside.category(), Category::Io);
}

#[test]
fn every_category_becomes_an_io_error_of_a_fitting_kind() {
    let mut seen = Vec::new();
    for error in errors() {
        let category = error.category();
        let text = error.to_string();
        let io = io::Error::from(error);
        let fitting = match category {
            Category::Eof => io::ErrorKind::UnexpectedEof,
            Category::Syntax | Category::Data | Category::Limit => io::ErrorKind::InvalidData,
            Category::Io => io::ErrorKind::BrokenPipe,
            _ => io::ErrorKind::Other,
        };
        assert_eq!(io.kind(), fitting);
        assert_eq!(io.to_string(), text);
        seen.push(category);
    }
    for category in [
        Category::Io,
        Category::Syntax,
        Category::Data,
        Category::Eof,
        Category::Limit,
        Category::Device,
        Category::Backend,
    ] {
        assert!(seen.contains(&category), "no example of {category}");
    }
}

#[test]
fn a_backends_error_keeps_its_source_and_gains_a_path() {
    let value = awkward(Device::Cpu, true);
    for error in [
        written(Encoder::new(), &value),
        Encoder::new().plan(&value).map(drop).unwrap_err(),
    ] {
        assert_eq!(error.category(), Category::Backend);
        assert_eq!(error.source().unwrap().to_string(), "no layout");
        assert_eq!(error.path(), Some("layers[1].other"), "{error}");
    }
}

#[test]
fn a_path_names_keys_of_every_kind() {
    let path = |bytes: &[u8]| match serde_tensor::from_slice::<rmpv::Value>(bytes) {
        Ok(value) => panic!("{value}"),
        Err(error) => error.path().unwrap_or_default().to_owned(),
    };
    // A byte that starts no value, below keys of all kinds.
    assert_eq!(path(b"\x81\xa5layer\x92\x01\xc1\x00"), "layer[1]");
    assert_eq!(path(b"\x81\x05\x81\xa1a\xc1\x00"), "[5].a");
    assert_eq!(path(b"\x81\xff\xc1\x00"), "[-1]");
    assert_eq!(path(b"\x81\xc3\xc1\x00"), "[true]");
    assert_eq!(path(b"\x81\xa3a b\xc1\x00"), "[\"a b\"]");
    assert_eq!(path(b"\x81\xa0\xc1\x00"), "[\"\"]");
    assert_eq!(path(b"\x81\x92\x01\x02\xc1\x00"), "[?]");
    assert_eq!(path(b"\x81\xa1n\xd5\x53\x91\xc1"), "n[0]");
}

#[test]
fn a_limit_or_device_error_inside_an_untagged_enum_is_the_calls_error() {
    let bytes = serde_tensor::to_vec(&map_of(ramp(4))).unwrap();
    let error = read::<BTreeMap<String, Either>>(&bytes);
    assert_eq!(
        (error.category(), error.path()),
        (Category::Backend, Some("x")),
        "{error}"
    );
}
