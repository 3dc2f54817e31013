//! What is promised of calls that are dropped before they are done.

use std::time::Duration;

use futures_util::{FutureExt as _, SinkExt as _, StreamExt as _};
use serde_tensor::tokio::{MessageReader, read_message, write_message};
use serde_tensor::{Category, Decoder, Limits, Tensor};
use tokio::io::{AsyncWriteExt as _, duplex};

use crate::{Step, framed, ramp, soon};

/// Dropped after every single byte, as a `select!` in a loop would.
#[tokio::test]
async fn the_codec_loses_nothing_when_next_is_dropped() {
    let mut message = Vec::new();
    for number in 0..2 {
        let step = Step {
            observations: vec![ramp(600)],
            ..Step::sample(number)
        };
        write_message(&mut message, &step).await.unwrap();
    }
    let (mut peer, stream) = duplex(1 << 16);
    let mut stream = framed::<Step, (), _>(stream);
    let mut arrived = Vec::new();
    for byte in message {
        peer.write_all(&[byte]).await.unwrap();
        if let Some(step) = stream.next().now_or_never() {
            arrived.push(step.unwrap().unwrap().unwrap().number);
        }
    }
    assert_eq!(arrived, [0, 1]);
}

/// The same, and of a message that is passed over.
#[tokio::test]
async fn the_reader_loses_nothing_when_read_is_dropped() {
    let decoder = Decoder::new().limits(Limits::new().message(3000));
    let (mut peer, stream) = duplex(1 << 16);
    let mut stream = MessageReader::with_decoder(stream, decoder);
    let mut arrived = Vec::new();
    for len in [600, 5000, 700] {
        let mut message = Vec::new();
        write_message(&mut message, &ramp(len)).await.unwrap();
        for byte in message {
            peer.write_all(&[byte]).await.unwrap();
            match stream.read::<Tensor>().now_or_never() {
                Some(Ok(tensor)) => arrived.push(tensor),
                Some(Err(error)) => {
                    assert_eq!((len, error.category()), (5000, Category::Limit));
                    arrived.push(None);
                }
                None => {}
            }
        }
    }
    assert_eq!(arrived, [Some(ramp(600)), None, Some(ramp(700))]);
}

#[tokio::test]
async fn the_codec_sends_whole_messages_when_send_is_dropped() {
    let (here, mut there) = duplex(1000);
    let mut here = framed::<(), Tensor, _>(here);
    assert!(here.send(ramp(100_000)).now_or_never().is_none(), "it fits at once");
    let flush = async {
        here.send(ramp(5)).await.unwrap();
    };
    let receive = async {
        assert_eq!(read_message(&mut there).await.unwrap(), Some(ramp(100_000)));
        assert_eq!(read_message(&mut there).await.unwrap(), Some(ramp(5)));
    };
    soon(async { tokio::join!(flush, receive) }).await;
}

/// What the documentation says is not cancel safe is not: else it would promise too little.
#[tokio::test]
async fn half_a_message_is_gone_when_read_message_is_dropped() {
    let mut message = Vec::new();
    write_message(&mut message, &ramp(1000)).await.unwrap();
    let (mut peer, mut stream) = duplex(1 << 16);
    peer.write_all(&message[..500]).await.unwrap();
    let read = tokio::time::timeout(Duration::from_millis(10), read_message::<_, Tensor>(&mut stream));
    read.await.unwrap_err();
    peer.write_all(&message[500..]).await.unwrap();
    soon(read_message::<_, Tensor>(&mut stream)).await.unwrap_err();
}
