//! What is allocated, counted in a binary of its own.
//!
//! Without these every other test would still pass if a hostile length reserved a terabyte that is never touched, if `from_reader`
//! took a header's word for its length, or if sending a value doubled the memory it takes.

#[path = "common/heap.rs"]
#[expect(dead_code, reason = "another binary uses the rest")]
mod heap;

use std::collections::BTreeMap;
use std::io::{self, Write};

use bytes::Bytes;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_tensor::backend::{Description, HostBytes, Import, Imported, TensorBackend};
use serde_tensor::{
    Category, DType, Decoder, Device, DeviceCopies, Encoder, Limits, Plan, Tensor, TensorDeserialize, TensorSerialize,
    TensorView, inspect,
};

#[global_allocator]
static ALLOCATOR: heap::Counting = heap::Counting;

/// Runs `body` on this thread: its result, and by how many bytes the heap grew at most.
fn peak<R>(body: impl FnOnce() -> R) -> (R, usize) {
    let (result, heap) = heap::watch(body);
    (result, heap.peak)
}

fn ramp(len: usize) -> Tensor {
    let bytes: Vec<u8> = (0..251).cycle().take(len).collect();
    Tensor::from_bytes(DType::U8, &[len], bytes).unwrap()
}

/// Reads hostile bytes as a type: an error, and no more memory than `bound`.
#[track_caller]
fn refused_within<T: DeserializeOwned>(bytes: &[u8], bound: usize) {
    let owned = Bytes::copy_from_slice(bytes);
    let (errors, heap) = heap::watch(|| {
        [
            serde_tensor::from_slice::<T>(bytes).err(),
            serde_tensor::from_bytes::<T>(owned).err(),
            serde_tensor::from_reader::<_, T>(bytes).err(),
        ]
    });
    assert!(errors.iter().all(Option::is_some), "it was accepted");
    assert!(heap.peak <= bound, "{} bytes for {} of input", heap.peak, bytes.len());
    assert!(heap.largest <= bound, "{} bytes were asked for", heap.largest);
}

#[derive(TensorDeserialize)]
#[expect(dead_code, reason = "read only")]
struct Fields {
    #[tensor]
    tensor: Option<Tensor>,
    #[tensor]
    bulk: Option<Vec<f64>>,
    text: Option<String>,
}

#[derive(TensorDeserialize)]
#[serde(untagged)]
#[expect(dead_code, reason = "read only")]
enum Untagged {
    Tensor(#[tensor] Tensor),
    Bulk(#[tensor] Vec<f64>),
    List(Vec<IgnoredAny>),
    Map(BTreeMap<String, IgnoredAny>),
}

/// F9.
#[test]
fn a_length_prefix_allocates_nothing_that_the_input_does_not_justify() {
    let longest = u32::MAX.to_be_bytes();
    for marker in [0xc6u8, 0xc9, 0xdb, 0xdd, 0xdf] {
        for tail in [&[][..], &[0x54, 0x00], &[0xc0; 32]] {
            let bytes = [&[marker][..], &longest, tail].concat();
            let field = [&[0x81][..], b"\xa4bulk", &bytes].concat();
            for bytes in [bytes, field] {
                let bound = 4096;
                refused_within::<Vec<()>>(&bytes, bound);
                refused_within::<Vec<u64>>(&bytes, bound);
                refused_within::<Vec<[u64; 32]>>(&bytes, bound);
                refused_within::<String>(&bytes, bound);
                refused_within::<serde_bytes::ByteBuf>(&bytes, bound);
                refused_within::<BTreeMap<u8, ()>>(&bytes, bound);
                refused_within::<std::collections::HashMap<u8, [u64; 32]>>(&bytes, bound);
                refused_within::<Tensor>(&bytes, bound);
                refused_within::<Fields>(&bytes, bound);
                refused_within::<Untagged>(&bytes, bound);
                refused_within::<serde_json::Value>(&bytes, bound);
                refused_within::<IgnoredAny>(&bytes, bound);
            }
        }
    }
}

/// F9, T9.
#[test]
fn a_shape_allocates_nothing_that_its_data_does_not_justify() {
    let tensor = |fields: &[u8]| [&[0xc7, u8::try_from(fields.len()).unwrap(), 0x54], fields].concat();
    for bytes in [
        // f64 of [2^35], of [2^35, 2^20], of a rank of 63 with dims cut off, of four dims and strides.
        tensor(&[0, 2, 64, 0, 1, 0, 1, 0x80, 0x80, 0x80, 0x80, 0x80, 1, 9]),
        tensor(&[
            0, 2, 64, 0, 1, 0, 2, 0x80, 0x80, 0x80, 0x80, 0x80, 1, 0x80, 0x80, 0x40, 9,
        ]),
        tensor(&[0, 2, 64, 0, 1, 0, 63, 1]),
        tensor(&[0, 1, 8, 2, 1, 0, 1, 0x80, 0x80, 0x80, 0x80, 0x80, 1, 0, 1, 2, 3, 4]),
        tensor(&[
            0, 2, 64, 0, 1, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1,
        ]),
    ] {
        refused_within::<Tensor>(&bytes, 8192);
        refused_within::<Untagged>(&bytes, 8192);
        let field = [&[0x81][..], b"\xa4bulk", &bytes].concat();
        refused_within::<Fields>(&field, 8192);
    }
}

/// F9.
#[test]
fn a_frames_header_allocates_nothing_that_its_bytes_do_not_justify() {
    let frame = Encoder::new().inline_limit(0).to_vec(&ramp(100)).unwrap();
    let set = |fields: &[(usize, u64)]| {
        let mut frame = frame.clone();
        for &(at, value) in fields {
            frame[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        frame
    };
    let huge = 1u64 << 40;
    for hostile in [
        set(&[(8, huge)]),
        set(&[(8, huge), (24, huge - 1000)]),
        set(&[(8, huge), (56, huge - 1000)]),
        set(&[(40, u64::from(u32::MAX))]),
        set(&[(8, u64::MAX), (40, u64::from(u32::MAX))]),
    ] {
        let (results, peak) = peak(|| {
            (
                serde_tensor::from_slice::<Tensor>(&hostile).is_err(),
                inspect(&hostile).is_err(),
            )
        });
        assert_eq!(results, (true, true));
        assert!(peak < 4096, "{peak}");
    }
}

/// DESIGN 7: a claimed length is reserved, untouched, up to `Limits::reserve`; beyond it memory grows with what arrives.
#[test]
fn a_reader_reserves_no_more_than_the_limit_of_what_a_header_claims() {
    let mut claims = Encoder::new().inline_limit(0).to_vec(&ramp(100)).unwrap();
    claims[8..16].copy_from_slice(&(1u64 << 50).to_le_bytes());
    for reserve in [0, 1000, 1 << 20] {
        let decoder = Decoder::new().limits(Limits::new().reserve(reserve));
        let (result, peak) = peak(|| decoder.from_reader::<_, Tensor>(claims.as_slice()));
        assert_eq!(result.unwrap_err().category(), Category::Eof);
        assert!(
            peak >= reserve && peak <= reserve + 8192,
            "{peak} for a limit of {reserve}"
        );
    }
    let frame = serde_tensor::to_vec(&ramp(1 << 20)).unwrap();
    let (read, exact) = peak(|| serde_tensor::from_reader::<_, Tensor>(frame.as_slice()).unwrap());
    assert_eq!(read, ramp(1 << 20));
    assert!(
        exact <= frame.len() + 8192,
        "an honest frame is read into one buffer: {exact}"
    );
    let decoder = Decoder::new().limits(Limits::new().reserve(0));
    let (_, grown) = peak(|| decoder.from_reader::<_, Tensor>(frame.as_slice()).unwrap());
    assert!(grown <= 4 * frame.len(), "{grown}");
}

/// F9: each of many small parts is justified by itself; all of them together are, too.
#[test]
fn many_names_for_one_segment_do_not_multiply_it() {
    // A frame whose body names its one segment a thousand times, each time another part of it.
    let tensor = ramp(10_000);
    let part = |start: usize| {
        let bytes = tensor.shared_bytes().slice(start..start + 9000);
        Tensor::from_bytes(DType::U8, &[9000], bytes).unwrap()
    };
    let parts: Vec<Tensor> = (0..1000).map(part).collect();
    let mut message = Vec::new();
    Plan::new(&parts).unwrap().write_to(&mut message).unwrap();
    assert!(message.len() < 40_000, "{}", message.len());
    let (read, peak) = peak(|| serde_tensor::from_slice::<Vec<Tensor>>(&message).unwrap());
    assert_eq!(read, parts);
    assert!(peak < 10 * message.len(), "{peak} bytes for {} of input", message.len());
}

/// F9: strided ones cannot share, so there is a limit to how often one segment can be compacted.
#[test]
fn many_strided_names_for_one_segment_do_not_multiply_it_beyond_a_limit() {
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
    let shared = Bytes::from(frame);
    let (result, peak) = peak(|| serde_tensor::from_bytes::<Vec<Tensor>>(shared.clone()));
    assert_eq!(result.unwrap_err().category(), Category::Limit);
    assert!(peak < 20 * shared.len(), "{peak} bytes for {} of input", shared.len());
    let decoder = Decoder::new().limits(Limits::new().copies(1000));
    let read: Vec<Tensor> = decoder.from_bytes(shared).unwrap();
    assert_eq!(read.len(), 1000);
}

/// Names of tensors are made of the message's own keys, which all tensors of a map share.
#[test]
fn names_of_many_tensors_do_not_multiply_the_keys_above_them() {
    let mut message = Vec::new();
    for _ in 0..60 {
        message.extend_from_slice(&[0x81, 0xd9, 64]);
        message.extend_from_slice(&[b'k'; 64]);
    }
    message.extend_from_slice(&[0xdc, 0x4e, 0x20]);
    let empty = serde_tensor::to_vec(&Tensor::zeros(DType::U8, &[0]).unwrap()).unwrap();
    (0..0x4e20).for_each(|_| message.extend_from_slice(&empty));
    let (found, peak) = peak(|| inspect(&message).unwrap());
    assert_eq!(found.tensors().len(), 0x4e20);
    assert!(peak < 60 * message.len(), "{peak} bytes for {} of input", message.len());
    let last = found.tensors().last().unwrap().path();
    assert_eq!(last.len(), 60 * 65 - 1 + "[19999]".len());

    // One key that is longer than all else.
    let mut message = vec![0x81, 0xdb, 0, 4, 0, 0];
    message.extend_from_slice(&vec![b'k'; 0x40000]);
    message.extend_from_slice(&[0xdc, 0x4e, 0x20]);
    (0..0x4e20).for_each(|_| message.extend_from_slice(&empty));
    let (report, peak) = self::peak(|| {
        let decoder = Decoder::new();
        let (_, report) = decoder
            .from_slice_with_report::<BTreeMap<String, Vec<Tensor>>>(&message)
            .unwrap();
        report
    });
    assert_eq!(report.len(), 0x4e20);
    assert!(peak < 40 * message.len(), "{peak} bytes for {} of input", message.len());
}

#[test]
fn decoding_into_views_allocates_no_tensor() {
    let value = vec![ramp(1 << 20), ramp(1 << 20)];
    let message = serde_tensor::to_vec(&value).unwrap();
    let (read, views) = peak(|| serde_tensor::from_slice::<Vec<TensorView<'_>>>(&message).unwrap());
    assert_eq!(read, value);
    assert!(views < 8192, "{views}");
    let shared = Bytes::from(message);
    let (_, tensors) = peak(|| serde_tensor::from_bytes::<Vec<Tensor>>(shared.clone()).unwrap());
    assert!(tensors < 8192, "{tensors}");
}

/// Takes bytes and keeps none.
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

/// A tensor on a device, which is copied to the host in pieces.
struct OnDevice(Tensor);

impl TensorBackend for OnDevice {
    fn describe(&self) -> serde_tensor::Result<Description<'_>> {
        Ok(Description::new(self.0.dtype(), self.0.shape()).device(Device::Cuda(0)))
    }

    fn host_bytes(&self) -> serde_tensor::Result<HostBytes<'_>> {
        Ok(HostBytes::copied(|sink| {
            self.0.bytes().chunks(4096).try_for_each(|piece| {
                // As a staging buffer would hold it.
                let staged = Box::<[u8]>::from(piece);
                sink(&staged)
            })
        }))
    }

    fn import(import: Import<'_>) -> serde_tensor::Result<Imported<Self>> {
        let bytes = import.bytes().to_vec();
        Ok(Imported::copied(Self(Tensor::from_bytes(
            import.dtype(),
            import.shape(),
            bytes,
        )?)))
    }
}

serde_tensor::impl_tensor!(OnDevice);

/// T10.
#[test]
fn the_memory_that_sending_a_plan_takes_does_not_grow_with_the_tensors() {
    #[derive(TensorSerialize)]
    struct Sent<'a> {
        #[tensor]
        host: Vec<Tensor>,
        #[tensor]
        bulk: &'a [f32],
        #[tensor]
        device: OnDevice,
    }
    let mut peaks = Vec::new();
    for len in [10_000, 100_000, 1_000_000] {
        let bulk = vec![0.5f32; len];
        let value = Sent {
            host: vec![ramp(len), ramp(len)],
            bulk: &bulk,
            device: OnDevice(ramp(len)),
        };
        for checksums in [false, true] {
            let encoder = Encoder::new().checksums(checksums).device_copies(DeviceCopies::Allow);
            let mut counter = Counter(0);
            let ((), peak) = peak(|| encoder.plan(&value).unwrap().write_to(&mut counter).unwrap());
            assert!(counter.0 > 7 * len);
            peaks.push(peak);
        }
    }
    assert!(peaks.iter().all(|&peak| peak < 32_768), "{peaks:?}");
}

#[test]
fn a_single_pass_takes_little_more_than_the_message() {
    let value = vec![ramp(1 << 20), ramp(1 << 20), ramp(1 << 20), ramp(1 << 20)];
    let mut buffer = Vec::with_capacity(5 << 20);
    let ((), peak) = peak(|| Encoder::new().to_vec_into(&value, &mut buffer).unwrap());
    assert!(
        peak < 8192,
        "into a buffer that is large enough nothing is added: {peak}"
    );
}

/// Any bytes at all, in any type that is read: no more than a small multiple of the input.
#[test]
fn arbitrary_bytes_allocate_no_more_than_a_small_multiple_of_themselves() {
    #[derive(Serialize, Deserialize)]
    struct Plain {
        a: Vec<u32>,
        b: BTreeMap<String, Option<Vec<u16>>>,
    }
    let plain = Plain {
        a: (0..50).collect(),
        b: BTreeMap::from([("k".into(), Some(vec![1, 2, 3])), ("l".into(), None)]),
    };
    let seeds = [
        serde_tensor::to_vec(&plain).unwrap(),
        serde_tensor::to_vec(&vec![ramp(100), ramp(600)]).unwrap(),
        Encoder::new()
            .inline_limit(0)
            .align(16)
            .to_vec(&(1, ramp(50), ramp(60), "text"))
            .unwrap(),
        rmp_serde::to_vec_named(&vec![ramp(100), ramp(30)]).unwrap(),
    ];
    // A fixed pseudo-random sequence (the generator of Knuth's MMIX), so that a failure can be repeated.
    let mut state = 1u64;
    let mut random = move |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    for _ in 0..20_000 {
        let mut bytes = match random(3) {
            0 => (0..random(64)).map(|_| u8::try_from(random(256)).unwrap()).collect(),
            _ => seeds[random(seeds.len())].clone(),
        };
        for _ in 0..random(8) {
            let Some(last) = bytes.len().checked_sub(1) else { break };
            let at = random(last + 1);
            bytes[at] = [
                0xc1,
                0xc6,
                0xc9,
                0xdb,
                0xdd,
                0xdf,
                0x54,
                0x53,
                0x00,
                0x80,
                0xff,
                u8::try_from(random(256)).unwrap(),
            ][random(12)];
        }
        let shared = Bytes::from(bytes.clone());
        // Twelve reads of types whose elements take up to a hundred bytes for one byte of input.
        let bound = 4096 + 200 * bytes.len();
        let ((), peak) = peak(|| {
            let _ = serde_tensor::from_slice::<Plain>(&bytes);
            let _ = serde_tensor::from_slice::<Vec<Tensor>>(&bytes);
            let _ = serde_tensor::from_bytes::<Vec<Tensor>>(shared);
            let _ = serde_tensor::from_slice::<(u8, Tensor, TensorView<'_>, &str)>(&bytes);
            let _ = serde_tensor::from_slice::<Fields>(&bytes);
            let _ = serde_tensor::from_slice::<Untagged>(&bytes);
            let _ = serde_tensor::from_slice::<serde_json::Value>(&bytes);
            let _ = serde_tensor::from_slice::<Vec<()>>(&bytes);
            let _ = inspect(&bytes);
        });
        assert!(peak <= bound, "{peak} bytes for {} of input: {bytes:x?}", bytes.len());
        let decoder = Decoder::new().limits(Limits::new().reserve(1000));
        let (_, peak) = crate::peak(|| decoder.from_reader::<_, Vec<Tensor>>(bytes.as_slice()));
        assert!(
            peak <= bound + 70_000,
            "{peak} bytes for {} read: {bytes:x?}",
            bytes.len()
        );
    }
}
