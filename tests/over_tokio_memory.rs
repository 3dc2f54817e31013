//! What messages over tokio allocate, counted in a binary of its own.
//!
//! Without these every other test would still pass if a slow reader made the sender pile up messages, if a message were collected
//! twice on its way in, or if a header's word for its length were taken.

#[path = "common/heap.rs"]
#[expect(dead_code, reason = "another binary uses the rest")]
mod heap;

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_tensor::tokio::{MessageCodec, MessageReader, read_message, write_message};
use serde_tensor::{Category, DType, Decoder, Encoder, Limits, Tensor};
use tokio::io::{AsyncRead, AsyncReadExt as _, duplex};
use tokio::time::sleep;
use tokio_util::codec::{Framed, FramedRead};

#[global_allocator]
static ALLOCATOR: heap::Counting = heap::Counting;

/// Runs a future on this thread alone: its outcome, and by how many bytes the heap grew at most.
fn peak<F: Future>(future: F) -> (F::Output, usize) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let (outcome, heap) = heap::watch(|| runtime.block_on(future));
    (outcome, heap.peak)
}

fn ramp(len: usize) -> Tensor {
    let bytes: Vec<u8> = (0..251).cycle().take(len).collect();
    Tensor::from_bytes(DType::U8, &[len], bytes).unwrap()
}

const MIB: usize = 1 << 20;

/// Takes a little every now and then; it decodes nothing.
async fn slow_reader(mut stream: impl AsyncRead + Unpin) -> usize {
    let mut taken = 0;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match stream.read(&mut buffer).await.unwrap() {
            0 => return taken,
            read => taken += read,
        }
        sleep(Duration::from_millis(1)).await;
    }
}

#[test]
fn a_slow_reader_makes_the_sender_wait_and_hold_one_message() {
    let tensor = ramp(MIB);
    let (taken, shared) = peak(async {
        let (mut here, there) = duplex(64 * 1024);
        let send = async move {
            for _ in 0..20 {
                write_message(&mut here, &tensor).await.unwrap();
            }
        };
        tokio::join!(slow_reader(there), send).0
    });
    assert!(taken > 20 * MIB);
    assert!(shared < 256 * 1024, "{shared}: the tensor itself is sent");

    // The codec copies: one message at a time, and another where what comes before it is not yet flushed.
    for (flushed, bound) in [(true, 2 * MIB + MIB / 2), (false, 3 * MIB + MIB / 2)] {
        let tensor = ramp(MIB);
        let (taken, copied) = peak(async {
            let (here, there) = duplex(64 * 1024);
            let send = async move {
                let mut here = Framed::new(here, MessageCodec::<(), &Tensor>::new());
                for _ in 0..20 {
                    here.feed(&tensor).await.unwrap();
                    if flushed {
                        here.flush().await.unwrap();
                    }
                }
                here.close().await.unwrap();
            };
            tokio::join!(slow_reader(there), send).0
        });
        assert!(taken > 20 * MIB);
        assert!(copied < bound, "{copied}, flushed: {flushed}");
    }
}

#[test]
fn a_receiver_that_is_slow_to_ask_holds_one_message() {
    let tensor = ramp(MIB);
    for by_codec in [false, true] {
        let tensor = tensor.clone();
        let ((), most) = peak(async {
            let (mut here, mut there) = duplex(64 * 1024);
            let send = async move {
                for _ in 0..20 {
                    write_message(&mut here, &tensor).await.unwrap();
                }
            };
            let receive = async move {
                if by_codec {
                    let mut there = FramedRead::new(there, MessageCodec::<Tensor>::new());
                    while let Some(tensor) = there.next().await {
                        assert_eq!(tensor.unwrap().unwrap().shape(), [MIB]);
                        sleep(Duration::from_millis(2)).await;
                    }
                } else {
                    while let Some(tensor) = read_message::<_, Tensor>(&mut there).await.unwrap() {
                        assert_eq!(tensor.shape(), [MIB]);
                        sleep(Duration::from_millis(2)).await;
                    }
                }
            };
            tokio::join!(send, receive);
        });
        assert!(most < MIB + MIB / 2, "{most}, by codec: {by_codec}");
    }
}

#[test]
fn a_message_is_read_into_one_buffer_of_its_own_length() {
    let mut message = Vec::new();
    let ((), _) = peak(async { write_message(&mut message, &ramp(8 * MIB)).await.unwrap() });
    let allowed = message.len() + 64 * 1024;
    let (_, read) = peak(async { read_message::<_, Tensor>(&mut message.as_slice()).await.unwrap() });
    assert!(read < allowed, "{read} for {}", message.len());
    let (_, read) = peak(async {
        let mut stream = FramedRead::new(message.as_slice(), MessageCodec::<Tensor>::new());
        stream.next().await.unwrap().unwrap().unwrap()
    });
    // And what one read takes.
    assert!(read < allowed + 256 * 1024, "{read} for {}", message.len());
}

/// A header that claims a terabyte, and a peer that sends a little of it.
#[test]
fn a_claimed_length_reserves_no_more_than_the_limit_and_grows_with_what_arrives() {
    let mut message = Vec::new();
    peak(async { write_message(&mut message, &ramp(MIB)).await.unwrap() });
    message[8..16].copy_from_slice(&(1u64 << 40).to_le_bytes());
    let decoder = Decoder::new().limits(Limits::new().reserve(64 * 1024));
    let (error, read) = peak(async {
        decoder
            .read_message::<_, Tensor>(&mut message.as_slice())
            .await
            .unwrap_err()
    });
    assert_eq!(error.category(), Category::Eof);
    assert!(read < 3 * MIB, "{read}");
    let (error, read) = peak(async {
        let codec = MessageCodec::<Tensor>::with_options(Encoder::new(), decoder.clone());
        let mut stream = FramedRead::new(message.as_slice(), codec);
        stream.next().await.unwrap().unwrap_err()
    });
    assert_eq!(error.category(), Category::Eof);
    assert!(read < 3 * MIB, "{read}");
}

#[test]
fn passing_over_a_message_above_the_limit_keeps_nothing_of_it() {
    let mut stream = Vec::new();
    peak(async { write_message(&mut stream, &ramp(16 * MIB)).await.unwrap() });
    stream.extend(Encoder::new().framed(true).to_vec(&5u8).unwrap());
    let decoder = Decoder::new().limits(Limits::new().message(1000));
    let ((), most) = peak(async {
        let mut reader = MessageReader::with_decoder(stream.as_slice(), decoder.clone());
        reader.read::<u8>().await.unwrap_err();
        assert_eq!(reader.read().await.unwrap(), Some(5u8));
        let codec = MessageCodec::<u8>::with_options(Encoder::new(), decoder.clone());
        let mut framed = FramedRead::new(stream.as_slice(), codec);
        framed.next().await.unwrap().unwrap().unwrap_err();
        assert_eq!(framed.next().await.unwrap().unwrap().unwrap(), 5);
        // And one whose length is a lie.
        stream[8..16].copy_from_slice(&(1u64 << 60).to_le_bytes());
        let mut reader = MessageReader::with_decoder(stream.as_slice(), decoder);
        assert_eq!(reader.read::<u8>().await.unwrap_err().category(), Category::Limit);
        assert_eq!(reader.read::<u8>().await.unwrap_err().category(), Category::Eof);
    });
    assert!(most < 80 * 1024, "{most}");
}

/// Else the next message would be looked for in the middle of this one.
#[test]
fn a_message_that_the_memory_ends_in_is_passed_over() {
    let mut stream = Vec::new();
    peak(async { write_message(&mut stream, &ramp(4 * MIB)).await.unwrap() });
    stream.extend(Encoder::new().framed(true).to_vec(&5u8).unwrap());
    let decoder = Decoder::new().limits(Limits::new().reserve(64 * 1024));
    let mut reader = MessageReader::with_decoder(stream.as_slice(), decoder.clone());
    let (read, _) = heap::within(MIB, || peak(reader.read::<Tensor>()));
    assert_eq!(read.unwrap_err().category(), Category::Limit);
    let (next, _) = peak(reader.read());
    assert_eq!(next.unwrap(), Some(5u8));

    let codec = MessageCodec::<u8>::with_options(Encoder::new(), decoder.clone());
    let mut framed = FramedRead::new(stream.as_slice(), codec);
    let (read, _) = heap::within(MIB, || peak(framed.next()));
    assert_eq!(read.unwrap().unwrap().unwrap_err().category(), Category::Limit);
    let (next, _) = peak(framed.next());
    assert_eq!(next.unwrap().unwrap().unwrap(), 5);

    let mut reader = serde_tensor::MessageReader::with_decoder(stream.as_slice(), decoder);
    let read = heap::within(MIB, || reader.read::<Tensor>());
    assert_eq!(read.unwrap_err().category(), Category::Limit);
    assert_eq!(reader.read().unwrap(), Some(5u8));
}

/// Over a socket, from axum: what waits are the segments, where they are.
#[test]
fn a_slow_reader_of_a_reply_makes_axum_wait_and_hold_nothing() {
    use axum::Router;
    use axum::routing::get;
    use serde_tensor::axum::Tensors;
    use tokio::io::AsyncWriteExt as _;
    use tokio::net::{TcpListener, TcpStream};

    let tensor = ramp(32 * MIB);
    let (taken, most) = peak(async {
        let router = Router::new().route("/", get(async move || Tensors(tensor)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn(async move { axum::serve(listener, router).await });
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream
            .write_all(b"GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
            .await
            .unwrap();
        let taken = slow_reader(stream).await;
        serving.abort();
        taken
    });
    assert!(taken > 32 * MIB);
    assert!(most < MIB, "{most}");
}

/// With feature `axum`: what hyper hands over piece by piece.
#[test]
fn a_request_is_not_collected_twice_and_a_response_not_at_all() {
    use axum::body::Body;
    use axum::extract::{DefaultBodyLimit, FromRequest as _, Request};
    use axum::http::header::CONTENT_TYPE;
    use axum::response::IntoResponse as _;
    use serde_tensor::axum::{MEDIA_TYPE, Tensors};

    let tensor = ramp(8 * MIB);
    let (sent, most) = peak(async {
        let mut parts = Tensors(tensor.clone()).into_response().into_body().into_data_stream();
        let mut sent = 0;
        while let Some(part) = parts.next().await {
            sent += part.unwrap().len();
        }
        sent
    });
    assert!(sent > 8 * MIB);
    assert!(most < 64 * 1024, "{most}");

    let mut message = Vec::new();
    peak(async { write_message(&mut message, &tensor).await.unwrap() });
    let pieces = futures_util::stream::iter(0..message.len().div_ceil(16 * 1024)).map({
        let message = message.clone();
        move |index| {
            Ok::<_, std::io::Error>(
                message[16 * 1024 * index..]
                    .iter()
                    .copied()
                    .take(16 * 1024)
                    .collect::<Vec<_>>(),
            )
        }
    });
    let mut request = Request::builder()
        .header(CONTENT_TYPE, MEDIA_TYPE)
        .body(Body::from_stream(pieces))
        .unwrap();
    DefaultBodyLimit::disable().apply(&mut request);
    let (read, most) = peak(async { Tensors::<Tensor>::from_request(request, &()).await.unwrap() });
    assert_eq!(read.0.shape(), [8 * MIB]);
    assert!(most < message.len() + 128 * 1024, "{most} for {}", message.len());
}
