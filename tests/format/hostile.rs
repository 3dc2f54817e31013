//! Bytes nobody wrote: cut, flipped, invented. Nothing may panic, and nothing may be taken for what it is not.
//!
//! Without these one indexing slip is a crash of whoever listens on a socket. What hostile bytes may allocate is in
//! `tests/memory.rs`.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_tensor::{Category, DType, Decoder, Encoder, Ext, Tensor, TensorDeserialize, TensorView, inspect};

use crate::{Action, Rollout, ramp};

/// A type through which everything that serde buffers is read.
#[derive(TensorDeserialize)]
#[serde(untagged)]
#[expect(dead_code, reason = "read only")]
enum Anything {
    Tensor(#[tensor] Tensor),
    Bulk(#[tensor] Vec<f32>),
    Number(f64),
    Text(String),
    Flag(bool),
    List(#[tensor] Vec<Anything>),
    Entries(#[tensor] BTreeMap<String, Anything>),
    Nothing,
}

/// Reads the bytes in every way there is; says whether the derived type took them.
fn read_all_ways(bytes: &[u8]) -> serde_tensor::Result<Rollout> {
    let _ = serde_tensor::from_slice::<IgnoredAny>(bytes);
    let _ = serde_tensor::from_slice::<Anything>(bytes);
    let _ = serde_tensor::from_slice::<serde_json::Value>(bytes);
    let _ = serde_tensor::from_slice::<Option<Option<TensorView<'_>>>>(bytes);
    let _ = serde_tensor::from_slice::<Ext<'_>>(bytes);
    let _ = serde_tensor::from_slice::<(u8, Vec<Action>)>(bytes);
    let _ = inspect(bytes).map(|found| found.tensors().len());
    let _ = Decoder::new().take_from_slice::<Rollout>(bytes);
    let slice = serde_tensor::from_slice::<Rollout>(bytes);
    let shared = serde_tensor::from_bytes::<Rollout>(Bytes::copy_from_slice(bytes));
    let streamed = serde_tensor::from_reader::<_, Rollout>(bytes);
    assert_eq!(slice.is_ok(), shared.is_ok());
    if let (Ok(slice), Ok(streamed)) = (&slice, streamed) {
        assert_eq!(*slice, streamed);
    }
    slice
}

/// The sample in every layout, made small so that every byte of it can be tried.
fn messages() -> Vec<Vec<u8>> {
    let value = Rollout {
        large: ramp(70),
        hidden: Some(vec![Tensor::scalar(7i64), ramp(33), ramp(0)]),
        ..Rollout::sample()
    };
    let mut messages = Vec::new();
    for encoder in [
        Encoder::new(),
        Encoder::new().compact(true),
        Encoder::new().inline_limit(16).align(16),
        Encoder::new().inline_limit(16).align(16).compact(true).checksums(true),
    ] {
        messages.push(encoder.to_vec(&value).unwrap());
        let mut planned = Vec::new();
        encoder.plan(&value).unwrap().write_to(&mut planned).unwrap();
        messages.push(planned);
    }
    messages
}

#[test]
fn a_message_cut_at_any_byte_is_an_error() {
    for message in messages() {
        read_all_ways(&message).unwrap();
        for cut in 0..message.len() {
            let error = read_all_ways(&message[..cut]).unwrap_err();
            assert_eq!(error.category(), Category::Eof, "cut at {cut}: {error}");
        }
    }
}

#[test]
fn flipped_bits_and_other_bytes_never_panic() {
    for message in messages() {
        for at in 0..message.len() {
            let mut changed = message.clone();
            // Three of the eight, others at each byte.
            for bit in [at, at + 3, at + 6] {
                changed[at] = message[at] ^ (1 << (bit % 8));
                let _ = read_all_ways(&changed);
            }
            for byte in [0x00, 0x7f, 0x80, 0xc0, 0xc1, 0xc7, 0xdd, 0xdf, 0xff] {
                changed[at] = byte;
                let _ = read_all_ways(&changed);
            }
        }
    }
}

#[test]
fn bytes_cut_out_or_put_in_never_panic() {
    for message in messages() {
        for at in 0..message.len() {
            let shorter = [&message[..at], &message[at + 1..]].concat();
            let _ = read_all_ways(&shorter);
            let longer = [&message[..at], &[0xff], &message[at..]].concat();
            let _ = read_all_ways(&longer);
        }
    }
}

#[test]
fn every_start_of_a_message_is_answered() {
    for first in 0..=255u8 {
        let _ = read_all_ways(&[first]);
        for second in 0..=255u8 {
            let _ = read_all_ways(&[first, second]);
            let _ = read_all_ways(&[first, second, 0xff, 0xff, 0xff, 0xff, 0x01, 0x02]);
        }
    }
}

/// An ext 0x54 with this payload.
fn tensor_of(payload: &[u8]) -> Vec<u8> {
    let len = u8::try_from(payload.len()).unwrap();
    [&[0xc7, len, 0x54], payload].concat()
}

fn varint(mut n: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while n > 127 {
        out.push((n % 128) as u8 | 128);
        n /= 128;
    }
    out.push((n % 128) as u8);
    out
}

#[test]
fn a_shape_that_its_data_does_not_fill_is_refused() {
    for (dims, category) in [
        (vec![5u64], Category::Data),
        (vec![3], Category::Data),
        (vec![2, 3], Category::Data),
        (vec![0], Category::Data),
        (vec![1 << 40, 1 << 40], Category::Limit),
        (vec![u64::MAX], Category::Limit),
        (vec![u64::MAX, u64::MAX, 0], Category::Data),
    ] {
        let mut payload = vec![0, 1, 8, 0, 1, 0];
        payload.extend(varint(dims.len() as u64));
        payload.extend(dims.iter().flat_map(|&dim| varint(dim)));
        payload.extend_from_slice(&[1, 2, 3, 4]);
        let message = tensor_of(&payload);
        for error in [
            serde_tensor::from_slice::<Tensor>(&message).unwrap_err(),
            serde_tensor::from_slice::<TensorView<'_>>(&message)
                .map(drop)
                .unwrap_err(),
        ] {
            assert_eq!(error.category(), category, "{dims:?}: {error}");
        }
    }
}

#[test]
fn strides_that_show_a_byte_twice_are_refused() {
    for (dims, strides) in [
        (vec![4u64], vec![0u64]),
        (vec![1 << 40], vec![0]),
        (vec![2, 2], vec![1, 1]),
        (vec![3, 2], vec![1, 2]),
        (vec![2], vec![u64::MAX]),
    ] {
        let mut payload = vec![0, 1, 8, 2, 1, 0];
        payload.extend(varint(dims.len() as u64));
        payload.extend(dims.iter().chain(&strides).flat_map(|&n| varint(n)));
        payload.extend_from_slice(&[1, 2, 3, 4]);
        let error = serde_tensor::from_slice::<Tensor>(&tensor_of(&payload)).unwrap_err();
        assert!(
            matches!(error.category(), Category::Data | Category::Limit),
            "{dims:?} by {strides:?}: {error}"
        );
    }
    // Transposed, which is not refused.
    let read: Tensor = serde_tensor::from_slice(&tensor_of(&[0, 1, 8, 2, 1, 0, 2, 2, 2, 1, 2, 1, 2, 3, 4])).unwrap();
    assert_eq!(read.bytes(), [1, 3, 2, 4]);
}

#[test]
fn a_place_outside_its_segment_is_refused() {
    let mut frame = Encoder::new().inline_limit(0).to_vec(&ramp(16)).unwrap();
    let body = crate::header_u64(&frame, 16);
    let end = body + crate::header_u64(&frame, 24);
    // The last two bytes of the body are the segment's index and the offset in it.
    for (index, offset, accepted) in [
        (0, 0, true),
        (1, 0, false),
        (0, 1, false),
        (0, 127, false),
        (127, 127, false),
    ] {
        frame[end - 2..end].copy_from_slice(&[index, offset]);
        let read = serde_tensor::from_slice::<Tensor>(&frame);
        assert_eq!(read.is_ok(), accepted, "{index}, {offset}");
        if let Err(error) = read {
            assert_eq!(error.category(), Category::Syntax, "{error}");
        }
    }
    let plain = tensor_of(&[1, 1, 8, 0, 1, 0, 1, 16, 0, 0]);
    let error = serde_tensor::from_slice::<Tensor>(&plain).unwrap_err();
    assert!(error.to_string().contains("the message is not a frame"), "{error}");
}

#[test]
fn sections_and_segments_that_do_not_fit_are_refused() {
    let value = vec![ramp(600), ramp(700)];
    let mut planned = Vec::new();
    Encoder::new().plan(&value).unwrap().write_to(&mut planned).unwrap();
    for frame in [serde_tensor::to_vec(&value).unwrap(), planned] {
        let len = frame.len() as u64;
        let table = crate::header_u64(&frame, 32);
        let row = table as u64;
        let second = crate::segments(&frame)[1].0 as u64;
        for (at, value) in [
            (8, len + 1),
            (8, len - 1),
            (8, 0),
            (8, u64::MAX),
            (16, 0),
            (16, 63),
            (16, len),
            (16, u64::MAX),
            (16, row),
            (24, len),
            (24, u64::MAX),
            (32, 0),
            (32, len - 47),
            (32, u64::MAX),
            (32, second),
            (48, 0),
            (48, len),
            (48, u64::MAX),
            (48, row),
            (56, 0),
            (56, len),
            (56, u64::MAX),
            (56, 100),
            (table, 0),
            (table, second + 64),
            (table, second),
            (table, 1),
            (table, u64::MAX - 63),
            (table + 8, 1 << 40),
            (table + 8, u64::MAX),
            (table + 8, second),
            (table + 16, 1),
            (table + 16, 1 << 32),
            (table + 24, 64),
            (table + 24, second + 1),
            (table + 32, len),
            (table + 32, 699),
        ] {
            let mut changed = frame.clone();
            changed[at..at + 8].copy_from_slice(&value.to_le_bytes());
            let read = serde_tensor::from_slice::<Vec<Tensor>>(&changed);
            let error = read.expect_err(&format!("{value} at {at}"));
            assert!(
                matches!(error.category(), Category::Syntax | Category::Eof),
                "{value} at {at}: {error}"
            );
            let _ = inspect(&changed);
        }
        for count in [0u32, 1, 3, 1000, u32::MAX] {
            let mut changed = frame.clone();
            changed[40..44].copy_from_slice(&count.to_le_bytes());
            assert!(
                serde_tensor::from_slice::<Vec<Tensor>>(&changed).is_err(),
                "{count} segments"
            );
        }
    }
}

#[test]
fn a_bool_that_is_neither_is_refused_in_every_form() {
    let message = |data: u8| tensor_of(&[0, 6, 8, 0, 1, 0, 1, 2, 1, data]);
    assert_eq!(
        serde_tensor::from_slice::<Tensor>(&message(0)).unwrap().dtype(),
        DType::Bool
    );
    for data in [2, 3, 128, 255] {
        let bytes = message(data);
        let errors = [
            serde_tensor::from_slice::<Tensor>(&bytes).unwrap_err(),
            serde_tensor::from_bytes::<Tensor>(bytes.clone().into()).unwrap_err(),
            serde_tensor::from_slice::<TensorView<'_>>(&bytes)
                .map(drop)
                .unwrap_err(),
        ];
        for error in errors {
            assert!(error.to_string().contains("neither 0 nor 1"), "{error}");
        }
        #[derive(TensorDeserialize)]
        #[expect(dead_code, reason = "read only")]
        struct Bulk(#[tensor] Vec<bool>);
        assert!(serde_tensor::from_slice::<Bulk>(&bytes).is_err());
    }
}

#[test]
fn a_string_that_is_not_utf8_is_refused_where_it_is_read() {
    let bytes = b"\x81\xa1k\xa3a\xffb";
    let error = serde_tensor::from_slice::<BTreeMap<String, String>>(bytes).unwrap_err();
    assert_eq!(
        (error.category(), error.offset(), error.path()),
        (Category::Syntax, Some(5), Some("k"))
    );
    #[derive(Deserialize)]
    struct Empty {}
    let Empty {} = serde_tensor::from_slice(bytes).unwrap();
}

#[test]
fn a_wrapped_some_holds_exactly_one_value() {
    let read = |bytes: &[u8]| serde_tensor::from_slice::<Option<Option<u8>>>(bytes);
    assert_eq!(read(&[0xd4, 0x53, 0xc0]).unwrap(), Some(None));
    for bytes in [
        &[0xc7, 0, 0x53][..],
        &[0xd5, 0x53, 0xc0, 0xc0],
        &[0xd4, 0x53, 0xcc, 0x05],
        &[0xd5, 0x53, 0xd4, 0x53, 0xc0],
    ] {
        assert!(read(bytes).is_err(), "{bytes:x?}");
        assert!(
            serde_tensor::from_slice::<serde_json::Value>(bytes).is_err(),
            "{bytes:x?}"
        );
    }
}
