//! What is sent arrives, however the bytes are split, whoever is at the other end, in memory that suits it.

use std::cell::Cell;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_tensor::tokio::{MessageCodec, read_message, write_message};
use serde_tensor::{Decoder, Encoder, MessageReader, MessageWriter, Tensor, TensorSerialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
use tokio_util::codec::{Framed, FramedRead};

use crate::{Step, framed, ramp, soon};

#[tokio::test]
async fn values_arrive_whatever_the_pieces_are_that_carry_them() {
    for piece in [1, 2, 7, 63, 64, 65, 1000, 100_000] {
        let step = |number| Step {
            observations: vec![ramp(600), ramp(0), ramp(700 * piece.min(300))],
            ..Step::sample(number)
        };
        let (mut here, mut there) = duplex(piece);
        let send = async {
            for number in 0..3 {
                write_message(&mut here, &step(number)).await.unwrap();
            }
            drop(here);
        };
        let receive = async {
            for number in 0..3 {
                let arrived: Option<Step> = read_message(&mut there).await.unwrap();
                assert_eq!(arrived, Some(step(number)));
            }
            assert_eq!(read_message::<_, Step>(&mut there).await.unwrap(), None);
        };
        soon(async { tokio::join!(send, receive) }).await;

        let (here, there) = duplex(piece);
        let send = async {
            let mut here = framed::<(), Step, _>(here);
            for number in 0..3 {
                here.feed(step(number)).await.unwrap();
            }
            here.close().await.unwrap();
        };
        let receive = framed::<Step, (), _>(there)
            .map(|step| step.unwrap().unwrap())
            .collect();
        let ((), steps): ((), Vec<Step>) = soon(async { tokio::join!(send, receive) }).await;
        assert_eq!(steps, [0, 1, 2].map(step));
    }
}

#[tokio::test]
async fn either_end_may_be_synchronous_and_of_either_kind() {
    let mut expected = MessageWriter::new(Vec::new());
    expected.write_planned(&Step::sample(1)).unwrap();
    expected.write_planned(&2u8).unwrap();
    let expected = expected.into_inner();

    let mut written = Vec::new();
    write_message(&mut written, &Step::sample(1)).await.unwrap();
    write_message(&mut written, &2u8).await.unwrap();
    assert!(written == expected, "the same bytes as a synchronous writer's");

    let mut sink = Framed::new(std::io::Cursor::new(Vec::new()), MessageCodec::<(), &Step>::new());
    let step = Step::sample(1);
    sink.send(&step).await.unwrap();
    let mut sink = sink.map_codec(|_| MessageCodec::<(), u8>::new());
    sink.send(2).await.unwrap();
    let written = sink.into_inner().into_inner();
    let mut reader = MessageReader::new(written.as_slice());
    assert_eq!(reader.read().unwrap(), Some(Step::sample(1)));
    assert_eq!(reader.read().unwrap(), Some(2u8));

    for stream in [expected.as_slice(), written.as_slice()] {
        let mut reader = stream;
        assert_eq!(read_message(&mut reader).await.unwrap(), Some(Step::sample(1)));
        assert_eq!(read_message(&mut reader).await.unwrap(), Some(2u8));
        let mut framed = FramedRead::new(stream, MessageCodec::<Step>::new());
        assert_eq!(framed.next().await.unwrap().unwrap().unwrap(), Step::sample(1));
    }
}

#[tokio::test]
async fn a_plain_value_is_framed_and_what_follows_a_message_is_left() {
    let (mut here, mut there) = duplex(1000);
    write_message(&mut here, "no tensor in it").await.unwrap();
    here.write_all(b"rest").await.unwrap();
    drop(here);
    let text: Option<String> = read_message(&mut there).await.unwrap();
    assert_eq!(text.as_deref(), Some("no tensor in it"));
    let mut rest = Vec::new();
    there.read_to_end(&mut rest).await.unwrap();
    assert_eq!(rest, b"rest");
}

/// Both options reach the wire, and both are read without a copy: tensors share the message's buffer, aligned as it says.
#[tokio::test]
async fn tensors_share_one_aligned_buffer() {
    let tensors = [ramp(5000), ramp(200_000)];
    let encoder = Encoder::new().align(4096).checksums(true);
    let mut stream = Vec::new();
    encoder.write_message(&mut stream, &tensors).await.unwrap();
    let lies_as_it_should = |read: [Tensor; 2]| {
        assert_eq!(read, tensors);
        let [first, second] = read.map(|tensor| tensor.bytes().as_ptr().addr());
        assert!(first.is_multiple_of(4096) && second.is_multiple_of(4096));
        assert_eq!(second - first, 8192, "not one buffer");
    };
    let read = Decoder::new().read_message(&mut stream.as_slice()).await.unwrap();
    lies_as_it_should(read.unwrap());
    let mut framed = FramedRead::new(stream.as_slice(), MessageCodec::<[Tensor; 2]>::new());
    lies_as_it_should(framed.next().await.unwrap().unwrap().unwrap());

    // A small message does not keep what else was read with it.
    let mut stream = Vec::new();
    encoder
        .write_message(&mut stream, &[ramp(600), ramp(700)])
        .await
        .unwrap();
    let mut framed = FramedRead::new(stream.as_slice(), MessageCodec::<[Tensor; 2]>::new());
    let read = framed.next().await.unwrap().unwrap().unwrap();
    assert!(
        read.iter()
            .all(|tensor| tensor.bytes().as_ptr().addr().is_multiple_of(4096))
    );
}

/// As `tch::Tensor` is not: a value that is not `Sync` is sent from a task that may move between threads, and is free while it is on its way.
#[tokio::test]
async fn the_value_is_free_as_soon_as_it_is_planned() {
    #[derive(TensorSerialize)]
    struct Counted {
        count: Cell<u8>,
        #[tensor]
        tensor: Tensor,
    }
    let (mut here, mut there) = duplex(64);
    let sender = tokio::spawn(async move {
        let mut value = Counted {
            count: Cell::new(1),
            tensor: ramp(1000),
        };
        let written = write_message(&mut here, &value);
        value.count = Cell::new(2);
        drop(value.tensor);
        written.await.unwrap();
    });
    #[derive(serde_tensor::TensorDeserialize)]
    struct Arrived {
        count: u8,
        #[tensor]
        tensor: Tensor,
    }
    let arrived: Arrived = soon(read_message(&mut there)).await.unwrap().unwrap();
    assert_eq!((arrived.count, arrived.tensor), (1, ramp(1000)));
    sender.await.unwrap();
}

#[tokio::test]
async fn a_value_that_does_not_encode_writes_nothing_and_the_next_is_sent() {
    let shallow = Encoder::new().depth(1);
    let mut stream = Vec::new();
    shallow.write_message(&mut stream, &[[(1,)]]).await.unwrap_err();
    assert!(stream.is_empty());

    let mut sink = Framed::new(
        std::io::Cursor::new(Vec::new()),
        MessageCodec::<(), Vec<Vec<u8>>>::with_options(shallow, Decoder::new()),
    );
    sink.send(vec![vec![1]]).await.unwrap_err();
    sink.send(vec![]).await.unwrap();
    let written = sink.into_inner().into_inner();
    assert_eq!(
        MessageReader::new(written.as_slice()).read::<Vec<()>>().unwrap(),
        Some(vec![])
    );
}
