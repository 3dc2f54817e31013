//! What a connection meets: a peer that dies, garbage, messages that are too long or of another type, many at once.

use futures_util::{FutureExt as _, SinkExt as _, StreamExt as _};
use serde_tensor::tokio::{MessageCodec, MessageReader, read_message, write_message};
use serde_tensor::{Category, Decoder, Encoder, Error, Limits, Tensor};
use tokio::io::{AsyncWriteExt as _, duplex};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::codec::{Framed, FramedRead};

use crate::{Step, framed, ramp, soon};

async fn message<T: serde_tensor::TensorSerialize>(value: &T) -> Vec<u8> {
    let mut message = Vec::new();
    write_message(&mut message, value).await.unwrap();
    message
}

#[tokio::test]
async fn a_peer_that_dies_in_the_middle_of_a_message_is_an_end_of_input_with_its_offset() {
    let whole = message(&ramp(3000)).await;
    let stream = [whole.as_slice(), &whole].concat();
    for cut in (1..whole.len()).step_by(13).chain([63, 64, 65, whole.len() - 1]) {
        let mut reader = &stream[..whole.len() + cut];
        assert_eq!(read_message(&mut reader).await.unwrap(), Some(ramp(3000)));
        let error = read_message::<_, Tensor>(&mut reader).await.unwrap_err();
        assert_eq!((error.category(), error.offset()), (Category::Eof, Some(cut as u64)));

        let mut reader = MessageReader::new(&stream[..whole.len() + cut]);
        assert_eq!(reader.read().await.unwrap(), Some(ramp(3000)));
        let error = reader.read::<Tensor>().await.unwrap_err();
        assert_eq!((error.category(), error.offset()), (Category::Eof, Some(cut as u64)));

        let mut framed = FramedRead::new(&stream[..whole.len() + cut], MessageCodec::<Tensor>::new());
        assert_eq!(framed.next().await.unwrap().unwrap().unwrap(), ramp(3000));
        let error = framed.next().await.unwrap().unwrap_err();
        assert_eq!((error.category(), error.offset()), (Category::Eof, Some(cut as u64)));
        assert!(framed.next().await.is_none());
    }
}

/// Over a socket, whose peer is dropped with half a message on its way.
#[tokio::test]
async fn a_connection_that_is_cut_is_an_error_and_not_a_hang() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    for by_codec in [false, true] {
        let mut peer = TcpStream::connect(address).await.unwrap();
        let (mut stream, _) = listener.accept().await.unwrap();
        let whole = message(&ramp(1_000_000)).await;
        let receiver = tokio::spawn(async move {
            if by_codec {
                framed::<Tensor, (), _>(stream).next().await.unwrap().unwrap_err()
            } else {
                read_message::<_, Tensor>(&mut stream).await.unwrap_err()
            }
        });
        peer.write_all(&whole[..500_000]).await.unwrap();
        drop(peer);
        let error = soon(receiver).await.unwrap();
        assert_eq!(
            (error.category(), error.offset()),
            (Category::Eof, Some(500_000)),
            "{error}"
        );
    }
    // And the writer whose reader is gone.
    let mut peer = TcpStream::connect(address).await.unwrap();
    drop(listener.accept().await.unwrap());
    let error = soon(async {
        loop {
            if let Err(error) = write_message(&mut peer, &ramp(1_000_000)).await {
                return error;
            }
        }
    });
    assert_eq!(error.await.category(), Category::Io);
}

#[tokio::test]
async fn garbage_before_a_message_is_an_error_and_not_a_hang() {
    let garbage: [&[u8]; 6] = [
        b"\x05",
        b"GET / HTTP/1.1\r\n",
        b"\xC1STC chunk",
        b"\xC1S\x00",
        b"\xC1STN\x07\x00\x06\x00",
        &[0xC1; 100],
    ];
    for garbage in garbage {
        // The peer sends no more, and stays.
        let (mut peer, mut stream) = duplex(1 << 16);
        peer.write_all(garbage).await.unwrap();
        let error = soon(read_message::<_, Tensor>(&mut stream)).await.unwrap_err();
        assert_eq!(error.category(), Category::Syntax, "{error}");

        let (mut peer, stream) = duplex(1 << 16);
        peer.write_all(garbage).await.unwrap();
        peer.write_all(&message(&ramp(1000)).await).await.unwrap();
        let mut reader = MessageReader::new(stream);
        // No later bytes are taken for a message.
        for _ in 0..3 {
            let error = soon(reader.read::<Tensor>()).await.unwrap_err();
            assert_eq!(error.category(), Category::Syntax, "{error}");
        }

        let (mut peer, stream) = duplex(1 << 16);
        peer.write_all(garbage).await.unwrap();
        peer.write_all(&message(&ramp(1000)).await).await.unwrap();
        let mut framed = framed::<Tensor, (), _>(stream);
        let error = soon(framed.next()).await.unwrap().unwrap_err();
        assert_eq!(error.category(), Category::Syntax, "{error}");
        drop(peer);
        // No later bytes are taken for a message.
        while let Some(later) = soon(framed.next()).await {
            assert_eq!(later.unwrap_err().category(), Category::Syntax);
        }
    }
}

#[tokio::test]
async fn plain_bytes_are_an_error_that_says_what_was_expected() {
    let plain = serde_tensor::to_vec(&("plain", 1)).unwrap();
    let expected = "a stream's messages are frames, which start with 0xc1, and this one starts with 0x92, at byte 0";
    let error = read_message::<_, (String, u8)>(&mut plain.as_slice())
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), expected);
    let mut framed = FramedRead::new(plain.as_slice(), MessageCodec::<(String, u8)>::new());
    assert_eq!(framed.next().await.unwrap().unwrap_err().to_string(), expected);
}

#[tokio::test]
async fn a_message_above_the_limit_does_not_poison_the_connection() {
    let decoder = Decoder::new().limits(Limits::new().message(100_000));
    let refused = |error: Error| {
        assert_eq!(error.category(), Category::Limit);
        assert!(error.to_string().starts_with("a message of 3001"), "{error}");
    };
    let sizes = [300_000, 10, 300_000, 300_000, 50_000];

    let (mut peer, stream) = duplex(4096);
    let send = async move {
        for size in sizes {
            write_message(&mut peer, &ramp(size)).await.unwrap();
        }
    };
    let receive = async {
        let mut stream = MessageReader::with_decoder(stream, decoder.clone());
        for size in sizes {
            match stream.read::<Tensor>().await {
                Ok(read) => assert_eq!(read, Some(ramp(size))),
                Err(error) => {
                    assert_eq!(size, 300_000);
                    refused(error);
                }
            }
        }
        assert_eq!(stream.read::<Tensor>().await.unwrap(), None);
    };
    soon(async { tokio::join!(send, receive) }).await;

    for pieces in [1000, 1 << 20] {
        let (peer, stream) = duplex(pieces);
        let send = async move {
            let mut peer = framed::<(), Tensor, _>(peer);
            for size in sizes {
                peer.feed(ramp(size)).await.unwrap();
            }
            peer.close().await.unwrap();
        };
        let receive = async {
            let codec = MessageCodec::<Tensor>::with_options(Encoder::new(), decoder.clone());
            let mut stream = Framed::new(stream, codec);
            for size in sizes {
                match stream.next().await.unwrap().unwrap() {
                    Ok(read) => assert_eq!(read, ramp(size)),
                    Err(error) => {
                        assert_eq!(size, 300_000);
                        refused(error);
                    }
                }
            }
            assert!(stream.next().await.is_none());
        };
        soon(async { tokio::join!(send, receive) }).await;
    }
}

/// The error comes when the length is known, not when the bytes have come, whatever the length is. What is left is waited for by the next
/// call, which the receiver need not make.
#[tokio::test]
async fn a_message_above_the_limit_is_refused_at_once_though_its_peer_sends_no_more() {
    let decoder = Decoder::new().limits(Limits::new().message(1000));
    let whole = message(&ramp(3000)).await;
    for length in [whole.len() as u64, 1 << 60, u64::MAX] {
        let mut start = whole[..64].to_vec();
        start[8..16].copy_from_slice(&length.to_le_bytes());
        let refused = |error: Error| {
            let expected = format!("a message of {length} bytes, above the limit of 1000");
            assert_eq!((error.category(), error.to_string()), (Category::Limit, expected));
        };

        let (mut peer, mut stream) = duplex(4096);
        peer.write_all(&start).await.unwrap();
        refused(soon(decoder.read_message::<_, Tensor>(&mut stream)).await.unwrap_err());

        let (mut peer, stream) = duplex(4096);
        let mut stream = MessageReader::with_decoder(stream, decoder.clone());
        peer.write_all(&start).await.unwrap();
        refused(soon(stream.read::<Tensor>()).await.unwrap_err());
        assert!(stream.read::<Tensor>().now_or_never().is_none(), "there is nothing yet");
        drop(peer);
        let error = soon(stream.read::<Tensor>()).await.unwrap_err();
        assert_eq!(error.category(), Category::Eof);

        let (mut peer, stream) = duplex(4096);
        let codec = MessageCodec::<Tensor>::with_options(Encoder::new(), decoder.clone());
        let mut stream = Framed::new(stream, codec);
        peer.write_all(&start).await.unwrap();
        refused(soon(stream.next()).await.unwrap().unwrap().unwrap_err());
        assert!(stream.next().now_or_never().is_none(), "there is nothing yet");
        drop(peer);
        let error = soon(stream.next()).await.unwrap().unwrap_err();
        assert_eq!(error.category(), Category::Eof);
    }
}

/// What `read_message` leaves of it is not hidden: whoever reads on regardless reads what the peer put there.
#[tokio::test]
async fn read_message_leaves_the_reader_behind_the_header_of_a_message_above_the_limit() {
    let decoder = Decoder::new().limits(Limits::new().message(1000));
    let whole = message(&ramp(3000)).await;
    let mut reader = whole.as_slice();
    decoder.read_message::<_, Tensor>(&mut reader).await.unwrap_err();
    assert_eq!(reader, &whole[64..]);
}

#[tokio::test]
async fn a_message_of_another_type_leaves_the_connection_at_the_next() {
    let stream = [
        message(&ramp(600)).await,
        message(&"text").await,
        message(&ramp(700)).await,
    ]
    .concat();
    let mut reader = stream.as_slice();
    assert_eq!(read_message(&mut reader).await.unwrap(), Some(ramp(600)));
    let error = read_message::<_, Tensor>(&mut reader).await.unwrap_err();
    assert_eq!(error.category(), Category::Data, "{error}");
    assert_eq!(read_message(&mut reader).await.unwrap(), Some(ramp(700)));

    let mut reader = MessageReader::new(stream.as_slice());
    assert_eq!(reader.read().await.unwrap(), Some(ramp(600)));
    assert_eq!(reader.read::<Tensor>().await.unwrap_err().category(), Category::Data);
    assert_eq!(reader.read().await.unwrap(), Some(ramp(700)));

    let framed = FramedRead::new(stream.as_slice(), MessageCodec::<Tensor>::new());
    let read: Vec<_> = framed.map(|message| message.unwrap().ok()).collect().await;
    assert_eq!(read, [Some(ramp(600)), None, Some(ramp(700))]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_thousand_small_messages_at_once() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut stream = framed::<Step, Step, _>(stream);
                while let Some(step) = stream.next().await {
                    stream.send(step.unwrap().unwrap()).await.unwrap();
                }
            });
        }
    });
    let small = |number| Step {
        observations: vec![ramp(8)],
        ..Step::sample(number)
    };
    let mut tasks = JoinSet::new();
    // A hundred connections of ten, all of them on their way at the same time; half of the clients of each kind.
    for connection in 0..100u64 {
        tasks.spawn(async move {
            let numbers = connection * 10..connection * 10 + 10;
            let stream = TcpStream::connect(address).await.unwrap();
            if connection % 2 == 0 {
                let (mut sink, stream) = framed::<Step, Step, _>(stream).split();
                for number in numbers.clone() {
                    sink.feed(small(number)).await.unwrap();
                }
                sink.flush().await.unwrap();
                let steps: Vec<_> = stream.take(10).map(|step| step.unwrap().unwrap()).collect().await;
                assert_eq!(steps, numbers.map(small).collect::<Vec<_>>());
            } else {
                let (mut read, mut write) = stream.into_split();
                for number in numbers.clone() {
                    write_message(&mut write, &small(number)).await.unwrap();
                }
                for number in numbers {
                    assert_eq!(read_message(&mut read).await.unwrap(), Some(small(number)));
                }
            }
        });
    }
    soon(tasks.join_all()).await;
    server.abort();
}
