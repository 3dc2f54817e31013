//! `Tensors<T>` in axum's handlers, asked by a real HTTP client.

use std::net::SocketAddr;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, DefaultBodyLimit, FromRef, FromRequest as _, Request};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::response::IntoResponse as _;
use axum::routing::post;
use futures_util::{StreamExt as _, stream};
use reqwest::{Client, Response};
use serde_tensor::axum::{Arrival, MEDIA_TYPE, Tensors};
use serde_tensor::{
    DType, Decoder, Device, Encoder, Limits, OnMissing, Plan, Tensor, TensorDeserialize, TensorSerialize,
};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::common::sim::{EightGpus, OneGpu, SimTensor};

#[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq, Clone)]
pub(crate) struct Batch {
    pub(crate) id: u32,
    #[tensor]
    pub(crate) images: Vec<Tensor>,
}

impl Batch {
    pub(crate) fn of(len: usize) -> Self {
        Self {
            id: 7,
            images: vec![ramp(len), ramp(600)],
        }
    }
}

fn ramp(len: usize) -> Tensor {
    let bytes: Vec<u8> = (0..251).cycle().take(len).collect();
    Tensor::from_bytes(DType::U8, &[len], bytes).unwrap()
}

/// A server, stopped when it is dropped.
pub(crate) struct Server {
    pub(crate) url: String,
    serving: JoinHandle<()>,
    client: Client,
}

impl Server {
    pub(crate) async fn start(router: Router) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let service = router.into_make_service_with_connect_info::<SocketAddr>();
        let serving = tokio::spawn(async move { axum::serve(listener, service).await.unwrap() });
        Self {
            url,
            serving,
            client: Client::builder().no_proxy().build().unwrap(),
        }
    }

    pub(crate) async fn ask(&self, path: &str, body: Vec<u8>) -> Response {
        self.ask_as(path, Some(MEDIA_TYPE), body).await
    }

    async fn ask_as(&self, path: &str, media_type: Option<&str>, body: Vec<u8>) -> Response {
        let mut request = self.client.post(format!("{}{path}", self.url)).body(body);
        if let Some(media_type) = media_type {
            request = request.header(CONTENT_TYPE, media_type);
        }
        request.send().await.unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn refused(response: Response) -> (u16, String) {
    (response.status().as_u16(), response.text().await.unwrap())
}

/// Hands its batch back.
pub(crate) async fn echo(Tensors(batch): Tensors<Batch>) -> Tensors<Batch> {
    Tensors(batch)
}

#[tokio::test]
async fn a_batch_goes_up_and_comes_back_over_one_connection_that_is_kept() {
    let peer = async |ConnectInfo(peer): ConnectInfo<SocketAddr>, Tensors(batch): Tensors<Batch>| {
        Tensors((batch, u32::from(peer.port())))
    };
    let router = Router::new()
        .route("/echo", post(peer))
        .layer(DefaultBodyLimit::disable());
    let server = Server::start(router).await;
    let mut ports = Vec::new();
    for len in [0, 600, 100_000, 5_000_000] {
        let batch = Batch::of(len);
        let mut planned = Vec::new();
        Plan::new(&batch).unwrap().write_to(&mut planned).unwrap();
        for message in [serde_tensor::to_vec(&batch).unwrap(), planned] {
            let response = server.ask("/echo", message).await;
            assert_eq!(response.status(), 200);
            assert_eq!(response.headers()[CONTENT_TYPE], MEDIA_TYPE);
            let stated: usize = response.headers()[CONTENT_LENGTH].to_str().unwrap().parse().unwrap();
            let body = response.bytes().await.unwrap();
            assert_eq!(body.len(), stated);
            let (echoed, port): (Batch, u32) = serde_tensor::from_bytes(body).unwrap();
            assert_eq!(echoed, batch);
            ports.push(port);
        }
    }
    // A refused request, read to its end, does not cost the connection either.
    let (status, _) = refused(server.ask("/echo", vec![0xC0]).await).await;
    assert_eq!(status, 400);
    let response = server.ask("/echo", serde_tensor::to_vec(&Batch::of(1)).unwrap()).await;
    let (_, port): (Batch, u32) = serde_tensor::from_bytes(response.bytes().await.unwrap()).unwrap();
    ports.push(port);
    ports.dedup();
    assert_eq!(ports.len(), 1, "{ports:?}");
}

/// A message without large tensors is plain MessagePack, which any client may send.
#[tokio::test]
async fn plain_messages_and_parameters_of_the_media_type_are_taken() {
    let server = Server::start(Router::new().route("/echo", post(echo))).await;
    let plain = serde_tensor::to_vec(&(1u8, Vec::<u8>::new())).unwrap();
    assert_eq!(plain[0], 0x92);
    for media_type in ["application/vnd.serde-tensor; v=1", "Application/Vnd.Serde-Tensor"] {
        let response = server.ask_as("/echo", Some(media_type), plain.clone()).await;
        assert_eq!(response.status(), 200);
    }
}

#[tokio::test]
async fn another_media_type_is_415() {
    let server = Server::start(Router::new().route("/echo", post(echo))).await;
    let message = serde_tensor::to_vec(&Batch::of(1)).unwrap();
    for (media_type, reason) in [
        (
            None,
            "the request has no Content-Type; application/vnd.serde-tensor is expected",
        ),
        (
            Some("application/json"),
            "the Content-Type is application/json; application/vnd.serde-tensor is expected",
        ),
        (
            Some("application/vnd.serde-tensors"),
            "the Content-Type is application/vnd.serde-tensors; application/vnd.serde-tensor is expected",
        ),
    ] {
        let (status, said) = refused(server.ask_as("/echo", media_type, message.clone()).await).await;
        assert_eq!((status, said.as_str()), (415, reason));
    }
}

/// Three limits: the format's, axum's, and the format's again where the client does not say how long its body is.
#[tokio::test]
async fn a_body_that_is_too_long_is_413_and_says_how_long() {
    let limited = Arrival::new().decoder(Decoder::new().limits(Limits::new().message(10_000)));
    let router = Router::new()
        .route("/ours", post(echo).layer(DefaultBodyLimit::disable()))
        .with_state(limited.clone())
        .merge(Router::new().route("/axums", post(echo).layer(DefaultBodyLimit::max(10_000))));
    let server = Server::start(router).await;
    let message = serde_tensor::to_vec(&Batch::of(20_000)).unwrap();
    let len = message.len();
    let (status, said) = refused(server.ask("/ours", message.clone()).await).await;
    assert_eq!(
        (status, said),
        (413, format!("a message of {len} bytes, above the limit of 10000"))
    );
    let (status, said) = refused(server.ask("/axums", message.clone()).await).await;
    assert_eq!(
        (status, said),
        (413, format!("a body of {len} bytes is longer than this route takes"))
    );
    let response = server.ask("/ours", serde_tensor::to_vec(&Batch::of(1)).unwrap()).await;
    assert_eq!(response.status(), 200);

    let unstated = |message: Vec<u8>| {
        let parts = stream::iter(message.into_iter().map(|byte| Ok::<_, std::io::Error>(vec![byte])));
        Request::builder()
            .header(CONTENT_TYPE, MEDIA_TYPE)
            .body(Body::from_stream(parts))
            .unwrap()
    };
    let text = serde_tensor::to_vec(&"plain ".repeat(4000)).unwrap();
    for (message, says) in [
        (message, format!("{len} bytes,")),
        (text, "10001 bytes or more,".to_owned()),
    ] {
        let refusal = Tensors::<Batch>::from_request(unstated(message), &limited)
            .await
            .unwrap_err();
        assert_eq!(refusal.status(), 413);
        assert_eq!(
            refusal.to_string(),
            format!("a message of {says} above the limit of 10000")
        );
    }
}

#[tokio::test]
async fn a_body_that_is_truncated_or_malformed_is_400_with_the_place() {
    let server = Server::start(Router::new().route("/echo", post(echo))).await;
    let whole = serde_tensor::to_vec(&Batch::of(5000)).unwrap();
    let len = whole.len();
    let cases = [
        (vec![], "the message is empty, at byte 0".to_owned()),
        (
            whole[..30].to_vec(),
            "a frame's header takes 64 bytes, the reader ended after 30, at byte 30".to_owned(),
        ),
        (
            whole[..3000].to_vec(),
            format!("the frame has {len} bytes, the reader ended after 3000, at byte 3000"),
        ),
        (
            [&whole[..], b"x"].concat(),
            format!("bytes are left over after the frame, at byte {len}"),
        ),
        (
            b"\xC1STNo".to_vec(),
            "a frame's header takes 64 bytes, the reader ended after 5, at byte 5".to_owned(),
        ),
        (
            b"\xC1STO".to_vec(),
            "a frame starts with C1 53 54 4E, at byte 0".to_owned(),
        ),
        (
            serde_tensor::to_vec(&(7u8, vec![Some(ramp(3)), None])).unwrap(),
            "[1][1]: ".to_owned(),
        ),
    ];
    for (body, reason) in cases {
        let (status, said) = refused(server.ask("/echo", body).await).await;
        assert_eq!(status, 400);
        assert!(said.starts_with(&reason), "{said}\n{reason}");
    }
    #[derive(TensorSerialize)]
    struct Other {
        id: &'static str,
        #[tensor]
        images: Vec<Tensor>,
    }
    let other = Other {
        id: "seven",
        images: vec![],
    };
    let (status, said) = refused(server.ask("/echo", serde_tensor::to_vec(&other).unwrap()).await).await;
    assert_eq!(status, 400);
    assert!(
        said.starts_with("id: invalid type: string \"seven\", expected u32"),
        "{said}"
    );
}

#[derive(Clone)]
struct Service {
    arrival: Arrival,
}

impl FromRef<Service> for Arrival {
    fn from_ref(service: &Service) -> Self {
        service.arrival.clone()
    }
}

/// Two routes with a state each, asked at the same time; a device that is not there is the server's fault.
#[tokio::test]
async fn tensors_land_on_the_device_of_the_routers_state() {
    let landed = async |Tensors(tensor): Tensors<SimTensor<EightGpus>>| tensor.device().to_string();
    let missing = async |Tensors(tensor): Tensors<SimTensor<OneGpu>>| tensor.device().to_string();
    let on = |index| Arrival::new().device(Device::Cuda(index));
    let strict = on(5).decoder(Decoder::new().on_missing(OnMissing::Error));
    let router = Router::new()
        .route("/stateless", post(landed))
        .merge(
            Router::new()
                .route("/2", post(landed))
                .with_state(Service { arrival: on(2) }),
        )
        .merge(Router::new().route("/3", post(landed)).with_state(on(3)))
        .merge(Router::new().route("/missing", post(missing)).with_state(strict));
    let server = Server::start(router).await;
    let message = serde_tensor::to_vec(&SimTensor::<EightGpus>::cpu(&[0.5; 300])).unwrap();
    let ask = async |path: &str| refused(server.ask(path, message.clone()).await).await;
    for _ in 0..10 {
        let (none, two, three) = tokio::join!(ask("/stateless"), ask("/2"), ask("/3"));
        assert_eq!(
            (none.1.as_str(), two.1.as_str(), three.1.as_str()),
            ("cpu", "cuda:2", "cuda:3")
        );
    }
    let (status, said) = ask("/missing").await;
    assert_eq!(status, 500);
    assert!(
        said.contains("device cuda:5, chosen by the innermost guard, is not there"),
        "{said}"
    );
}

#[tokio::test]
async fn a_response_is_sent_from_where_its_tensors_are() {
    let batch = Batch::of(100_000);
    let address = batch.images[0].bytes().as_ptr();
    let response = Tensors(batch.clone()).into_response();
    let parts: Vec<_> = response
        .into_body()
        .into_data_stream()
        .map(Result::unwrap)
        .collect()
        .await;
    assert!(
        parts
            .iter()
            .any(|part| part.as_ptr() == address && part.len() == 100_000)
    );
    assert_eq!(serde_tensor::from_slice::<Batch>(&parts.concat()).unwrap(), batch);
}

#[tokio::test]
async fn a_request_is_read_into_the_buffer_that_its_tensors_share() {
    let batch = [ramp(5000), ramp(100_000)];
    let message = Encoder::new().align(4096).to_vec(&batch).unwrap();
    for piece in [1, 63, 64, 65, 16_384, 1 << 20] {
        let parts: Vec<_> = message
            .chunks(piece)
            .map(|part| Ok::<_, std::io::Error>(part.to_vec()))
            .collect();
        let request = Request::builder()
            .header(CONTENT_TYPE, MEDIA_TYPE)
            .body(Body::from_stream(stream::iter(parts)))
            .unwrap();
        let Tensors(read) = Tensors::<[Tensor; 2]>::from_request(request, &()).await.unwrap();
        assert_eq!(read, batch);
        let [first, second] = read.map(|tensor| tensor.bytes().as_ptr().addr());
        assert!(first.is_multiple_of(4096) && second.is_multiple_of(4096));
        assert_eq!(second - first, 8192, "not one buffer");
    }
}

#[tokio::test]
async fn a_response_that_cannot_be_encoded_is_500_with_the_reason() {
    #[derive(TensorSerialize)]
    struct Deep(#[tensor] Option<Box<Deep>>, u8);
    let deep = (0..200).fold(Deep(None, 0), |deep, _| Deep(Some(Box::new(deep)), 0));
    let response = Tensors(deep).into_response();
    assert_eq!(response.status(), 500);
    let parts: Vec<_> = response
        .into_body()
        .into_data_stream()
        .map(Result::unwrap)
        .collect()
        .await;
    assert!(String::from_utf8(parts.concat()).unwrap().contains("128"));
}
