//! What a service over HTTP meets on a real socket: peers that die, that are slow, that send garbage, and many at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::post;
use bytes::Bytes;
use serde_tensor::axum::{Arrival, MEDIA_TYPE, Tensors};
use serde_tensor::{DType, Decoder, Limits, Plan, Tensor};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::http::{Batch, Server, echo};

/// What nothing here takes a fraction of.
const PATIENCE: Duration = Duration::from_mins(1);

async fn soon<F: Future>(future: F) -> F::Output {
    timeout(PATIENCE, future).await.expect("it hangs")
}

async fn serving() -> Server {
    let router = Router::new()
        .route("/echo", post(echo))
        .layer(DefaultBodyLimit::disable());
    Server::start(router).await
}

/// A connection on which a request was begun, whose body is to have so many bytes.
async fn begun(server: &Server, path: &str, body: u64) -> TcpStream {
    let address = server.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: {MEDIA_TYPE}\r\nContent-Length: {body}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

/// The first line of the answer.
async fn status(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n") {
        answer.push(soon(stream.read_u8()).await.expect("an answer"));
    }
    String::from_utf8(answer).unwrap().trim_end().to_owned()
}

async fn serves_others(server: &Server) {
    let batch = Batch::of(10_000);
    let response = soon(server.ask("/echo", serde_tensor::to_vec(&batch).unwrap())).await;
    let echoed: Batch = serde_tensor::from_bytes(response.bytes().await.unwrap()).unwrap();
    assert_eq!(echoed, batch);
}

#[tokio::test]
async fn a_client_that_dies_in_the_middle_of_an_upload_loses_its_request_alone() {
    let server = serving().await;
    let message = serde_tensor::to_vec(&Batch::of(1_000_000)).unwrap();
    for sent in [0, 5, 64, 500_000] {
        // It says that it sends no more, and still hears why that is refused.
        let mut stream = begun(&server, "/echo", message.len() as u64).await;
        stream.write_all(&message[..sent]).await.unwrap();
        stream.shutdown().await.unwrap();
        assert_eq!(status(&mut stream).await, "HTTP/1.1 400 Bad Request", "after {sent}");

        let mut stream = begun(&server, "/echo", message.len() as u64).await;
        stream.write_all(&message[..sent]).await.unwrap();
        drop(stream);
        serves_others(&server).await;
    }
}

/// Memory that says when it goes.
struct Watched(Vec<u8>, Arc<AtomicBool>);

impl AsRef<[u8]> for Watched {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.1.store(true, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn a_client_that_dies_in_the_middle_of_a_reply_does_not_keep_its_memory() {
    const LARGE: usize = 64 << 20;
    let gone = Arc::new(AtomicBool::new(false));
    let large = {
        let gone = gone.clone();
        move || {
            let bytes = Bytes::from_owner(Watched(vec![1; LARGE], gone.clone()));
            async move { Tensors(Tensor::from_bytes(DType::U8, &[LARGE], bytes).unwrap()) }
        }
    };
    let server = Server::start(Router::new().route("/echo", post(echo)).route("/large", post(large))).await;
    let mut stream = begun(&server, "/large", 0).await;
    assert_eq!(status(&mut stream).await, "HTTP/1.1 200 OK");
    stream.read_exact(&mut [0; 1000]).await.unwrap();
    sleep(Duration::from_millis(50)).await;
    assert!(!gone.load(Ordering::SeqCst), "more is sent than anyone reads");
    serves_others(&server).await;
    drop(stream);
    soon(async {
        while !gone.load(Ordering::SeqCst) {
            sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    serves_others(&server).await;
}

#[tokio::test]
async fn a_server_that_dies_in_the_middle_of_a_reply_is_an_error_and_not_a_hang() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let message = serde_tensor::to_vec(&Batch::of(1_000_000)).unwrap();
    let server = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {MEDIA_TYPE}\r\nContent-Length: {}\r\n\r\n",
            message.len()
        );
        stream.read_u8().await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&message[..500_000]).await.unwrap();
        stream.shutdown().await.unwrap();
    };
    let client = async {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let response = client.post(url).send().await.unwrap();
        assert_eq!(response.status(), 200);
        response.bytes().await.unwrap_err()
    };
    soon(async { tokio::join!(server, client) }).await;
}

#[tokio::test]
async fn a_slow_upload_arrives_and_keeps_nobody_waiting() {
    let server = serving().await;
    let batch = Batch::of(200_000);
    // As the service answers.
    let mut message = Vec::new();
    Plan::new(&batch).unwrap().write_to(&mut message).unwrap();
    let mut stream = begun(&server, "/echo", message.len() as u64).await;
    for piece in message.chunks(7919) {
        stream.write_all(piece).await.unwrap();
        stream.flush().await.unwrap();
        serves_others(&server).await;
    }
    assert_eq!(status(&mut stream).await, "HTTP/1.1 200 OK");
    // The message is all there is behind the head.
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(soon(stream.read_u8()).await.unwrap());
    }
    let mut echoed = vec![0; message.len()];
    soon(stream.read_exact(&mut echoed)).await.unwrap();
    assert_eq!(serde_tensor::from_slice::<Batch>(&echoed).unwrap(), batch);
}

/// The client promises a terabyte and more, sends a few bytes, and waits.
#[tokio::test]
async fn garbage_and_lies_about_lengths_are_refused_at_once() {
    let limited = Arrival::new().decoder(Decoder::new().limits(Limits::new().message(1 << 50)));
    let router = Router::new()
        .route("/echo", post(echo))
        .layer(DefaultBodyLimit::disable())
        .with_state(limited);
    let server = Server::start(router).await;
    let message = serde_tensor::to_vec(&Batch::of(5000)).unwrap();
    let garbage = [b"\xC1STO".as_slice(), &message].concat();
    let mut lying = message[..64].to_vec();
    lying[8..16].copy_from_slice(&(1_u64 << 60).to_le_bytes());
    for (promised, sent, answer) in [
        (1 << 40, garbage.as_slice(), "HTTP/1.1 400 Bad Request"),
        (1 << 40, &lying, "HTTP/1.1 413 Payload Too Large"),
        (1 << 60, &[], "HTTP/1.1 413 Payload Too Large"),
    ] {
        let mut stream = begun(&server, "/echo", promised).await;
        stream.write_all(sent).await.unwrap();
        assert_eq!(status(&mut stream).await, answer);
        serves_others(&server).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_thousand_small_requests_at_once() {
    let server = Arc::new(serving().await);
    let mut tasks = JoinSet::new();
    for id in 0..1000 {
        let server = server.clone();
        tasks.spawn(async move {
            let batch = Batch { id, ..Batch::of(8) };
            let response = server.ask("/echo", serde_tensor::to_vec(&batch).unwrap()).await;
            let echoed: Batch = serde_tensor::from_bytes(response.bytes().await.unwrap()).unwrap();
            assert_eq!(echoed, batch);
        });
    }
    soon(tasks.join_all()).await;
}
