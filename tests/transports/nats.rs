//! NATS: `examples/nats`, through a real server.

#[path = "../../examples/nats/transfer.rs"]
mod transfer;

use std::ffi::OsString;
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use async_nats::{Client, ConnectOptions};
use futures_util::StreamExt as _;
use serde_tensor::{Plan, Reassembler, Tensor};

use crate::Result;
use crate::common::process::{Process, eventually, example, free_ports};

/// A server on a port of its own.
struct Server {
    program: OsString,
    port: u16,
    process: Process,
}

impl Server {
    /// `None`, and the reason, where there is none to start. `cargo xtask test` provides one.
    fn start() -> Option<Self> {
        let program = std::env::var_os("NATS_SERVER").unwrap_or_else(|| "nats-server".into());
        if let Err(error) = Command::new(&program).arg("--version").output() {
            assert!(
                std::env::var_os("NATS_SERVER").is_none(),
                "NATS_SERVER names {}: {error}",
                program.display()
            );
            eprintln!("skipped: no nats-server in the path ({error}); `cargo xtask test` installs one");
            return None;
        }
        let [port] = free_ports();
        let process = serve(&program, port);
        Some(Self { program, port, process })
    }

    fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Ends it as a crash would.
    fn stop(&mut self) {
        self.process.stop();
    }

    fn start_again(&mut self) {
        self.process = serve(&self.program, self.port);
    }

    fn example(&self, arguments: &[&str]) -> Process {
        Process::start(example("nats").args(arguments).env("NATS_URL", self.url()))
    }
}

fn serve(program: &OsString, port: u16) -> Process {
    let mut command = Command::new(program);
    let process = Process::start(command.args(["--addr", "127.0.0.1", "--port", &port.to_string()]));
    eventually("the server listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    process
}

const ARRIVED: &str = "5000000 values of encoder.3, all as sent";

#[test]
fn a_message_of_20_mb_passes_a_limit_of_1_mib() {
    let Some(server) = Server::start() else { return };
    let mut receiver = server.example(&["receive"]);
    assert_eq!(receiver.line(), "waiting");
    let sender = server.example(&["send"]).finish();
    let [limit, last] = &sender[..] else {
        panic!("{sender:?}")
    };
    assert!(limit.ends_with(" bytes through a limit of 1048576"), "{limit}");
    assert_eq!(last, "received");
    assert_eq!(receiver.finish(), [ARRIVED]);
}

#[test]
fn it_arrives_whole_when_the_server_is_restarted_in_the_middle() {
    let Some(mut server) = Server::start() else { return };
    let mut receiver = server.example(&["receive"]);
    assert_eq!(receiver.line(), "waiting");
    let mut sender = server.example(&["send", "--slowly"]);
    while sender.line() != "chunk 7" {}
    server.stop();
    server.start_again();
    assert_eq!(sender.finish().last().map(String::as_str), Some("received"));
    assert_eq!(receiver.finish(), [ARRIVED]);
}

/// What was lost shows, and a second attempt is not disturbed by what is left of the first.
#[tokio::test]
async fn chunks_that_a_restart_lost_are_missed_and_sent_again() -> Result<()> {
    let Some(mut server) = Server::start() else {
        return Ok(());
    };
    let connect = |delay: Duration| {
        let options = ConnectOptions::new().reconnect_delay_callback(move |_| delay);
        options.connect(server.url())
    };
    // It finds the server again late, and so misses what is sent meanwhile.
    let receiving = connect(Duration::from_secs(3)).await?;
    let sending = connect(Duration::from_millis(10)).await?;
    let mut chunks = receiving.subscribe("lossy").await?;
    receiving.flush().await?;

    let tensor = Tensor::from_vec((0..500_000_u32).collect(), &[500_000])?;
    let plan = Plan::new(&tensor)?;
    let parts = plan.chunks(100_000)?.collect::<serde_tensor::Result<Vec<_>>>()?;
    assert_eq!(parts.len(), 21);
    let mut reassembler = Reassembler::new();
    publish(&sending, "lossy", &parts[..8]).await?;
    for _ in 0..8 {
        let chunk = chunks.next().await.ok_or("the subscription ended")?;
        assert!(reassembler.push(chunk.payload)?.is_none());
    }
    server.stop();
    server.start_again();
    publish(&sending, "lossy", &parts[8..15]).await?;
    while receiving
        .statistics()
        .connects
        .load(std::sync::atomic::Ordering::Relaxed)
        < 2
    {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    receiving.flush().await?;
    publish(&sending, "lossy", &parts[15..]).await?;
    for _ in 15..21 {
        let chunk = chunks.next().await.ok_or("the subscription ended")?;
        assert!(reassembler.push(chunk.payload)?.is_none(), "it lacks seven chunks");
    }
    let missing: Vec<_> = reassembler
        .incomplete()
        .map(|(_, arrived, len)| len - arrived)
        .collect();
    assert_eq!(missing, [7 * (100_000 - 40)]);

    let received = transfer::receive::<Tensor>(&receiving, &mut chunks, &mut reassembler);
    let (received, sent) = tokio::join!(received, transfer::send(&sending, "lossy", &plan, Duration::ZERO));
    sent?;
    assert_eq!(received?, tensor);
    Ok(())
}

/// The server answers chunks that nobody subscribed to: that is no word of their arrival.
#[tokio::test]
async fn a_message_that_nobody_received_is_sent_again() -> Result<()> {
    let Some(server) = Server::start() else { return Ok(()) };
    let client = async_nats::connect(server.url()).await?;
    let tensor = Tensor::from_vec(vec![1.5_f32; 1000], &[1000])?;
    let plan = Plan::new(&tensor)?;
    let send = transfer::send(&client, "early", &plan, Duration::ZERO);
    let receive = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let mut chunks = client.subscribe("early").await?;
        transfer::receive::<Tensor>(&client, &mut chunks, &mut Reassembler::new()).await
    };
    let both = async { tokio::try_join!(send, receive) };
    let ((), received) = tokio::time::timeout(Duration::from_mins(1), both).await??;
    assert_eq!(received, tensor);
    Ok(())
}

#[tokio::test]
async fn what_is_no_chunk_is_ignored() -> Result<()> {
    let Some(server) = Server::start() else { return Ok(()) };
    let client = async_nats::connect(server.url()).await?;
    let mut chunks = client.subscribe("noisy").await?;
    client.flush().await?;
    publish(&client, "noisy", &[b"garbage".to_vec(), Vec::new(), vec![0xc1; 100]]).await?;
    let tensor = Tensor::from_vec(vec![1.5_f32; 1000], &[1000])?;
    let plan = Plan::new(&tensor)?;
    let mut reassembler = Reassembler::new();
    let received = transfer::receive::<Tensor>(&client, &mut chunks, &mut reassembler);
    let (received, sent) = tokio::join!(received, transfer::send(&client, "noisy", &plan, Duration::ZERO));
    sent?;
    assert_eq!(received?, tensor);
    Ok(())
}

async fn publish(client: &Client, subject: &str, chunks: &[Vec<u8>]) -> Result<()> {
    for chunk in chunks {
        client.publish(subject.to_owned(), chunk.clone().into()).await?;
    }
    client.flush().await?;
    Ok(())
}
