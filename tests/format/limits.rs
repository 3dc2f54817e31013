//! Every limit of `Limits`, at its edge: the last value that passes, and the first that does not.
//!
//! Without these a limit could be documented and not applied, or applied one off.

use std::fmt::Debug;

use bytes::Bytes;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_tensor::{Category, Decoder, Encoder, Limits, Tensor, TensorDeserialize, TensorSerialize};

use crate::ramp;

fn decoder(limits: Limits) -> Decoder {
    Decoder::new().limits(limits)
}

#[track_caller]
fn refused<T: Debug>(result: serde_tensor::Result<T>, what: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.category(), Category::Limit, "{error}");
    assert!(error.to_string().contains(what), "{error}");
}

/// A chain of one kind of nesting.
#[derive(Serialize, Deserialize, Debug)]
enum Chain {
    End,
    Newtype(Box<Chain>),
    Tuple(Box<Chain>, u8),
    Struct { next: Box<Chain> },
}

#[derive(Serialize, Deserialize, Debug)]
struct Link {
    next: Option<Box<Link>>,
}

#[derive(Serialize, Deserialize, Debug)]
struct Rows(Vec<Rows>);

/// Nothing but options: on the wire one inside the other.
#[derive(Serialize, Deserialize, Debug)]
struct Maybe(Option<Box<Maybe>>);

fn rows(depth: usize) -> Rows {
    (1..depth).fold(Rows(vec![]), |inner, _| Rows(vec![inner]))
}

fn links(depth: usize) -> Link {
    (1..depth).fold(Link { next: None }, |inner, _| Link {
        next: Some(Box::new(inner)),
    })
}

fn maybes(depth: usize) -> Maybe {
    // `Some(None)` is one extension value around nil.
    (0..depth).fold(Maybe(None), |inner, _| Maybe(Some(Box::new(inner))))
}

/// A value of that depth passes both ways and one deeper passes neither.
fn edge<T: Serialize + DeserializeOwned + Debug>(name: &str, limit: usize, value: impl Fn(usize) -> T) {
    let free = Encoder::new().depth(usize::MAX);
    let bounded = Encoder::new().depth(limit);
    let read = |bytes: &[u8]| decoder(Limits::new().depth(limit)).from_slice::<T>(bytes);
    for compact in [false, true] {
        let bounded = bounded.clone().compact(compact);
        let free = free.clone().compact(compact);
        let bytes = bounded.to_vec(&value(limit)).unwrap_or_else(|e| panic!("{name}: {e}"));
        read(&bytes).unwrap_or_else(|e| panic!("{name}: {e}"));
        refused(bounded.to_vec(&value(limit + 1)), "deeper than the limit");
        refused(read(&free.to_vec(&value(limit + 1)).unwrap()), "deeper than the limit");
    }
}

#[test]
fn depth_has_one_edge_for_both_sides_and_every_kind_of_nesting() {
    for limit in [1, 2, 3, 128] {
        edge("arrays", limit, rows);
        edge("structs", limit, links);
        edge("options", limit, maybes);
    }
    let chain = |wrap: fn(Box<Chain>) -> Chain, each: usize| {
        move |depth: usize| (0..depth / each).fold(Chain::End, |inner, _| wrap(Box::new(inner)))
    };
    // A compact unit variant is a map too, so the chain's end counts there: see the test below.
    for limit in [4, 128] {
        let named = Encoder::new().depth(limit);
        for (value, each) in [
            (chain(Chain::Newtype, 1), 1),
            (chain(|next| Chain::Tuple(next, 0), 2), 2),
            (chain(|next| Chain::Struct { next }, 2), 2),
        ] {
            let bytes = named.to_vec(&value(limit)).unwrap();
            decoder(Limits::new().depth(limit)).from_slice::<Chain>(&bytes).unwrap();
            refused(named.to_vec(&value(limit + each)), "deeper");
            let deeper = Encoder::new().depth(usize::MAX).to_vec(&value(limit + each)).unwrap();
            refused(
                decoder(Limits::new().depth(limit)).from_slice::<Chain>(&deeper),
                "deeper",
            );
        }
    }
}

#[test]
fn depth_is_128_by_default_on_both_sides() {
    let bytes = serde_tensor::to_vec(&rows(128)).unwrap();
    serde_tensor::from_slice::<Rows>(&bytes).unwrap();
    refused(serde_tensor::to_vec(&rows(129)), "the limit of 128");
    let deeper = Encoder::new().depth(129).to_vec(&rows(129)).unwrap();
    refused(serde_tensor::from_slice::<Rows>(&deeper), "the limit of 128");
    refused(
        serde_tensor::from_reader::<_, Rows>(deeper.as_slice()),
        "the limit of 128",
    );
}

#[test]
fn depth_is_given_back_when_a_value_ends() {
    let wide: Vec<Rows> = (0..300).map(|_| rows(100)).collect();
    let bytes = serde_tensor::to_vec(&wide).unwrap();
    assert_eq!(serde_tensor::from_slice::<Vec<Rows>>(&bytes).unwrap().len(), 300);
    let options: Vec<Option<Option<Option<()>>>> = vec![Some(Some(None)); 300];
    let bytes = serde_tensor::to_vec(&options).unwrap();
    assert_eq!(
        serde_tensor::from_slice::<Vec<Option<Option<Option<()>>>>>(&bytes).unwrap(),
        options
    );
    let variants: Vec<_> = (0..300)
        .map(|_| {
            Chain::Tuple(
                Box::new(Chain::Struct {
                    next: Box::new(Chain::End),
                }),
                1,
            )
        })
        .collect();
    for compact in [false, true] {
        let bytes = Encoder::new().compact(compact).to_vec(&variants).unwrap();
        assert_eq!(serde_tensor::from_slice::<Vec<Chain>>(&bytes).unwrap().len(), 300);
    }
}

/// A value, or nothing where its bytes are something else.
#[derive(Debug)]
struct Lenient<T>(Option<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(T::deserialize(deserializer).ok()))
    }
}

#[test]
fn depth_is_given_back_when_a_type_passes_over_its_error() {
    // More of them than may lie inside one another.
    let bytes = serde_tensor::to_vec(&vec![Ok::<_, u8>("many"); 200]).unwrap();
    let read: Vec<Lenient<Result<u8, u8>>> = serde_tensor::from_slice(&bytes).unwrap();
    assert!(read.len() == 200 && read.iter().all(|count| count.0.is_none()));

    let bytes = serde_tensor::to_vec(&vec![Some(None::<u8>); 200]).unwrap();
    let read: Vec<Lenient<Option<u8>>> = serde_tensor::from_slice(&bytes).unwrap();
    assert!(read.len() == 200 && read.iter().all(|count| count.0.is_none()));
}

#[test]
fn the_default_depth_needs_less_than_a_megabyte_of_stack() {
    let work = || {
        let bytes = serde_tensor::to_vec(&links(128)).unwrap();
        serde_tensor::from_slice::<Link>(&bytes).unwrap();
        let untagged = serde_tensor::to_vec(&rows(128)).unwrap();
        serde_tensor::from_slice::<serde_json::Value>(&untagged).unwrap();
        refused(serde_tensor::from_slice::<Rows>(&vec![0x91; 1 << 20]), "deeper");
        refused(serde_tensor::from_slice::<Maybe>(&nested_somes(10_000)), "deeper");
    };
    std::thread::Builder::new()
        .stack_size(1 << 20)
        .spawn(work)
        .unwrap()
        .join()
        .unwrap();
}

/// So many ext 0x53 around nil.
fn nested_somes(depth: usize) -> Vec<u8> {
    let mut lens = vec![1usize];
    for _ in 0..depth {
        let len = lens[lens.len() - 1];
        lens.push(len + 6);
    }
    let mut bytes = Vec::new();
    for len in lens[..depth].iter().rev() {
        bytes.push(0xc9);
        bytes.extend_from_slice(&u32::try_from(*len).unwrap().to_be_bytes());
        bytes.push(0x53);
    }
    bytes.push(0xc0);
    bytes
}

#[test]
fn a_type_that_is_nothing_but_options_cannot_be_made_to_recurse_without_end() {
    // Any byte but nil is `Some` of itself to such a type.
    for bytes in [&[0x05][..], &[0x90], &[0xa1, b'x'], &[0xd4, 5, 0]] {
        refused(serde_tensor::from_slice::<Maybe>(bytes), "deeper");
    }
}

#[test]
fn depth_can_be_raised_with_the_stack() {
    const DEPTH: usize = 10_000;
    let work = || {
        let bytes = Encoder::new().depth(DEPTH).to_vec(&rows(DEPTH)).unwrap();
        let limits = Limits::new().depth(DEPTH);
        decoder(limits).from_slice::<Rows>(&bytes).unwrap();
    };
    std::thread::Builder::new()
        .stack_size(256 << 20)
        .spawn(work)
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn what_is_ignored_may_nest_as_deep_as_it_likes() {
    let mut deep = vec![0x91; 1 << 20];
    deep.push(0xc0);
    serde_tensor::from_slice::<IgnoredAny>(&deep).unwrap();
    #[derive(Deserialize, Debug)]
    struct Only {
        n: u8,
    }
    let message = [b"\x82\xa1x".as_slice(), &deep, b"\xa1n\x07"].concat();
    assert_eq!(serde_tensor::from_slice::<Only>(&message).unwrap().n, 7);
}

#[test]
fn the_rank_of_a_tensor_has_an_edge() {
    let of_rank = |rank: usize| Tensor::from_bytes(serde_tensor::DType::U8, &vec![1; rank], vec![5]).unwrap();
    for (limit, limits) in [
        (64, Limits::new()),
        (0, Limits::new().rank(0)),
        (3, Limits::new().rank(3)),
    ] {
        for inline in [usize::MAX, 0] {
            let encoder = Encoder::new().inline_limit(inline);
            let bytes = encoder.to_vec(&of_rank(limit)).unwrap();
            decoder(limits.clone()).from_slice::<Tensor>(&bytes).unwrap();
            let above = encoder.to_vec(&of_rank(limit + 1)).unwrap();
            refused(decoder(limits.clone()).from_slice::<Tensor>(&above), "rank");
            // One that nobody reads is skipped, whatever its rank.
            decoder(limits.clone()).from_slice::<IgnoredAny>(&above).unwrap();
        }
    }
}

#[test]
fn the_number_of_segments_has_an_edge() {
    let value: Vec<Tensor> = (0..4).map(|_| ramp(600)).collect();
    for bytes in [serde_tensor::to_vec(&value).unwrap(), planned(&value)] {
        assert_eq!(
            decoder(Limits::new().segments(4))
                .from_slice::<Vec<Tensor>>(&bytes)
                .unwrap(),
            value
        );
        refused(
            decoder(Limits::new().segments(3)).from_slice::<Vec<Tensor>>(&bytes),
            "4 segments",
        );
    }
}

fn planned<T: TensorSerialize>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    serde_tensor::Plan::new(value).unwrap().write_to(&mut bytes).unwrap();
    bytes
}

#[test]
fn the_length_of_a_message_has_an_edge_for_every_verb() {
    let plain = serde_tensor::to_vec("some text").unwrap();
    let frame = Encoder::new().framed(true).to_vec("some text").unwrap();
    for bytes in [plain, frame] {
        let len = bytes.len() as u64;
        let enough = decoder(Limits::new().message(len));
        let short = decoder(Limits::new().message(len - 1));
        let owned = Bytes::from(bytes.clone());
        assert_eq!(enough.from_slice::<String>(&bytes).unwrap(), "some text");
        assert_eq!(enough.from_bytes::<String>(owned.clone()).unwrap(), "some text");
        assert_eq!(enough.from_reader::<_, String>(bytes.as_slice()).unwrap(), "some text");
        assert_eq!(enough.take_from_slice::<String>(&bytes).unwrap().0, "some text");
        refused(short.from_slice::<String>(&bytes), "above the limit");
        refused(short.from_bytes::<String>(owned), "above the limit");
        refused(short.from_reader::<_, String>(bytes.as_slice()), "above the limit");
        refused(short.take_from_slice::<String>(&bytes).map(drop), "above the limit");
    }
}

#[test]
fn a_reader_is_not_read_beyond_the_limit() {
    let mut endless = std::io::repeat(0x91);
    refused(
        decoder(Limits::new().message(1000)).from_reader::<_, IgnoredAny>(&mut endless),
        "above the limit",
    );
    // A frame is refused on its own word, before its body is read.
    let mut frame = Encoder::new().framed(true).to_vec("x").unwrap();
    frame[8..16].copy_from_slice(&(1u64 << 60).to_le_bytes());
    let mut reader = std::io::Cursor::new(frame);
    refused(
        decoder(Limits::new().message(1 << 40)).from_reader::<_, IgnoredAny>(&mut reader),
        "above the limit",
    );
    assert_eq!(reader.position(), 64);
}

#[test]
fn a_frame_is_read_whole_however_little_is_reserved_for_it() {
    let value = vec![ramp(100_000), ramp(70_000)];
    for align in [64, 65536] {
        let bytes = Encoder::new().align(align).to_vec(&value).unwrap();
        for reserve in [
            0,
            1,
            63,
            64,
            1000,
            bytes.len() - 1,
            bytes.len(),
            bytes.len() + align,
            usize::MAX,
        ] {
            let read: Vec<Tensor> = decoder(Limits::new().reserve(reserve))
                .from_reader(bytes.as_slice())
                .unwrap();
            assert_eq!(read, value, "{reserve}");
            // The buffer moved as it grew; the segments are where the frame promised all the same.
            assert!(
                read.iter().all(|tensor| tensor.bytes().as_ptr().addr() % align == 0),
                "{reserve}"
            );
        }
    }
}

#[test]
fn a_limit_inside_an_untagged_enum_is_the_calls_error() {
    #[derive(TensorSerialize, TensorDeserialize, Debug)]
    #[serde(untagged)]
    enum Either {
        One(#[tensor] Tensor),
        Text(String),
    }
    let bytes = serde_tensor::to_vec(&Either::One(Tensor::from_elements(&[1u8], &[1, 1, 1]).unwrap())).unwrap();
    let error = decoder(Limits::new().rank(2)).from_slice::<Either>(&bytes).unwrap_err();
    assert_eq!(error.category(), Category::Limit, "{error}");
}

#[test]
fn what_copies_of_tensors_may_take_has_an_edge() {
    let one = ramp(10_000);
    let value = vec![one; 5];
    let message = serde_tensor::to_vec(&value).unwrap();
    assert!((10_000..10_500).contains(&message.len()), "five names for one segment");
    let detached = |limits| decoder(limits).detach(true).from_slice::<Vec<Tensor>>(&message);
    assert_eq!(detached(Limits::new()).unwrap(), value);
    assert_eq!(detached(Limits::new().copies(5)).unwrap(), value);
    refused(detached(Limits::new().copies(4)), "copies of the message's tensors");
    // Those that share one copy take no more than it does.
    assert_eq!(
        decoder(Limits::new().copies(1))
            .from_slice::<Vec<Tensor>>(&message)
            .unwrap(),
        value
    );
    refused(
        decoder(Limits::new().copies(0)).from_slice::<Vec<Tensor>>(&message),
        "copies of the message's tensors",
    );
    assert_eq!(
        decoder(Limits::new().copies(0))
            .from_bytes::<Vec<Tensor>>(crate::placed(&message, 0))
            .unwrap(),
        value
    );

    #[derive(TensorDeserialize, Debug)]
    struct Bulk(#[tensor] Vec<Vec<u8>>);
    let bulk = |limits| decoder(limits).from_slice::<Bulk>(&message).map(|bulk| bulk.0.len());
    assert_eq!(bulk(Limits::new().copies(5)).unwrap(), 5);
    refused(bulk(Limits::new().copies(4)), "copies of the message's tensors");
}
