//! tarpc, unchanged, on the traits of `tokio-serde`.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use serde_tensor::tokio_serde::SerdeTensor;
use serde_tensor::{Device, Tensor, device};
use tarpc::client::{Config, RpcError};
use tarpc::context::{self, Context};
use tarpc::serde_transport::tcp;
use tarpc::server::{BaseChannel, Channel as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

use crate::common::sim::{EightGpus, SimTensor};

#[tarpc::service]
trait Worker {
    /// The tensor, and where it landed.
    async fn land(tensor: SimTensor<EightGpus>) -> (String, SimTensor<EightGpus>);

    async fn ones(len: usize) -> Tensor;

    async fn never();
}

#[derive(Clone)]
struct Server;

impl Worker for Server {
    async fn land(self, _: Context, tensor: SimTensor<EightGpus>) -> (String, SimTensor<EightGpus>) {
        (tensor.device().to_string(), tensor)
    }

    async fn ones(self, _: Context, len: usize) -> Tensor {
        Tensor::from_vec(vec![1u8; len], &[len]).unwrap()
    }

    async fn never(self, _: Context) {
        std::future::pending::<()>().await;
    }
}

/// A server whose connections each have a device of their own: the first `cuda:0`, the next `cuda:1`, and so on.
async fn serve() -> (SocketAddr, JoinHandle<()>) {
    let mut connections = tcp::listen("127.0.0.1:0", SerdeTensor::default).await.unwrap();
    let address = connections.local_addr();
    let serving = tokio::spawn(async move {
        let mut tasks = JoinSet::new();
        for index in 0.. {
            let Some(Ok(connection)) = connections.next().await else {
                return;
            };
            let requests = BaseChannel::with_defaults(connection).execute(Server.serve());
            let served = requests.for_each(async |reply| drop(tokio::spawn(reply)));
            tasks.spawn(device::scope(Device::Cuda(index), served));
        }
    });
    (address, serving)
}

async fn connect(address: SocketAddr) -> WorkerClient {
    let connection = tcp::connect(address, SerdeTensor::default).await.unwrap();
    WorkerClient::new(Config::default(), connection).spawn()
}

fn patient() -> Context {
    let mut context = context::current();
    context.deadline = Instant::now() + Duration::from_mins(1);
    context
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_calls_land_on_the_device_of_their_connections_task() {
    let (address, serving) = serve().await;
    let mut calls = JoinSet::new();
    for index in 0..4 {
        let connection = tcp::connect(address, SerdeTensor::default).await.unwrap();
        let client = WorkerClient::new(Config::default(), connection);
        // Replies are decoded in the task that dispatches them.
        let dispatch = device::scope(Device::Cuda(7 - index), client.dispatch);
        tokio::spawn(async move { drop(dispatch.await) });
        let client = client.client;
        // So that connections are accepted in this order.
        let sent = SimTensor::cpu(&[0.5]);
        let (landed, _) = client.land(patient(), sent).await.unwrap();
        assert_eq!(landed, format!("cuda:{index}"));
        // A thousand in all.
        for call in 0..250u8 {
            let client = client.clone();
            calls.spawn(async move {
                let values = vec![f32::from(call); 400];
                let (landed, tensor) = client.land(patient(), SimTensor::cpu(&values)).await.unwrap();
                assert_eq!(landed, format!("cuda:{index}"));
                assert_eq!((tensor.device(), tensor.values()), (Device::Cuda(7 - index), values));
            });
        }
    }
    calls.join_all().await;
    serving.abort();
}

/// tarpc's own limit, of 8 MiB on each side: the table in `docs/transports.md` names it.
#[tokio::test]
async fn a_reply_above_the_limit_is_an_error_and_not_a_hang() {
    let (address, serving) = serve().await;
    let client = connect(address).await;
    assert_eq!(client.ones(patient(), 1 << 20).await.unwrap().shape(), [1 << 20]);
    let error = client.ones(patient(), 9 << 20).await.unwrap_err();
    assert!(matches!(error, RpcError::Shutdown | RpcError::Channel(_)), "{error:?}");
    let client = connect(address).await;
    assert_eq!(client.ones(patient(), 10).await.unwrap().shape(), [10]);
    serving.abort();
}

#[tokio::test]
async fn a_server_that_dies_is_an_error_and_not_a_hang() {
    let (address, serving) = serve().await;
    let client = connect(address).await;
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.never(patient()).await }
    });
    client.ones(patient(), 1).await.unwrap();
    serving.abort();
    let error = call.await.unwrap().unwrap_err();
    assert!(matches!(error, RpcError::Shutdown | RpcError::Channel(_)), "{error:?}");
}

/// Over a socket: peers that send half a request, and garbage, lose their connections, and nobody else does.
#[tokio::test]
async fn a_peer_that_dies_or_sends_garbage_costs_its_connection_alone() {
    let (address, serving) = serve().await;
    let client = connect(address).await;
    let half = [0, 0, 1, 0, 0x92, 1, 2];
    let garbage = [0, 0, 0, 3, 0x92, 1, 2];
    let too_long = [0xFF; 100];
    for (sent, dies) in [(&half[..], true), (&garbage, false), (&too_long, false)] {
        let mut peer = TcpStream::connect(address).await.unwrap();
        peer.write_all(sent).await.unwrap();
        if dies {
            peer.shutdown().await.unwrap();
        }
        let closed = timeout(Duration::from_mins(1), peer.read(&mut [0; 10])).await;
        // Closed, or reset where not all was read.
        assert!(matches!(closed.expect("it hangs"), Ok(0) | Err(_)), "{sent:?}");
        assert_eq!(client.ones(patient(), 10).await.unwrap().shape(), [10]);
    }
    serving.abort();
}

/// Over a socket: half a reply arrives.
#[tokio::test]
async fn a_server_that_dies_in_the_middle_of_a_reply_is_an_error_and_not_a_hang() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = connect(listener.local_addr().unwrap()).await;
    let server = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.read_u8().await.unwrap();
        stream.write_all(&[0, 0, 1, 0, 0x92, 1, 2]).await.unwrap();
        stream.shutdown().await.unwrap();
        // It stays until the client has gone, or the end would be a reset.
        while stream.read(&mut [0; 1000]).await.is_ok_and(|read| read > 0) {}
    };
    let call = async {
        let error = client.ones(patient(), 10).await.unwrap_err();
        assert!(matches!(error, RpcError::Shutdown | RpcError::Channel(_)), "{error:?}");
        drop(client);
    };
    timeout(Duration::from_mins(1), async { tokio::join!(server, call) })
        .await
        .expect("it hangs");
}

/// What is no message reaches the task that reads as an I/O error with the format's own inside.
#[tokio::test]
async fn bytes_that_do_not_decode_are_an_error_of_the_connection() {
    let (here, mut there) = tokio::io::duplex(1000);
    // A length-delimited message of three bytes, an array, where a tensor is expected.
    there.write_all(&[0, 0, 0, 3, 0x92, 1, 2]).await.unwrap();
    let framed = tokio_util::codec::Framed::new(here, tokio_util::codec::LengthDelimitedCodec::new());
    let mut transport = tarpc::serde_transport::new::<_, Tensor, Tensor, _>(framed, SerdeTensor::default());
    let error = transport.next().await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Other);
    assert!(format!("{error:?}").contains("path: \"[0]\""), "{error:?}");
}
