//! What messages cost on transports over as many raw bytes sent the same way; `docs/transports.md` has the table.
//!
//! Every line is the ratio of two minima, taken in turns: the time of a message with tensors, planned, sent, received and decoded, and that of raw
//! bytes of its length. `NATS_SERVER` names the program of a server; without it that line is left out.

#[path = "../examples/shared_memory/domain.rs"]
mod domain;
#[path = "../examples/shared_memory/fill.rs"]
mod fill;
#[path = "../examples/distributed/messages.rs"]
mod messages;

use std::error::Error;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use domain::Domain;
use futures_util::StreamExt as _;
use iceoryx2::prelude::*;
use ipc_channel::ipc as channels;
use messages::Messages;
use serde_tensor::{Plan, Reassembler, Tensor, TensorDeserialize, TensorSerialize, TensorView};
use timely::bytes::arc::BytesMut;
use timely::container::PushInto as _;
use timely::dataflow::channels::ContainerBytes;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

#[derive(Clone, TensorSerialize, TensorDeserialize)]
struct State {
    step: u64,
    #[tensor]
    layers: Vec<Tensor>,
}

#[derive(TensorDeserialize)]
struct Borrowed<'a> {
    step: u64,
    #[serde(borrow)]
    #[tensor]
    layers: Vec<TensorView<'a>>,
}

impl State {
    /// Tensors of 2 MB.
    fn of(layers: usize) -> Result<Self> {
        let values: Vec<f32> = (0..500_000_u32)
            .map(|value| f32::from_bits(value.wrapping_mul(2_654_435_761)))
            .collect();
        let layer = |_| Tensor::from_elements(&values, &[500, 1000]);
        Ok(Self {
            step: 1,
            layers: (0..layers).map(layer).collect::<serde_tensor::Result<_>>()?,
        })
    }
}

fn main() -> Result<()> {
    // Without `--bench` it is a test: each runs once.
    let turns = if std::env::args().any(|argument| argument == "--bench") {
        15
    } else {
        1
    };
    let state = State::of(10)?;
    let raw = serde_tensor::to_vec(&state)?;
    println!(
        "{} bytes, {turns} turns; time over that of as many raw bytes",
        raw.len()
    );
    timely(&state, &raw, turns)?;
    ipc_channel(&state, &raw, turns)?;
    iceoryx2(turns)?;
    if let Some(program) = std::env::var_os("NATS_SERVER") {
        let server = Server::start(Command::new(program))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(nats(&server.url(), &state, &raw, turns))?;
    }
    kameo(&state)
}

/// Both kinds in turns; prints the ratio of their minima.
fn compare(
    what: &str,
    turns: usize,
    mut ours: impl FnMut() -> Result<()>,
    mut raw: impl FnMut() -> Result<()>,
) -> Result<()> {
    let [mut least, mut least_raw] = [Duration::MAX; 2];
    for _ in 0..turns {
        least = least.min(timed(&mut ours)?);
        least_raw = least_raw.min(timed(&mut raw)?);
    }
    tell(what, least, least_raw);
    Ok(())
}

fn timed(run: &mut impl FnMut() -> Result<()>) -> Result<Duration> {
    let start = Instant::now();
    run()?;
    Ok(start.elapsed())
}

fn tell(what: &str, ours: Duration, raw: Duration) {
    println!(
        "{what:40} {:5.2}  ({ours:?} / {raw:?})",
        ours.as_secs_f64() / raw.as_secs_f64()
    );
}

/// Into the buffer and out of it, as between two processes, without the socket.
fn timely(state: &State, raw: &[u8], turns: usize) -> Result<()> {
    let mut messages = Messages::default();
    messages.push_into(state.clone());
    let through = |len: usize, write: &mut dyn FnMut(&mut [u8])| {
        let mut buffer = vec![0; len];
        write(&mut buffer);
        BytesMut::from(buffer).freeze()
    };
    compare(
        "timely: our container",
        turns,
        || {
            let slab = through(messages.length_in_bytes(), &mut |mut room| {
                messages.into_bytes(&mut room);
            });
            drop(Messages::<State>::from_bytes(slab));
            Ok(())
        },
        || {
            drop(through(raw.len(), &mut |room| room.copy_from_slice(raw)));
            Ok(())
        },
    )
}

fn ipc_channel(state: &State, raw: &[u8], turns: usize) -> Result<()> {
    let (values_in, values_out) = channels::channel::<State>()?;
    let (bytes_sender, bytes_receiver) = channels::bytes_channel()?;
    // A message is larger than what the system holds between the two.
    let send_raw = |bytes: Vec<u8>| -> Result<Vec<u8>> {
        thread::scope(|scope| {
            let sending = scope.spawn(|| bytes_sender.send(&bytes));
            let received = bytes_receiver.recv()?;
            sending.join().map_err(|_| "the sender panicked")??;
            Ok(received)
        })
    };
    let in_band = || {
        thread::scope(|scope| {
            let sending = scope.spawn(|| values_in.send(state.clone()));
            let received = values_out.recv()?;
            sending.join().map_err(|_| "the sender panicked")??;
            drop(received);
            Ok(())
        })
    };
    let as_bytes = || {
        let received = send_raw(serde_tensor::to_vec(state)?)?;
        drop(serde_tensor::from_bytes::<State>(Bytes::from(received))?);
        Ok(())
    };
    let alone = || send_raw(raw.to_vec()).map(drop);
    compare("ipc-channel: in postcard", turns, in_band, alone)?;
    compare("ipc-channel: our message as bytes", turns, as_bytes, alone)
}

/// 248 MB into shared memory and out of it, in one process.
fn iceoryx2(turns: usize) -> Result<()> {
    let state = State::of(124)?;
    let raw = serde_tensor::to_vec(&state)?;
    let len = Plan::new(&state)?.len();
    let domain = Domain::enter(&format!("serde-tensor-bench-{}", std::process::id()));
    let node = NodeBuilder::new().config(&domain.config()?).create::<ipc::Service>()?;
    let service = node
        .service_builder(&"serde-tensor/bench".try_into()?)
        .publish_subscribe::<[u8]>()
        .payload_alignment(Alignment::new(64).ok_or("an alignment")?)
        .history_size(0)
        .subscriber_max_buffer_size(1)
        .subscriber_max_borrowed_samples(1)
        .max_subscribers(1)
        .create()?;
    let publisher = service
        .publisher_builder()
        .initial_max_slice_len(raw.len().max(len))
        .create()?;
    let subscriber = service.subscriber_builder().create()?;
    let mut decoded = Duration::MAX;
    let ours = || {
        let plan = Plan::new(&state)?;
        fill::with_plan(publisher.loan_slice_uninit(plan.len())?, &plan)?.send()?;
        let sample = subscriber.receive()?.ok_or("nothing arrived")?;
        let start = Instant::now();
        let borrowed: Borrowed<'_> = serde_tensor::from_slice(sample.payload())?;
        decoded = decoded.min(start.elapsed());
        assert_eq!((borrowed.step, borrowed.layers.len()), (1, 124));
        Ok(())
    };
    let alone = || {
        publisher.loan_slice_uninit(raw.len())?.write_from_slice(&raw).send()?;
        drop(subscriber.receive()?.ok_or("nothing arrived")?);
        Ok(())
    };
    compare("iceoryx2: 248 MB", turns, ours, alone)?;
    println!("  of which decoding, in place: {decoded:?}");
    Ok(())
}

async fn nats(url: &str, state: &State, raw: &[u8], turns: usize) -> Result<()> {
    let (sending, receiving) = (async_nats::connect(url).await?, async_nats::connect(url).await?);
    let mut arriving = receiving.subscribe("bench").await?;
    receiving.flush().await?;
    let raw = Bytes::copy_from_slice(raw);
    let limit = sending.max_payload();
    let [mut least, mut least_raw] = [Duration::MAX; 2];
    for _ in 0..turns {
        let start = Instant::now();
        let plan = Plan::new(state)?;
        let send = async {
            for chunk in plan.chunks(limit)? {
                sending.publish("bench", chunk?.into()).await?;
            }
            Ok::<_, Box<dyn Error>>(sending.flush().await?)
        };
        let receive = async {
            let mut reassembler = Reassembler::new();
            loop {
                let chunk = arriving.next().await.ok_or("the subscription ended")?;
                if let Some(message) = reassembler.push(chunk.payload)? {
                    return Ok::<_, Box<dyn Error>>(serde_tensor::from_bytes::<State>(message)?);
                }
            }
        };
        let done = tokio::join!(send, receive);
        done.0?;
        drop(done.1?);
        least = least.min(start.elapsed());

        let start = Instant::now();
        let send = async {
            for at in (0..raw.len()).step_by(limit) {
                sending
                    .publish("bench", raw.slice(at..raw.len().min(at + limit)))
                    .await?;
            }
            Ok::<_, Box<dyn Error>>(sending.flush().await?)
        };
        let receive = async {
            let mut joined = Vec::with_capacity(raw.len());
            while joined.len() < raw.len() {
                joined.extend_from_slice(&arriving.next().await.ok_or("the subscription ended")?.payload);
            }
            Ok::<_, Box<dyn Error>>(joined)
        };
        let done = tokio::join!(send, receive);
        done.0?;
        drop(done.1?);
        least_raw = least_raw.min(start.elapsed());
    }
    tell("NATS: chunks of 1 MiB", least, least_raw);
    Ok(())
}

/// Bytes, not time: kameo encodes with MessagePack, and puts that into CBOR as an array of numbers.
fn kameo(state: &State) -> Result<()> {
    let packed = rmp_serde::to_vec_named(state)?;
    let mut wrapped = Vec::new();
    ciborium::into_writer(&packed, &mut wrapped)?;
    let tensors: usize = state.layers.iter().map(|layer| layer.bytes().len()).sum();
    let over = |bytes: &[u8]| bytes.len() * 1000 / tensors;
    println!(
        "kameo: bytes sent for 1000 of tensors     {}, of which MessagePack {}",
        over(&wrapped),
        over(&packed)
    );
    Ok(())
}

struct Server(Child, u16);

impl Server {
    fn start(mut program: Command) -> Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let program = program.args(["--addr", "127.0.0.1", "--port", &port.to_string()]);
        let server = Self(program.stderr(Stdio::null()).spawn()?, port);
        for _ in 0..1000 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Ok(server);
            }
            thread::sleep(Duration::from_millis(10));
        }
        Err("the server does not listen".into())
    }

    fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.1)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
