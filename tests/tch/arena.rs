//! Decoding from libtorch's own memory: read into it, or mapped.
//!
//! Without these a copy too many, memory that is never freed, or a borrow of memory that libtorch writes to would go unseen.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read};

use serde::de::Visitor;
use serde::{Deserialize, Deserializer};
use serde_tensor::tch::{Arena, StateDict, from_reader};
use serde_tensor::{
    Category, Decoder, Encoder, Limits, Plan, Tensor as HostTensor, TensorDeserialize, TensorSerialize, Transfer,
};
use tch::{Kind, Tensor};

use super::{Host, One, bytes, iota, one};

#[derive(Debug, TensorSerialize, TensorDeserialize)]
struct Mixed {
    name: String,
    #[tensor]
    weight: Tensor,
    #[tensor]
    small: Tensor,
    #[tensor]
    host: HostTensor,
    #[tensor]
    tied: HostTensor,
    #[tensor]
    numbers: Vec<f32>,
    #[tensor]
    more: Vec<Tensor>,
}

fn mixed() -> Mixed {
    let host = HostTensor::from_vec((0..500u16).collect(), &[500]).unwrap();
    Mixed {
        name: "mixed".to_owned(),
        weight: iota(&[40, 30]).transpose(0, 1),
        small: iota(&[3]),
        tied: host.clone(),
        host,
        numbers: vec![0.5; 400],
        more: vec![
            iota(&[200]).to_kind(Kind::Double),
            Tensor::ones([1000], (Kind::Bool, tch::Device::Cpu)),
        ],
    }
}

fn planned<T: TensorSerialize>(encoder: &Encoder, value: &T) -> Vec<u8> {
    let mut message = Vec::new();
    encoder.plan(value).unwrap().write_to(&mut message).unwrap();
    message
}

/// Where a tensor's bytes are.
fn address(tensor: &Tensor) -> usize {
    tensor.data_ptr().addr()
}

#[test]
fn tensors_are_views_of_the_memory_that_the_message_was_read_into() {
    for encoder in [
        Encoder::new(),
        Encoder::new().checksums(true),
        Encoder::new().align(4096),
    ] {
        for message in super::messages(&encoder, &mixed()) {
            let arena = Arena::read(message.as_slice()).unwrap();
            let (read, report) = Decoder::new().from_memory_with_report::<Mixed>(arena).unwrap();
            let sent = mixed();
            assert_eq!(
                (bytes(&read.weight), read.weight.stride()),
                (bytes(&sent.weight), vec![1, 30])
            );
            assert_eq!(bytes(&read.small), bytes(&sent.small));
            assert_eq!(
                (&read.name, &read.host, &read.numbers),
                (&sent.name, &sent.host, &sent.numbers)
            );
            assert_eq!(
                read.more.iter().map(bytes).collect::<Vec<_>>(),
                sent.more.iter().map(bytes).collect::<Vec<_>>()
            );
            let base = address(&read.weight).min(address(&read.more[0]));
            for tensor in read.more.iter().chain([&read.weight]) {
                assert!(address(tensor) - base < message.len(), "all lie in one piece of memory");
            }
            let how = |path| report.get(path).unwrap().transfer();
            for path in ["weight", "more[0]", "more[1]"] {
                assert_eq!(how(path), Transfer::Shared, "{path}");
            }
            for path in ["small", "host", "tied", "numbers"] {
                assert_eq!(how(path), Transfer::Copied, "{path}");
            }
            // Two names of a host tensor are one copy.
            assert_eq!(read.host.bytes().as_ptr(), read.tied.bytes().as_ptr());
        }
    }
}

#[test]
fn host_tensors_do_not_change_when_a_tensor_of_the_same_bytes_does() {
    #[derive(TensorSerialize)]
    struct Sent {
        #[tensor]
        a: Tensor,
        #[tensor]
        b: Tensor,
    }
    #[derive(TensorDeserialize)]
    struct Read {
        #[tensor]
        a: HostTensor,
        #[tensor]
        b: Tensor,
    }
    let a = iota(&[300]);
    let message = planned(
        &Encoder::new(),
        &Sent {
            b: a.shallow_clone(),
            a,
        },
    );
    let Read { a, mut b } = from_reader(message.as_slice()).unwrap();
    let _ = b.zero_();
    assert_eq!(a.elements::<f32>().unwrap()[299].to_bits(), 299.0f32.to_bits());
}

#[test]
fn a_reader_is_left_behind_the_frame() {
    let encoder = Encoder::new().framed(true);
    let [first, second] = [iota(&[300]), iota(&[2])].map(|x| encoder.to_vec(&one(x)).unwrap());
    let stream = [first, second, b"rest".to_vec()].concat();
    let mut reader = stream.as_slice();
    let read: One = Decoder::new().from_memory(Arena::read(&mut reader).unwrap()).unwrap();
    assert_eq!(bytes(&read.x), bytes(&iota(&[300])));
    let read: One = from_reader(&mut reader).unwrap();
    assert_eq!(bytes(&read.x), bytes(&iota(&[2])));
    assert_eq!(reader, b"rest");
}

/// Reads a few bytes at a time, with interruptions.
struct Slow<'a>(&'a [u8], usize);

impl Read for Slow<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.1 += 1;
        if self.1.is_multiple_of(3) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let len = out.len().min(self.0.len()).min(1 + self.1 % 700);
        out[..len].copy_from_slice(&self.0[..len]);
        self.0 = &self.0[len..];
        Ok(len)
    }
}

#[test]
fn memory_grows_as_bytes_arrive_and_never_on_a_frames_word() {
    let message = serde_tensor::to_vec(&one(iota(&[300_000]))).unwrap();
    let limits = Limits::new().reserve(100);
    let arena = Arena::read_within(Slow(&message, 0), &limits).unwrap();
    let read: One = Decoder::new().from_memory(arena).unwrap();
    assert_eq!(bytes(&read.x), bytes(&iota(&[300_000])));

    // 16 TiB, says the header.
    let mut lying = message[..4096].to_vec();
    lying[8..16].copy_from_slice(&(1u64 << 44).to_le_bytes());
    let error = Arena::read(lying.as_slice()).unwrap_err();
    assert_eq!(error.category(), Category::Eof, "{error}");
    let error = Arena::read_within(lying.as_slice(), &Limits::new().message(1 << 20)).unwrap_err();
    assert_eq!(error.category(), Category::Limit, "{error}");
}

#[test]
fn plain_messages_and_readers_without_one() {
    let message = serde_tensor::to_vec(&one(iota(&[3]))).unwrap();
    let read: One = from_reader(Slow(&message, 0)).unwrap();
    assert_eq!(bytes(&read.x), bytes(&iota(&[3])));
    let long = Encoder::new()
        .inline_limit(usize::MAX)
        .to_vec(&one(iota(&[100_000])))
        .unwrap();
    let read: One = from_reader(long.as_slice()).unwrap();
    assert_eq!(bytes(&read.x), bytes(&iota(&[100_000])));
    let limits = Limits::new().message(10);
    assert_eq!(
        Arena::read_within(message.as_slice(), &limits).unwrap_err().category(),
        Category::Limit
    );
    let frame = serde_tensor::to_vec(&one(iota(&[300]))).unwrap();
    for cut in [
        &[][..],
        &frame[..1],
        &frame[..63],
        &frame[..64],
        &frame[..frame.len() - 1],
    ] {
        assert_eq!(Arena::read(cut).unwrap_err().category(), Category::Eof);
    }
    let over = [message, vec![0]].concat();
    let error = from_reader::<_, One>(over.as_slice()).unwrap_err();
    let same = serde_tensor::from_slice::<One>(&over).unwrap_err();
    assert_eq!(error.to_string(), same.to_string());
}

/// What is wrong with a message is found as it is when it is decoded from a slice, and described in the same words.
#[test]
fn messages_are_checked_as_from_a_slice() {
    let agree = |message: &[u8]| {
        let error = from_reader::<_, Mixed>(message).unwrap_err();
        let same = serde_tensor::from_slice::<Mixed>(message).unwrap_err();
        assert_eq!(
            (error.to_string(), error.category()),
            (same.to_string(), same.category())
        );
        error
    };
    let message = planned(&Encoder::new().checksums(true), &mixed());
    let len = message.len();
    // The last segment is the bools' one.
    let mut wrong = message.clone();
    wrong[len - 1] ^= 1;
    assert!(agree(&wrong).to_string().contains("checksum"));
    let mut wrong = message.clone();
    wrong[70] ^= 1;
    assert!(agree(&wrong).to_string().contains("checksum"));

    let mut wrong = planned(&Encoder::new(), &mixed());
    let len = wrong.len();
    wrong[len - 7] = 2;
    assert!(agree(&wrong).to_string().contains("element 993 of a bool tensor is 2"));

    // Every byte of header, body and table wrong once: errors agree, or values do.
    let message = serde_tensor::to_vec(&one(iota(&[300]))).unwrap();
    for at in (0..64).chain(message.len() - 80..message.len()) {
        let mut wrong = message.clone();
        wrong[at] = wrong[at].wrapping_add(1);
        let ours = Arena::read(wrong.as_slice()).and_then(|arena| Decoder::new().from_memory::<One>(arena));
        match (ours, serde_tensor::from_slice::<One>(&wrong)) {
            (Ok(ours), Ok(theirs)) => assert_eq!((bytes(&ours.x), ours.x.size()), (bytes(&theirs.x), theirs.x.size())),
            (Err(_), Err(_)) => {}
            // A longer frame is more than there is, a shorter one leaves bytes behind.
            (Ok(_), Err(error)) => assert!(error.to_string().contains("left over"), "{at}: {error}"),
            (Err(error), Ok(_)) => panic!("{at}: {error}"),
        }
    }
}

#[test]
fn copies_are_limited_as_from_a_slice() {
    #[derive(TensorSerialize, TensorDeserialize)]
    struct Many {
        #[tensor]
        all: Vec<Tensor>,
    }
    #[derive(Debug, TensorDeserialize)]
    #[expect(dead_code, reason = "decoded for the error")]
    struct Numbers {
        #[tensor]
        all: Vec<Vec<f32>>,
    }
    let weight = iota(&[10_000]);
    let all = (0..100).map(|_| weight.shallow_clone()).collect();
    let message = planned(&Encoder::new(), &Many { all });
    let read: Many = from_reader(message.as_slice()).unwrap();
    assert!(read.all.iter().all(|tensor| address(tensor) == address(&read.all[0])));
    let error = from_reader::<_, Numbers>(message.as_slice()).unwrap_err();
    assert_eq!(error.category(), Category::Limit, "{error}");
    let detached = Decoder::new()
        .detach(true)
        .from_memory::<Many>(Arena::read(message.as_slice()).unwrap());
    assert_eq!(detached.map(|_| ()).unwrap_err().category(), Category::Limit);
}

#[test]
fn detach_gives_each_tensor_memory_of_its_own() {
    let message = planned(&Encoder::new(), &mixed());
    let arena = Arena::read(message.as_slice()).unwrap();
    let decoder = Decoder::new().detach(true);
    let (read, report) = decoder.from_memory_with_report::<Mixed>(arena).unwrap();
    assert!(report.iter().all(|row| row.transfer() == Transfer::Copied));
    assert_eq!(bytes(&read.weight), bytes(&mixed().weight));
    assert_ne!(read.host.bytes().as_ptr(), read.tied.bytes().as_ptr());
    for tensor in [&read.weight, &read.more[0]] {
        // Its storage begins with it and ends with it.
        assert_eq!(tensor.f_as_strided([1], [1], 0).unwrap().data_ptr(), tensor.data_ptr());
        let elements = i64::try_from(tensor.numel()).unwrap();
        assert!(tensor.f_as_strided([elements + 1], [1], 0).is_err());
    }
}

/// serde buffers these parts, and hands the tensors on without what this crate says of them beside.
#[test]
fn tensors_in_serdes_buffers_share_the_memory_too() {
    #[derive(TensorSerialize, TensorDeserialize)]
    struct Outer {
        #[serde(flatten)]
        #[tensor]
        inner: Two,
        #[tensor]
        either: Either,
    }
    #[derive(TensorSerialize, TensorDeserialize)]
    struct Two {
        #[tensor]
        a: Tensor,
        #[tensor]
        b: Tensor,
    }
    #[derive(TensorSerialize, TensorDeserialize)]
    #[serde(untagged)]
    enum Either {
        Number(u8),
        Tensor(#[tensor] Tensor),
    }
    let x = iota(&[300]);
    let value = Outer {
        inner: Two {
            a: x.shallow_clone(),
            b: x.narrow(0, 100, 200),
        },
        either: Either::Tensor(x),
    };
    let message = planned(&Encoder::new(), &value);
    let Outer { inner, either } = from_reader(message.as_slice()).unwrap();
    let Either::Tensor(mut third) = either else {
        panic!("a tensor was sent")
    };
    let _ = third.zero_();
    assert_eq!((inner.a.max(), inner.b.max()), (Tensor::from(0f32), Tensor::from(0f32)));
}

/// A tensor as whoever takes anything sees it: a newtype of two byte strings.
#[derive(Debug, PartialEq)]
struct Parts(serde_bytes::ByteBuf, serde_bytes::ByteBuf);

impl<'de> Deserialize<'de> for Parts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Anything;
        impl<'de> Visitor<'de> for Anything {
            type Value = Parts;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a newtype")
            }

            fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Parts, D::Error> {
                let (fields, data) = Deserialize::deserialize(deserializer)?;
                Ok(Parts(fields, data))
            }
        }
        deserializer.deserialize_any(Anything)
    }
}

/// Whoever is not a tensor type sees the bytes, not where they are.
#[test]
fn other_types_read_the_tensors_bytes() {
    #[derive(TensorSerialize)]
    struct Sent {
        #[tensor]
        floats: Tensor,
        #[tensor]
        bytes: Tensor,
        #[tensor]
        any: Tensor,
        #[tensor]
        skipped: Tensor,
    }
    #[derive(Deserialize)]
    struct Read {
        floats: Vec<f32>,
        bytes: serde_bytes::ByteBuf,
        any: Parts,
    }
    let floats = iota(&[300]);
    let value = Sent {
        bytes: floats.view_dtype(Kind::Uint8),
        any: iota(&[200]),
        skipped: iota(&[200]),
        floats,
    };
    let message = planned(&Encoder::new(), &value);
    let read: Read = from_reader(message.as_slice()).unwrap();
    let same: Read = serde_tensor::from_slice(&message).unwrap();
    assert_eq!(
        (&read.floats, &read.bytes, &read.any),
        (&same.floats, &same.bytes, &same.any)
    );
    assert_eq!(read.floats[299].to_bits(), 299f32.to_bits());
    assert_eq!(read.bytes.as_ref(), bytes(&iota(&[300])));
}

#[test]
fn leaves_train_and_do_not_disturb_each_other() {
    let message = planned(
        &Encoder::new(),
        &Mixed {
            more: vec![
                iota(&[300]).set_requires_grad(true),
                iota(&[300]).set_requires_grad(true),
            ],
            ..mixed()
        },
    );
    let mut read: Mixed = from_reader(message.as_slice()).unwrap();
    let loss = read.more[0].square().sum(Kind::Float);
    tch::no_grad(|| read.more[1] += 1.0);
    let _ = read.weight.zero_();
    loss.f_backward().unwrap();
    assert_eq!(read.more[0].grad().max(), Tensor::from(598f32));
    assert_eq!(read.more[1].min(), Tensor::from(1f32));
}

/// All of a large arena's memory is given back, but not while a tensor shows a part of it.
#[test]
#[cfg(target_os = "linux")]
fn memory_is_freed_with_the_last_tensor() {
    fn resident() -> usize {
        let status = std::fs::read_to_string("/proc/self/statm").unwrap();
        let pages: usize = status.split(' ').nth(1).unwrap().parse().unwrap();
        pages * 4096
    }
    const LEN: i32 = 256 << 20;
    let half = usize::try_from(LEN / 2).unwrap();
    let value: StateDict = [
        ("large", Tensor::ones([i64::from(LEN)], (Kind::Uint8, tch::Device::Cpu))),
        ("x", iota(&[300])),
    ]
    .into_iter()
    .collect();
    let message = serde_tensor::to_vec(&value).unwrap();
    let read: StateDict = from_reader(message.as_slice()).unwrap();
    drop((message, value));
    let mut tensors: BTreeMap<String, Tensor> = read.into_iter().collect();
    let small = tensors.remove("x").unwrap();
    let all = resident();
    drop(tensors);
    assert!(resident() + half > all, "the other one needs it");
    assert_eq!(bytes(&small), bytes(&iota(&[300])));
    drop(small);
    assert!(resident() + half < all, "nobody needs it any more");
}

#[test]
#[expect(unsafe_code, reason = "the file is this test's own")]
fn a_mapped_file_is_not_changed_by_training() {
    let path = std::env::temp_dir().join(format!("serde-tensor-mapped-{}", std::process::id()));
    let value = Mixed {
        more: vec![iota(&[5000]).set_requires_grad(true), iota(&[70])],
        ..mixed()
    };
    let message = planned(&Encoder::new().checksums(true), &value);
    std::fs::write(&path, &message).unwrap();
    let file = std::fs::File::open(&path).unwrap();
    // SAFETY: nobody else knows the file.
    let map = || unsafe { Arena::map(&file) };
    let (mut read, report) = Decoder::new().from_memory_with_report::<Mixed>(map().unwrap()).unwrap();
    assert_eq!(report.get("more[0]").unwrap().transfer(), Transfer::Shared);
    read.more[0].square().sum(Kind::Float).backward();
    let step = read.more[0].grad();
    tch::no_grad(|| read.more[0] -= step);
    let _ = read.weight.zero_();
    assert_eq!(
        (read.more[0].max(), read.weight.max()),
        (Tensor::from(0f32), Tensor::from(0f32))
    );
    assert_eq!(std::fs::read(&path).unwrap(), message);
    let again: Mixed = Decoder::new().from_memory(map().unwrap()).unwrap();
    assert_eq!(
        (bytes(&again.weight), bytes(&again.more[0])),
        (bytes(&value.weight), bytes(&value.more[0]))
    );

    // The map cannot grow, so libtorch gives the tensor sizes without memory.
    let Mixed { mut weight, .. } = again;
    assert!(weight.f_resize_([100_000_000]).is_err());
    let error = super::send_error(weight);
    assert!(error.to_string().contains("storage"), "{error}");

    // More than a message, less than one, and none.
    std::fs::write(&path, [message.as_slice(), &[0]].concat()).unwrap();
    let error = Decoder::new().from_memory::<Mixed>(map().unwrap()).unwrap_err();
    assert!(error.to_string().contains("left over"), "{error}");
    std::fs::write(&path, &message[..message.len() - 1]).unwrap();
    let error = Decoder::new().from_memory::<Mixed>(map().unwrap()).unwrap_err();
    assert_eq!(error.category(), Category::Eof);
    std::fs::write(&path, []).unwrap();
    assert_eq!(map().unwrap_err().category(), Category::Eof);
    std::fs::remove_file(&path).unwrap();
}

/// The crate's own tensors alone: they are copied, and nothing keeps libtorch's memory.
#[test]
fn host_tensors_alone_come_out_of_libtorchs_memory() {
    let message = serde_tensor::to_vec(&one(iota(&[300]))).unwrap();
    let read: Host = from_reader(message.as_slice()).unwrap();
    assert_eq!(read.x.bytes(), bytes(&iota(&[300])));
    let strided = serde_tensor::to_vec(&one(iota(&[30, 20]).transpose(0, 1))).unwrap();
    let read: Host = from_reader(strided.as_slice()).unwrap();
    assert_eq!(read.x.bytes(), bytes(&iota(&[30, 20]).transpose(0, 1)));
    assert!(Plan::new(&one(iota(&[3]))).is_ok());
}
