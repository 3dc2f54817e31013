//! What messages cost on transports, beside the same number of bytes that nobody looks at: ratios of the fastest runs.
//!
//! `cargo bench --features transports --bench async_transports` prints the rows of `docs/transports.md`. Both sides are in this process, and a
//! round is timed from before the value is encoded until it is decoded; the bytes it is compared with go into fresh memory as well.

use std::future::Future;
use std::hint::black_box;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::header::CONTENT_TYPE;
use axum::routing::post;
use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_tensor::axum::{MEDIA_TYPE, Tensors};
use serde_tensor::tokio::{MessageCodec, read_message, write_message};
use serde_tensor::tokio_serde::SerdeTensor;
use serde_tensor::{Tensor, TensorDeserialize, TensorSerialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::codec::{Framed, LengthDelimitedCodec};

#[derive(Clone, TensorSerialize, TensorDeserialize)]
struct Value {
    step: u64,
    #[tensor]
    layers: Vec<Tensor>,
}

/// Tensors of a megabyte each.
fn value(megabytes: usize) -> Value {
    let layer = |_| Tensor::from_vec(vec![0.5_f32; 1 << 18], &[512, 512]).expect("the elements of the shape");
    Value {
        step: 7,
        layers: (0..megabytes).map(layer).collect(),
    }
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    // `cargo test --benches` only sees whether it runs.
    let (megabytes, rounds) = if std::env::args().any(|argument| argument == "--bench") {
        (64, 40)
    } else {
        (1, 1)
    };
    runtime.block_on(async {
        println!("{megabytes} MiB in as many tensors, the fastest of {rounds} rounds each:");
        println!("| way | ours, ms | its raw bytes, ms | ratio |\n|---|---:|---:|---:|");
        let value = value(megabytes);
        let message = Bytes::from(serde_tensor::to_vec(&value).expect("a message"));
        over_tcp(&value, &message, rounds).await;
        length_delimited(&value, &message, rounds).await;
        over_http(&value, &message, rounds).await;
    });
}

/// Times two ways in turn, so that both meet the same noise, and prints a row.
async fn compare<A: Future, B: Future>(
    name: &str,
    rounds: usize,
    mut ours: impl FnMut() -> A,
    mut raw: impl FnMut() -> B,
) {
    let (mut best_ours, mut best_raw) = (Duration::MAX, Duration::MAX);
    for _ in 0..rounds {
        let start = Instant::now();
        black_box(raw().await);
        best_raw = best_raw.min(start.elapsed());
        let start = Instant::now();
        black_box(ours().await);
        best_ours = best_ours.min(start.elapsed());
    }
    let [ours, raw] = [best_ours, best_raw].map(|time| 1e3 * time.as_secs_f64());
    println!("| {name} | {ours:.1} | {raw:.1} | **{:.2}** |", ours / raw);
}

/// Two ends of a connection.
async fn connection() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let (here, there) = tokio::join!(TcpStream::connect(address), listener.accept());
    (here.expect("a connection"), there.expect("a connection").0)
}

async fn over_tcp(value: &Value, message: &Bytes, rounds: usize) {
    let raw = || async {
        let (mut here, mut there) = connection().await;
        let message = message.clone();
        let sender = tokio::spawn(async move { here.write_all(&message).await });
        let mut arrived = Vec::with_capacity(1 << 28);
        there.read_to_end(&mut arrived).await.expect("bytes");
        sender.await.expect("a sender").expect("written");
        arrived
    };
    let messages = || async {
        let (mut here, mut there) = connection().await;
        let value = value.clone();
        let sender = tokio::spawn(async move { write_message(&mut here, &value).await });
        let arrived = read_message::<_, Value>(&mut there).await.expect("a message");
        sender.await.expect("a sender").expect("written");
        arrived.expect("a message")
    };
    let framed = || async {
        let (here, there) = connection().await;
        let mut here = Framed::new(here, MessageCodec::<(), Value>::new());
        let mut there = Framed::new(there, MessageCodec::<Value, ()>::new());
        let value = value.clone();
        let sender = tokio::spawn(async move { here.send(value).await });
        let arrived = there.next().await.expect("a message").expect("a connection");
        sender.await.expect("a sender").expect("written");
        arrived.expect("a message")
    };
    compare("tokio, `write_message` and `read_message`", rounds, messages, raw).await;
    compare("tokio, `MessageCodec`", rounds, framed, raw).await;
}

/// What tarpc sends a message through.
async fn length_delimited(value: &Value, message: &Bytes, rounds: usize) {
    let ends = || async {
        let (here, there) = connection().await;
        let long = || LengthDelimitedCodec::builder().max_frame_length(1 << 30).new_codec();
        (Framed::new(here, long()), Framed::new(there, long()))
    };
    let raw = || async {
        let (mut here, mut there) = ends().await;
        let message = message.clone();
        let sender = tokio::spawn(async move { here.send(message).await });
        let arrived = there.next().await.expect("bytes").expect("a connection");
        sender.await.expect("a sender").expect("written");
        arrived
    };
    let messages = || async {
        let (here, there) = ends().await;
        let mut here = tarpc::serde_transport::new::<_, (), Value, _>(here, SerdeTensor::default());
        let mut there = tarpc::serde_transport::new::<_, Value, (), _>(there, SerdeTensor::default());
        let value = value.clone();
        let sender = tokio::spawn(async move { here.send(value).await });
        let arrived = there.next().await.expect("a message").expect("a connection");
        sender.await.expect("a sender").expect("written");
        arrived
    };
    compare("tarpc's transport, `SerdeTensor`", rounds, messages, raw).await;
}

/// Up and down again.
async fn over_http(value: &Value, message: &Bytes, rounds: usize) {
    let router = Router::new()
        .route("/ours", post(async |Tensors(value): Tensors<Value>| Tensors(value)))
        .route("/raw", post(async |body: Bytes| body))
        .layer(DefaultBodyLimit::disable());
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address: SocketAddr = listener.local_addr().expect("an address");
    let serving = tokio::spawn(async move { axum::serve(listener, router).await });
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let ask = async |path: &str, body: Bytes| {
        let request = client
            .post(format!("http://{address}{path}"))
            .header(CONTENT_TYPE, MEDIA_TYPE);
        let response = request.body(body).send().await.expect("a response");
        response.bytes().await.expect("a body")
    };
    let ours = || async {
        let arrived = ask("/ours", serde_tensor::to_vec(value).expect("a message").into()).await;
        serde_tensor::from_bytes::<Value>(arrived).expect("a value")
    };
    let raw = || ask("/raw", message.clone());
    compare("axum and reqwest, there and back", rounds, ours, raw).await;
    serving.abort();
}
