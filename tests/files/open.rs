//! Reading from an open file: the same as from memory, and no more than what is asked for.
//!
//! Without these a file would be read as a whole to see what is in it, and one that is not what it seems would be believed.

use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};

use serde_tensor::backend::{Description, HostBytes, Import, Imported, TensorBackend};
use serde_tensor::device::Transfer;
use serde_tensor::{
    Category, DType, Decoder, Encoder, Lazy, Limits, Tensor, TensorDeserialize, TensorSerialize, inspect, inspect_file,
    open, save,
};

use crate::{Folder, messages, ramp, reads};

type Value = (u8, Tensor, Vec<Tensor>, Option<Vec<f32>>);

#[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
struct Model {
    step: u8,
    #[tensor]
    weights: Vec<Tensor>,
    #[tensor]
    bias: Vec<f64>,
    name: String,
}

fn model() -> Model {
    let whole = ramp(9000);
    let part = Tensor::from_bytes(DType::U8, &[60, 100], whole.shared_bytes().slice(3000..)).unwrap();
    Model {
        step: 3,
        weights: vec![whole, part, ramp(700), ramp(5), ramp(0)],
        bias: vec![0.5; 1000],
        name: "model".into(),
    }
}

#[test]
fn a_file_reads_as_its_bytes_do() {
    let folder = Folder::new();
    let path = folder.join("value.st");
    for message in messages(&model()) {
        fs::write(&path, &message).unwrap();
        let file = open(&path).unwrap();
        assert_eq!(file.len(), message.len() as u64);
        assert_eq!(file.read::<Model>().unwrap(), model());
        let (read, report) = file.read_with_report::<Model>().unwrap();
        assert_eq!(read, model());
        let (_, expected) = Decoder::new()
            .from_bytes_with_report::<Model>(message.clone().into())
            .unwrap();
        assert_eq!(report.len(), expected.len());
        for (row, expected) in report.tensors().iter().zip(expected.tensors()) {
            assert_eq!(row.path(), expected.path());
            assert_eq!(
                (row.dtype(), row.shape(), row.bytes()),
                (expected.dtype(), expected.shape(), expected.bytes())
            );
        }
        assert_eq!(
            report.tensors()[0].transfer(),
            Transfer::Shared,
            "it is the memory that was read into"
        );
        for aligned in [&read.weights[0], &read.weights[2]] {
            assert!(aligned.bytes().as_ptr().addr().is_multiple_of(64));
        }
        let described = |found: serde_tensor::Inspection| {
            let tensors = found.tensors().iter().map(ToString::to_string).collect::<Vec<_>>();
            (tensors, found.segments(), found.body_len())
        };
        assert_eq!(
            described(inspect_file(&path).unwrap()),
            described(inspect(&message).unwrap())
        );
    }
}

#[test]
fn tensors_that_overlap_share_again() {
    let folder = Folder::new();
    let path = folder.join("value.st");
    save(&path, &model()).unwrap();
    let read: Model = open(&path).unwrap().read().unwrap();
    assert_eq!(
        read.weights[1].bytes().as_ptr(),
        read.weights[0].bytes()[3000..].as_ptr()
    );
    let apart: Model = Decoder::new().detach(true).open(&path).unwrap().read().unwrap();
    assert_eq!(apart, read);
    let (first, second) = (
        apart.weights[0].bytes().as_ptr_range(),
        apart.weights[1].bytes().as_ptr(),
    );
    assert!(!first.contains(&second));
}

#[test]
fn plain_messages_and_foreign_ones_are_read_too() {
    let folder = Folder::new();
    let path = folder.join("value.st");
    fs::write(&path, [0x92, 1, 2]).unwrap();
    let file = open(&path).unwrap();
    assert_eq!((file.read::<Vec<u8>>().unwrap(), file.len()), (vec![1, 2], 3));
    assert_eq!(file.read::<String>().unwrap_err().category(), Category::Data);
    assert!(file.inspect().unwrap().tensors().is_empty());
    fs::write(&path, "").unwrap();
    assert_eq!(open(&path).unwrap_err().category(), Category::Eof);
    for missing in [folder.join("missing"), folder.to_owned()] {
        let error = open(&missing).unwrap_err();
        assert_eq!(error.category(), Category::Io);
        assert!(error.to_string().contains(missing.to_str().unwrap()), "{error}");
    }
}

#[test]
fn limits_hold_for_files() {
    let folder = Folder::new();
    let path = folder.join("value.st");
    save(&path, &model()).unwrap();
    let len = fs::metadata(&path).unwrap().len();
    let open_with = |limits: Limits| Decoder::new().limits(limits).open(&path);
    assert_eq!(
        open_with(Limits::new().message(len - 1)).unwrap_err().category(),
        Category::Limit
    );
    assert_eq!(
        open_with(Limits::new().segments(2)).unwrap_err().category(),
        Category::Limit
    );
    let file = open_with(Limits::new().message(len).segments(3).rank(1)).unwrap();
    assert_eq!(file.read::<Model>().unwrap_err().category(), Category::Limit);
    // One segment, of which a thousand tensors show parts that cannot be shared.
    let strided = frame_of_strided_names();
    fs::write(&path, &strided).unwrap();
    let error = open(&path).unwrap().read::<Vec<Tensor>>().unwrap_err();
    assert_eq!(error.category(), Category::Limit);
    let patient = open_with(Limits::new().copies(1000)).unwrap();
    assert_eq!(patient.read::<Vec<Tensor>>().unwrap().len(), 1000);
}

/// Also for a plain message, which is not read through the same code.
#[test]
fn structure_is_read_under_the_limits_that_the_file_was_opened_with() {
    let folder = Folder::new();
    let path = folder.join("value.st");
    for framed in [false, true] {
        let mut nested = vec![0x91; 200];
        nested.push(1);
        if framed {
            let mut frame = Encoder::new().framed(true).to_vec(&()).unwrap();
            let (body_at, body_len) = (frame.len(), nested.len());
            frame.append(&mut nested);
            let end = frame.len();
            for (at, value) in [(8, end), (16, body_at), (24, body_len), (32, end), (48, end)] {
                frame[at..at + 8].copy_from_slice(&(value as u64).to_le_bytes());
            }
            nested = frame;
        }
        fs::write(&path, &nested).unwrap();
        let inspect_with = |depth| {
            let decoder = Decoder::new().limits(Limits::new().depth(depth));
            decoder.open(&path).unwrap().inspect()
        };
        assert_eq!(inspect_with(200).unwrap().body_len(), 201);
        assert_eq!(inspect_with(199).unwrap_err().category(), Category::Limit);
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_is_refused_and_not_waited_for() {
    let folder = Folder::new();
    let path = folder.join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    let (done, opened) = std::sync::mpsc::channel();
    let pipe = path.clone();
    std::thread::spawn(move || done.send(open(pipe).map(drop)));
    let opened = opened.recv_timeout(std::time::Duration::from_mins(1));
    let error = opened.expect("opening waits for a writer").unwrap_err();
    assert!(error.to_string().contains("is not a file"), "{error}");
}

fn frame_of_strided_names() -> Vec<u8> {
    const SEGMENT: usize = 20_000;
    let mut frame = Encoder::new().inline_limit(0).to_vec(&ramp(SEGMENT)).unwrap();
    frame.truncate(64 + SEGMENT);
    // A thousand times u8 of [2, 10000] by strides [1, 2], at the start of segment 0.
    let descriptor = [0xc7, 14, 0x54, 1, 1, 8, 2, 1, 0, 2, 2, 0x90, 0x4e, 1, 2, 0, 0];
    let body = [&[0xdc, 0x03, 0xe8][..], &descriptor.repeat(1000)].concat();
    let (body_at, table_at) = (frame.len(), frame.len() + body.len());
    frame.extend_from_slice(&body);
    frame.extend_from_slice(&64u64.to_le_bytes());
    frame.extend_from_slice(&(SEGMENT as u64).to_le_bytes());
    frame.extend_from_slice(&[0; 8]);
    for (at, value) in [(8, frame.len()), (16, body_at), (24, body.len()), (32, table_at)] {
        frame[at..at + 8].copy_from_slice(&(value as u64).to_le_bytes());
    }
    frame
}

/// Every byte of the structure, changed, and every length: a file is refused where its bytes are, for the same kind of reason.
#[test]
fn a_file_is_refused_where_its_bytes_are() {
    let folder = Folder::new();
    let path = folder.join("value.st");
    let value: Value = (7, ramp(600), vec![ramp(3)], Some(vec![0.5; 200]));
    let agree = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        let from_file = open(&path).and_then(|file| file.read::<Value>());
        let from_memory = serde_tensor::from_bytes::<Value>(bytes.to_vec().into());
        match (&from_file, &from_memory) {
            (Ok(file), Ok(memory)) => assert_eq!(file, memory),
            (Err(file), Err(memory)) => {
                assert_eq!(
                    (file.category(), file.path()),
                    (memory.category(), memory.path()),
                    "{file} {memory}"
                );
            }
            _ => panic!("{from_file:?} {from_memory:?}"),
        }
        let listed = (inspect_file(&path).map(drop), inspect(bytes).map(drop));
        assert_eq!(listed.0.is_ok(), listed.1.is_ok(), "{listed:?}");
    };
    for message in messages(&value) {
        for cut in (0..200).chain([message.len() - 1]) {
            agree(&message[..cut]);
        }
        agree(&[&message[..], &[0]].concat());
        // Header, body and table, wherever they are; not each byte of the data.
        let structure = (0..message.len()).filter(|&at| at < 200 || at + 200 > message.len() || at % 397 == 0);
        for at in structure {
            for change in [1, 0x80] {
                let mut bytes = message.clone();
                bytes[at] ^= change;
                agree(&bytes);
            }
        }
    }
}

#[test]
fn a_file_that_was_cut_off_or_changed_after_it_was_opened_is_an_error() {
    let folder = Folder::new();
    let path = folder.join("value.st");
    for checksums in [false, true] {
        let encoder = Encoder::new().checksums(checksums);
        encoder.save(&path, &model()).unwrap();
        let file = open(&path).unwrap();
        let len = file.len();
        let writable = OpenOptions::new().write(true).open(&path).unwrap();
        writable.set_len(len - 100).unwrap();
        assert_eq!(file.read::<Model>().unwrap_err().category(), Category::Eof);
        writable.set_len(len).unwrap();
        assert!(file.read::<Model>().is_err(), "what was cut off is zeros now");

        encoder.save(&path, &model()).unwrap();
        let file = open(&path).unwrap();
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        let mut writable = OpenOptions::new().write(true).open(&path).unwrap();
        writable.seek(SeekFrom::Start(len - 100)).unwrap();
        writable.write_all(&[0xee]).unwrap();
        writable
            .set_modified(modified + std::time::Duration::from_secs(1))
            .unwrap();
        let error = file.read::<Model>().unwrap_err();
        assert_eq!(error.category(), Category::Io, "{error}");
        assert!(error.to_string().contains("was changed after it was opened"), "{error}");
        // A change that nothing shows but the bytes is found by the checksum.
        writable.set_modified(modified).unwrap();
        let read = file.read::<Model>();
        assert_eq!(read.is_err(), checksums);
        assert!(read.is_ok() || read.unwrap_err().category() == Category::Syntax);
    }
}

#[test]
fn an_open_file_is_read_on_when_another_takes_its_place() {
    let folder = Folder::new();
    let path = folder.join("value.st");
    save(&path, &model()).unwrap();
    let file = open(&path).unwrap();
    save(&path, &ramp(600)).unwrap();
    assert_eq!(file.read::<Model>().unwrap(), model());
    assert_eq!(open(&path).unwrap().read::<Tensor>().unwrap(), ramp(600));
    #[cfg(unix)]
    {
        fs::remove_file(&path).unwrap();
        assert_eq!(file.clone().read::<Model>().unwrap(), model());
    }
}

#[test]
fn threads_read_one_file_at_once() {
    let folder = Folder::new();
    let path = folder.join("value.st");
    save(&path, &model()).unwrap();
    let file = open(&path).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20 {
                    assert_eq!(file.read::<Model>().unwrap(), model());
                }
            });
        }
    });
}

/// A tensor that says it is large, and has no bytes.
struct Claims(usize);

impl TensorBackend for Claims {
    fn describe(&self) -> serde_tensor::Result<Description<'_>> {
        Ok(Description::new(DType::U8, &[self.0]))
    }

    fn host_bytes(&self) -> serde_tensor::Result<HostBytes<'_>> {
        Ok(HostBytes::copied(|_| Err(serde_tensor::Error::backend("no bytes"))))
    }

    fn import(_: Import<'_>) -> serde_tensor::Result<Imported<Self>> {
        Err(serde_tensor::Error::backend("is not read"))
    }
}

serde_tensor::impl_tensor!(Claims);

#[test]
#[cfg(target_pointer_width = "64")]
fn a_sparse_file_of_ten_gigabytes_is_inspected_by_its_structure_alone() {
    #[derive(TensorDeserialize)]
    struct Half {
        name: String,
        #[tensor]
        weights: Vec<Lazy<Tensor>>,
    }
    #[derive(TensorSerialize)]
    struct Whole {
        name: String,
        #[tensor]
        weights: Vec<Claims>,
    }
    let folder = Folder::new();
    let path = folder.join("large.st");
    let name = "n".repeat(1000);
    let whole = Whole {
        name,
        weights: vec![Claims(5 << 30), Claims(5 << 30)],
    };
    let plan = Encoder::new().plan(&whole).unwrap();
    let file = File::create(&path).unwrap();
    // Header, body and table are written before the first tensor fails; the rest is a hole.
    plan.write_to(&file).unwrap_err();
    file.set_len(plan.len() as u64).unwrap();
    assert!(plan.len() > 10 << 30);

    let (found, read) = reads(|| inspect_file(&path).unwrap());
    let sizes: Vec<usize> = found.tensors().iter().map(serde_tensor::TensorInfo::bytes).collect();
    assert_eq!(sizes, [5 << 30, 5 << 30]);
    assert!(read < 8192, "{read} bytes were read");

    let (value, read) = reads(|| open(&path).unwrap().read::<Half>().unwrap());
    assert_eq!((value.weights[1].bytes(), value.name.len()), (5 << 30, 1000));
    assert!(read < 8192, "{read} bytes were read");
}
