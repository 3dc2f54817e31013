//! Tensors that are read when they are asked for.
//!
//! Without these a lazy field would read what nobody asks for, or hand out bytes that were never held against their checksum.

use std::collections::BTreeMap;
use std::fs;

use serde_tensor::{
    Category, DType, Decoder, Device, DeviceCopies, DeviceGuard, Encoder, Lazy, Placement, Plan, Tensor,
    TensorDeserialize, TensorSerialize, contains_tensor, inspect, open, save,
};

use crate::common::sim::{EightGpus, SimTensor};
use crate::{Folder, messages, ramp, reads};

#[derive(TensorSerialize, TensorDeserialize, Debug)]
struct Checkpoint {
    step: u64,
    #[tensor]
    weights: BTreeMap<String, Lazy<Tensor>>,
    #[tensor]
    eager: Tensor,
}

const LARGE: usize = 1 << 20;

fn checkpoint() -> Checkpoint {
    let weights = [("first", LARGE), ("second", LARGE / 2), ("small", 10), ("none", 0)];
    Checkpoint {
        step: 7,
        weights: weights
            .map(|(name, len)| (name.to_owned(), Lazy::new(ramp(len)).unwrap()))
            .into(),
        eager: ramp(700),
    }
}

fn assert_is_checkpoint(read: &Checkpoint) {
    assert_eq!((read.step, &read.eager), (7, &ramp(700)));
    for (name, len) in [("first", LARGE), ("second", LARGE / 2), ("small", 10), ("none", 0)] {
        let lazy = &read.weights[name];
        assert_eq!((lazy.dtype(), lazy.shape(), lazy.bytes()), (DType::U8, &[len][..], len));
        assert_eq!(
            (lazy.strides(), lazy.device(), lazy.requires_grad()),
            (None, Device::Cpu, false)
        );
        assert_eq!(lazy.load().unwrap(), ramp(len));
        assert_eq!(*lazy.get().unwrap(), ramp(len));
        assert!(lazy.is_loaded());
    }
}

#[test]
fn data_stays_in_the_file_until_it_is_asked_for() {
    fn check<T: Send + Sync>(_: &T) {}
    let folder = Folder::new();
    let path = folder.join("value.st");
    for message in messages(&checkpoint()) {
        fs::write(&path, message).unwrap();
        let (read, bytes) = reads(|| open(&path).unwrap().read::<Checkpoint>().unwrap());
        check(&read);
        assert!(bytes < 10_000, "{bytes} bytes were read");
        assert!(!read.weights["first"].is_loaded());
        assert_eq!(format!("{:?}", read.weights["first"]), "Lazy(u8[1048576], not read)");
        let (tensor, bytes) = reads(|| read.weights["second"].get().unwrap());
        assert_eq!(*tensor, ramp(LARGE / 2));
        assert!(bytes < 600_000, "one tensor was asked for, and {bytes} bytes were read");
        let ((), bytes) = reads(|| assert_eq!(*read.weights["second"].get().unwrap(), ramp(LARGE / 2)));
        assert!(bytes < 1000, "and is kept: {bytes}");
        assert_is_checkpoint(&read);
        let second = open(&path)
            .unwrap()
            .read::<Checkpoint>()
            .unwrap()
            .weights
            .remove("second");
        assert_eq!(second.unwrap().into_inner().unwrap(), ramp(LARGE / 2));
    }
}

#[test]
fn what_was_not_read_is_not_in_the_report() {
    let folder = Folder::new();
    let path = folder.join("value.st");
    save(&path, &checkpoint()).unwrap();
    let (_, report) = open(&path).unwrap().read_with_report::<Checkpoint>().unwrap();
    assert_eq!(report.len(), 1);
    assert_eq!(report.tensors()[0].path(), "eager");
}

#[test]
fn from_memory_it_shares_what_can_be_shared() {
    for message in messages(&checkpoint()) {
        assert_is_checkpoint(&serde_tensor::from_slice(&message).unwrap());
        assert_is_checkpoint(&serde_tensor::from_reader(message.as_slice()).unwrap());
        let message = bytes::Bytes::from(message);
        let read: Checkpoint = serde_tensor::from_bytes(message.clone()).unwrap();
        let first = read.weights["first"].get().unwrap();
        assert!(message.as_ptr_range().contains(&first.bytes().as_ptr()));
        assert_is_checkpoint(&read);
        let apart: Checkpoint = Decoder::new().detach(true).from_bytes(message.clone()).unwrap();
        let first = apart.weights["first"].get().unwrap();
        assert!(!message.as_ptr_range().contains(&first.bytes().as_ptr()));
        assert_is_checkpoint(&apart);
    }
}

#[test]
fn a_checksum_is_compared_when_the_tensor_is_asked_for() {
    let folder = Folder::new();
    let path = folder.join("value.st");
    let value = vec![Lazy::new(ramp(1000)).unwrap(), Lazy::new(ramp(2000)).unwrap()];
    save(&path, &value).unwrap();
    let mut message = fs::read(&path).unwrap();
    *message.last_mut().unwrap() ^= 1;
    fs::write(&path, &message).unwrap();
    let from_file: Vec<Lazy<Tensor>> = open(&path).unwrap().read().unwrap();
    let from_bytes: Vec<Lazy<Tensor>> = serde_tensor::from_bytes(message.clone().into()).unwrap();
    for lazy in [&from_file, &from_bytes] {
        assert_eq!(*lazy[0].get().unwrap(), ramp(1000));
        for _ in 0..2 {
            let error = lazy[1].get().unwrap_err();
            assert_eq!(error.category(), Category::Syntax);
            assert!(error.to_string().contains("checksum of segment 1"), "{error}");
        }
        // Nor is it written on as if it were right.
        assert!(serde_tensor::to_vec(lazy).is_err());
        assert!(save(folder.join("again.st"), lazy).is_err());
    }
    // What is copied is compared before.
    assert!(serde_tensor::from_slice::<Vec<Lazy<Tensor>>>(&message).is_err());
}

#[test]
fn an_error_of_a_tensor_that_is_asked_for_names_its_field() {
    let folder = Folder::new();
    let path = folder.join("value.st");
    save(&path, &checkpoint()).unwrap();
    let mut message = fs::read(&path).unwrap();
    message[LARGE / 2] ^= 1; // of the first of the weights
    fs::write(&path, &message).unwrap();
    let from_file: Checkpoint = open(&path).unwrap().read().unwrap();
    let from_bytes: Checkpoint = serde_tensor::from_bytes(message.into()).unwrap();
    for checkpoint in [from_file, from_bytes] {
        let error = checkpoint.weights["first"].get().unwrap_err();
        assert_eq!(error.path(), Some("Checkpoint.weights"), "{error}");
    }
}

#[test]
fn one_that_was_not_read_is_written_as_it_was() {
    let folder = Folder::new();
    let (path, again) = (folder.join("value.st"), folder.join("again.st"));
    save(&path, &checkpoint()).unwrap();
    let whole = fs::read(&path).unwrap();
    let fresh = || open(&path).unwrap().read::<Checkpoint>().unwrap();
    assert!(contains_tensor(&fresh()));
    save(&again, &fresh()).unwrap();
    assert_eq!(fs::read(&again).unwrap(), whole, "a rewritten file is the same");
    assert!(!fresh().weights["first"].is_loaded());
    assert_eq!(Plan::new(&fresh()).unwrap().copied(), 0);
    let loaded = fresh();
    loaded.weights["first"].get().unwrap();
    save(&path, &loaded).unwrap();
    assert_eq!(fs::read(&path).unwrap(), whole);
    assert_is_checkpoint(&serde_tensor::from_slice(&serde_tensor::to_vec(&fresh()).unwrap()).unwrap());
    let shared: Checkpoint = serde_tensor::from_bytes(whole.clone().into()).unwrap();
    save(&path, &shared).unwrap();
    assert_eq!(fs::read(&path).unwrap(), whole);
}

#[test]
fn it_is_a_tensor_under_other_formats_too() {
    let value = vec![Lazy::new(ramp(3)).unwrap(), Lazy::new(ramp(600)).unwrap()];
    let folder = Folder::new();
    save(folder.join("value.st"), &value).unwrap();
    let unread: Vec<Lazy<Tensor>> = open(folder.join("value.st")).unwrap().read().unwrap();
    let eager = vec![ramp(3), ramp(600)];
    let json = serde_json::to_string(&eager).unwrap();
    assert_eq!(serde_json::to_string(&unread).unwrap(), json);
    assert_eq!(serde_json::to_string(&value).unwrap(), json);
    let postcard = postcard::to_stdvec(&eager).unwrap();
    assert_eq!(postcard::to_stdvec(&unread).unwrap(), postcard);
    for read in [
        serde_json::from_str::<Vec<Lazy<Tensor>>>(&json).unwrap(),
        postcard::from_bytes(&postcard).unwrap(),
        rmp_serde::from_slice(&rmp_serde::to_vec(&eager).unwrap()).unwrap(),
    ] {
        assert_eq!(read[0].shape(), [3]);
        assert!(
            read.iter()
                .zip(&eager)
                .all(|(lazy, eager)| lazy.get().unwrap() == eager)
        );
    }
    assert!(serde_json::from_str::<Lazy<Tensor>>("{\"dtype\":\"u8\",\"shape\":[2],\"data\":\"AQ==\"}").is_err());
    assert!(serde_tensor::from_slice::<Lazy<Tensor>>(&[0xc4, 2, 1, 0]).is_err());
    assert!(serde_tensor::from_slice::<Lazy<Tensor>>(&[1]).is_err());
}

#[test]
fn it_passes_through_what_serde_buffers() {
    #[derive(TensorSerialize, TensorDeserialize)]
    #[serde(untagged)]
    enum Either {
        Pair {
            #[tensor]
            left: Lazy<Tensor>,
            right: u8,
        },
        One {
            #[tensor]
            left: Lazy<Tensor>,
        },
    }
    #[derive(TensorSerialize, TensorDeserialize)]
    struct Outer {
        #[tensor]
        #[serde(flatten)]
        either: Either,
        #[tensor]
        list: Vec<Either>,
    }
    let folder = Folder::new();
    let path = folder.join("value.st");
    let one = |len| Either::One {
        left: Lazy::new(ramp(len)).unwrap(),
    };
    let pair = |len| Either::Pair {
        left: Lazy::new(ramp(len)).unwrap(),
        right: 1,
    };
    save(
        &path,
        &Outer {
            either: one(600),
            list: vec![pair(700), one(800), one(2)],
        },
    )
    .unwrap();
    let read: Outer = open(&path).unwrap().read().unwrap();
    let lens = [&read.either, &read.list[0], &read.list[1], &read.list[2]].map(|either| match either {
        Either::Pair { left, right } => left.get().unwrap().len() * usize::from(*right),
        Either::One { left } => left.get().unwrap().len(),
    });
    assert_eq!(lens, [600, 700, 800, 2]);
}

#[test]
fn names_for_one_segment_stay_tied_when_they_are_written_on() {
    let folder = Folder::new();
    let path = folder.join("value.st");
    let whole = ramp(5000);
    let part = Tensor::from_bytes(DType::U8, &[1000], whole.shared_bytes().slice(500..1500)).unwrap();
    save(&path, &vec![whole.clone(), part.clone()]).unwrap();
    let first = fs::read(&path).unwrap();
    assert_eq!(inspect(&first).unwrap().segments(), Some(1));
    let lazy: Vec<Lazy<Tensor>> = open(&path).unwrap().read().unwrap();
    assert_eq!((lazy[0].load().unwrap(), lazy[1].load().unwrap()), (whole, part));
    save(folder.join("again.st"), &lazy).unwrap();
    assert_eq!(fs::read(folder.join("again.st")).unwrap(), first);
    let message = serde_tensor::to_vec(&lazy).unwrap();
    assert_eq!(inspect(&message).unwrap().segments(), Some(1));
    let shared: Vec<Lazy<Tensor>> = serde_tensor::from_bytes(first.into()).unwrap();
    assert_eq!(
        inspect(&serde_tensor::to_vec(&shared).unwrap()).unwrap().segments(),
        Some(1)
    );
}

#[derive(TensorSerialize, TensorDeserialize)]
struct Placed {
    #[tensor]
    free: Lazy<SimTensor<EightGpus>>,
    #[tensor(device = "keep_cpu")]
    kept: Lazy<SimTensor<EightGpus>>,
    #[tensor(device = "cuda:2")]
    fixed: Lazy<SimTensor<EightGpus>>,
}

#[test]
fn it_lands_where_the_field_and_the_call_said_and_the_guard_says() {
    let folder = Folder::new();
    let path = folder.join("value.st");
    let on_first = || Lazy::new(SimTensor::<EightGpus>::cuda(1, &[0.5; 200])).unwrap();
    let value = Placed {
        free: on_first(),
        kept: on_first(),
        fixed: on_first(),
    };
    let encoder = Encoder::new().device_copies(DeviceCopies::Allow);
    encoder.save(&path, &value).unwrap();

    let devices =
        |placed: &Placed| [&placed.free, &placed.kept, &placed.fixed].map(|lazy| lazy.load().unwrap().device());
    let read: Placed = open(&path).unwrap().read().unwrap();
    assert_eq!(read.free.device(), Device::Cuda(1));
    assert_eq!(devices(&read), [Device::Cuda(1), Device::Cpu, Device::Cuda(2)]);
    {
        let _guard = DeviceGuard::enter(Device::Cuda(5));
        assert_eq!(devices(&read), [Device::Cuda(5), Device::Cpu, Device::Cuda(2)]);
    }
    let decoder = Decoder::new()
        .placement(Placement::On(Device::Cuda(6)))
        .map_device(Device::Cuda(6), Device::Cuda(7));
    let read: Placed = decoder.open(&path).unwrap().read().unwrap();
    assert_eq!(devices(&read), [Device::Cuda(7); 3]);

    // Its bytes are in the file, so none is copied off a device to write it on; where it was recorded to be stays.
    let read: Placed = open(&path).unwrap().read().unwrap();
    let deny = Encoder::new().device_copies(DeviceCopies::Deny);
    deny.save(&path, &read).unwrap();
    let read: Placed = open(&path).unwrap().read().unwrap();
    assert_eq!(read.free.device(), Device::Cuda(1));
    assert_eq!(read.free.get().unwrap().values(), [0.5; 200]);
    assert!(deny.to_vec(&read).is_err(), "now one of them is on a device");
}

#[test]
fn a_file_that_is_cut_off_is_an_error_of_the_tensor_that_is_asked_for() {
    let folder = Folder::new();
    let path = folder.join("value.st");
    save(&path, &checkpoint()).unwrap();
    let read: Checkpoint = open(&path).unwrap().read().unwrap();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(100_000).unwrap();
    let error = read.weights["second"].get().unwrap_err();
    assert_eq!(error.category(), Category::Eof, "{error}");
    assert!(error.to_string().contains("cut off"), "{error}");
    assert_eq!(
        save(folder.join("again.st"), &read).unwrap_err().category(),
        Category::Eof
    );
    assert_eq!(
        *read.weights["small"].get().unwrap(),
        ramp(10),
        "that came with the body"
    );
}
