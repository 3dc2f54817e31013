//! Frames: alignments, the inline limit, checksums, and the order of the sections.

use serde::{Deserialize, Serialize};
use serde_tensor::{Category, Encoder, Tensor, inspect};

use crate::{Rollout, header_u64, placed, ramp, segments};

fn both(encoder: &Encoder, value: &Rollout) -> [Vec<u8>; 2] {
    let plan = encoder.plan(value).unwrap();
    let mut planned = Vec::new();
    plan.write_to(&mut planned).unwrap();
    assert_eq!(planned.len(), plan.len());
    assert_eq!(planned[0] == 0xc1, plan.is_frame());
    [encoder.to_vec(value).unwrap(), planned]
}

#[test]
fn segments_start_at_multiples_of_every_alignment() {
    for log2 in 4..=16 {
        let align = 1 << log2;
        for message in both(&Encoder::new().align(align), &Rollout::sample()) {
            assert_eq!(message[6], log2, "the header says it");
            let table = segments(&message);
            assert_eq!(table.len(), 2);
            let mut end = header_u64(&message, 48);
            for (offset, len) in table {
                assert_eq!(offset % align, 0);
                assert!(message[end..offset].iter().all(|&byte| byte == 0), "padding is zeroed");
                end = offset + len;
            }
            assert_eq!(
                serde_tensor::from_slice::<Rollout>(&message).unwrap(),
                Rollout::sample()
            );
            let read: Rollout = serde_tensor::from_bytes(placed(&message, 0)).unwrap();
            assert_eq!(read.large.bytes().as_ptr().addr() % align, 0);
            let read: Rollout = serde_tensor::from_reader(message.as_slice()).unwrap();
            assert_eq!(
                read.large.bytes().as_ptr().addr() % align,
                0,
                "readers align their buffer"
            );
        }
    }
}

#[test]
fn other_alignments_are_refused_by_every_writer() {
    for bytes in [0, 1, 8, 15, 48, 65, 1 << 17, usize::MAX] {
        let encoder = Encoder::new().align(bytes);
        let errors = [
            encoder.to_vec(&1).unwrap_err(),
            encoder.to_writer(std::io::sink(), &1).unwrap_err(),
            encoder.plan(&1u8).map(drop).unwrap_err(),
            encoder.serializer().map(drop).unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.category(), Category::Data);
            assert!(
                error
                    .to_string()
                    .contains(&format!("{bytes} bytes is not a power of two")),
                "{error}"
            );
        }
        assert!(
            Encoder::new().align(bytes).align(64).to_vec(&1).is_ok(),
            "the last word counts"
        );
    }
}

#[test]
fn a_tensor_is_inline_up_to_the_limit_and_no_further() {
    for limit in [0, 1, 15, 512, 1000] {
        let encoder = Encoder::new().inline_limit(limit);
        for (len, inline) in [(0, true), (limit, true), (limit + 1, false), (limit + 100, false)] {
            let value = Rollout {
                small: ramp(len),
                large: ramp(0),
                hidden: None,
                ..Rollout::sample()
            };
            for message in both(&encoder, &value) {
                assert_eq!(message[0] != 0xc1, inline, "{len} bytes at a limit of {limit}");
                assert_eq!(serde_tensor::from_slice::<Rollout>(&message).unwrap(), value);
            }
        }
    }
    for message in both(
        &Encoder::new().inline_limit(usize::MAX),
        &Rollout {
            large: ramp(100_000),
            ..Rollout::sample()
        },
    ) {
        assert_ne!(message[0], 0xc1);
        assert_eq!(
            serde_tensor::from_slice::<Rollout>(&message).unwrap().large,
            ramp(100_000)
        );
    }
    assert_eq!(serde_tensor::to_vec(&ramp(512)).unwrap()[0], 0xc8, "512 is the default");
    assert_eq!(serde_tensor::to_vec(&ramp(513)).unwrap()[0], 0xc1);
}

#[test]
fn a_value_without_tensors_is_framed_on_request() {
    for checksums in [false, true] {
        let encoder = Encoder::new().framed(true).checksums(checksums);
        let message = encoder.to_vec("text").unwrap();
        assert_eq!(message[..4], *b"\xC1STN");
        assert_eq!(header_u64(&message, 8), message.len());
        assert_eq!(inspect(&message).unwrap().segments(), Some(0));
        assert_eq!(serde_tensor::from_slice::<&str>(&message).unwrap(), "text");
        let mut planned = Vec::new();
        encoder.plan("text").unwrap().write_to(&mut planned).unwrap();
        assert_eq!(serde_tensor::from_slice::<&str>(&planned).unwrap(), "text");
    }
    assert_eq!(
        Encoder::new().checksums(true).to_vec("text").unwrap(),
        b"\xa4text",
        "they exist in frames alone"
    );
}

#[test]
fn a_plan_puts_the_body_first_and_one_pass_puts_it_last() {
    let [single, planned] = both(&Encoder::new(), &Rollout::sample());
    let (body, table, data) = (
        header_u64(&planned, 16),
        header_u64(&planned, 32),
        header_u64(&planned, 48),
    );
    assert_eq!((body, table), (64, 64 + header_u64(&planned, 24)));
    assert!(data >= table + 48 && data % 64 == 0);
    let (body, data) = (header_u64(&single, 16), header_u64(&single, 48));
    assert_eq!((data, body), (64, 64 + header_u64(&single, 56)));
    for message in [single, planned] {
        assert_eq!(
            serde_tensor::from_slice::<Rollout>(&message).unwrap(),
            Rollout::sample()
        );
    }
}

/// Takes a frame apart and puts its sections together in another order, with gaps of rubbish between them.
fn rearranged(frame: &[u8], order: [usize; 3]) -> Vec<u8> {
    let table = segments(frame);
    let (data_at, data_len) = (header_u64(frame, 48), header_u64(frame, 56));
    let body = &frame[header_u64(frame, 16)..][..header_u64(frame, 24)];
    let mut out = frame[..64].to_vec();
    let mut at = [0; 3];
    for section in order {
        out.extend_from_slice(b"rubbish");
        if section == 2 {
            out.resize(out.len().next_multiple_of(64), 0xee);
        }
        at[section] = out.len();
        match section {
            0 => out.extend_from_slice(body),
            1 => out.resize(out.len() + 24 * table.len(), 0),
            _ => out.extend_from_slice(&frame[data_at..data_at + data_len]),
        }
    }
    out.extend_from_slice(b"rubbish");
    for (index, (offset, len)) in table.iter().enumerate() {
        let row = at[1] + 24 * index;
        out[row..row + 8].copy_from_slice(&((offset - data_at + at[2]) as u64).to_le_bytes());
        out[row + 8..row + 16].copy_from_slice(&(*len as u64).to_le_bytes());
    }
    let len = out.len();
    for (field, value) in [(8, len), (16, at[0]), (32, at[1]), (48, at[2])] {
        out[field..field + 8].copy_from_slice(&(value as u64).to_le_bytes());
    }
    out
}

#[test]
fn sections_may_come_in_any_order_with_gaps_between_them() {
    for message in both(&Encoder::new(), &Rollout::sample()) {
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let other = rearranged(&message, order);
            assert_eq!(
                serde_tensor::from_slice::<Rollout>(&other).unwrap(),
                Rollout::sample(),
                "{order:?}"
            );
            assert_eq!(inspect(&other).unwrap().tensors().len(), 5);
        }
    }
}

#[test]
fn every_flipped_bit_of_a_checksummed_frame_is_noticed_or_was_padding() {
    let value = Rollout::sample();
    for message in both(&Encoder::new().checksums(true).align(256), &value) {
        assert_eq!(serde_tensor::from_slice::<Rollout>(&message).unwrap(), value);
        let mut covered = vec![(0, 64), (header_u64(&message, 16), header_u64(&message, 24))];
        covered.push((header_u64(&message, 32), 48));
        covered.extend(segments(&message));
        for at in 0..message.len() {
            let mut flipped = message.clone();
            flipped[at] ^= 1 << (at % 8);
            let read = serde_tensor::from_slice::<Rollout>(&flipped);
            if covered.iter().any(|&(start, len)| (start..start + len).contains(&at)) {
                let error = read.expect_err("a flipped bit went unnoticed");
                // Without its first byte it is no frame, and has no checksum.
                let seen = matches!(error.category(), Category::Syntax | Category::Eof);
                assert!(seen || at == 0, "byte {at}: {error}");
            } else {
                assert_eq!(read.unwrap(), value, "byte {at} is padding");
            }
        }
    }
}

#[test]
fn a_segments_checksum_is_checked_when_its_bytes_are_handed_out() {
    #[derive(Serialize, Deserialize)]
    struct Both {
        good: Tensor,
        bad: Tensor,
    }
    #[derive(Deserialize)]
    struct Good {
        good: Tensor,
    }
    let value = Both {
        good: ramp(600),
        bad: ramp(700),
    };
    let mut message = Encoder::new().checksums(true).to_vec(&value).unwrap();
    let (bad, _) = segments(&message)[1];
    message[bad] ^= 1;
    assert_eq!(serde_tensor::from_slice::<Good>(&message).unwrap().good, ramp(600));
    let error = serde_tensor::from_slice::<Both>(&message).map(drop).unwrap_err();
    assert_eq!(
        (error.category(), error.path()),
        (Category::Syntax, Some("bad")),
        "{error}"
    );
    assert!(error.to_string().contains("the checksum of segment 1"), "{error}");
}

#[test]
fn what_a_header_may_not_say_is_named() {
    let frame = Encoder::new().to_vec(&ramp(600)).unwrap();
    let changed = |at: usize, byte: u8| {
        let mut frame = frame.clone();
        frame[at] = byte;
        serde_tensor::from_slice::<Tensor>(&frame).unwrap_err()
    };
    for (at, byte, message) in [
        (1, b's', "C1 53 54 4E"),
        (4, 2, "unknown frame version 2"),
        (5, 2, "unknown frame flags 0x02"),
        (6, 3, "alignment 2^3"),
        (6, 17, "alignment 2^17"),
        (7, 1, "a reserved byte is 0x01"),
        (44, 1, "a checksum is set that the flags say is not"),
    ] {
        let error = changed(at, byte);
        assert_eq!(error.category(), Category::Syntax);
        assert!(error.to_string().contains(message), "{error}");
    }
}
