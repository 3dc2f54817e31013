//! *state* from one thread to another over a pair of Unix sockets, value to value.
//!
//! The sender starts when the receiver asks; the time ends when the receiver has the value. `socket-warm`: all messages arrive in
//! one buffer; `socket-fresh`: each in memory of its own. Peers go two ways: by their ordinary verbs, from a value into a buffer and
//! from a buffer into a value; and `by hand`, as fast as their interfaces allow: a first pass tells the length, a second writes
//! each tensor to the socket from where it lies, and what is decoded borrows from the receiver's buffer.

use std::hint::black_box;
use std::io::{BufWriter, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::thread;

use serde::{Deserialize, Serialize};
use serde_tensor::{Decoder, MessageBuffer, Plan, from_reader};

use super::case::{Case, Meter, measure};
use crate::data::named::State;
use crate::data::{Data, WithTensors};

type Ours = <State as Data>::Ours;
type View<'a> = <State as Data>::View<'a>;
type Peer = <State as Data>::Peer;
type PeerView<'a> = <State as Data>::PeerView<'a>;

const WARM: bool = false;
const FRESH: bool = true;

pub(super) fn cases() -> Vec<Case> {
    let warm = |candidate, run| Case::new(State::NAME, candidate, "socket-warm", run);
    let fresh = |candidate, run| Case::new(State::NAME, candidate, "socket-fresh", run);
    vec![
        warm("copy", raw::<WARM>),
        fresh("copy", raw::<FRESH>),
        warm("serde-tensor", ours_warm),
        fresh("serde-tensor", ours_fresh),
        warm("postcard", ordinary::<Postcard, WARM>),
        fresh("postcard", ordinary::<Postcard, FRESH>),
        warm("postcard by hand", by_hand::<Postcard, WARM>),
        fresh("postcard by hand", by_hand::<Postcard, FRESH>),
        warm("rmp-serde compact", ordinary::<Rmp, WARM>),
        fresh("rmp-serde compact", ordinary::<Rmp, FRESH>),
        warm("rmp-serde compact by hand", by_hand::<Rmp, WARM>),
        fresh("rmp-serde compact by hand", by_hand::<Rmp, FRESH>),
        warm("safetensors", safetensors::<WARM>),
        fresh("safetensors", safetensors::<FRESH>),
    ]
}

/// Measures messages from `send`, in a thread of its own, to `receive`.
fn exchange(meter: &mut dyn Meter, mut send: impl FnMut(&UnixStream) + Send, mut receive: impl FnMut(&UnixStream)) {
    let (here, there) = UnixStream::pair().expect("a pair of sockets");
    let (ask, asked) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || asked.iter().for_each(|()| send(&there)));
        measure(meter, || {
            ask.send(()).expect("the sender is there");
            receive(&here);
        });
        drop(ask);
    });
}

/// The limit: the same bytes, from one buffer.
fn raw<const FRESH: bool>(meter: &mut dyn Meter) {
    let message = serde_tensor::to_vec(&State::ours()).expect("it encodes");
    meter.message(message.len());
    let mut inbox = Inbox::<FRESH>::default();
    exchange(
        meter,
        |stream| write_with_len(stream, &message),
        |stream| {
            inbox.receive(stream, |bytes| {
                black_box(bytes);
            });
        },
    );
}

fn ours_warm(meter: &mut dyn Meter) {
    let value = State::ours();
    meter.message(Plan::new(&value).expect("it encodes").len());
    let decoder = Decoder::new();
    let mut buffer = MessageBuffer::new();
    exchange(
        meter,
        |stream| send_ours(stream, &value),
        |stream| {
            let view: View<'_> = decoder.read_into(stream, &mut buffer).expect("it decodes");
            black_box(view);
        },
    );
}

fn ours_fresh(meter: &mut dyn Meter) {
    let value = State::ours();
    meter.message(Plan::new(&value).expect("it encodes").len());
    exchange(
        meter,
        |stream| send_ours(stream, &value),
        |stream| {
            black_box(from_reader::<_, Ours>(stream).expect("it decodes"));
        },
    );
}

fn send_ours(stream: &UnixStream, value: &Ours) {
    let plan = Plan::new(value).expect("it encodes");
    plan.write_to_fd(stream).expect("the receiver is there");
}

/// A format that writes to a writer and reads from a slice.
trait Format {
    fn write(value: &Peer, writer: impl Write);
    fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> T;
}

enum Postcard {}

impl Format for Postcard {
    fn write(value: &Peer, writer: impl Write) {
        postcard::to_io(value, writer).expect("it encodes");
    }

    fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> T {
        postcard::from_bytes(bytes).expect("it decodes")
    }
}

enum Rmp {}

impl Format for Rmp {
    fn write(value: &Peer, mut writer: impl Write) {
        let mut serializer = rmp_serde::Serializer::new(&mut writer);
        value.serialize(&mut serializer).expect("it encodes");
    }

    fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> T {
        rmp_serde::from_slice(bytes).expect("it decodes")
    }
}

fn ordinary<F: Format, const FRESH: bool>(meter: &mut dyn Meter) {
    let value = State::peer();
    let encode = || {
        let mut message = Vec::new();
        F::write(&value, &mut message);
        message
    };
    meter.message(encode().len());
    let mut inbox = Inbox::<FRESH>::default();
    exchange(
        meter,
        |stream| write_with_len(stream, &encode()),
        |stream| {
            black_box(inbox.receive(stream, |bytes| F::read::<Peer>(bytes)));
        },
    );
}

fn by_hand<F: Format, const FRESH: bool>(meter: &mut dyn Meter) {
    let value = State::peer();
    let len = || {
        let mut counter = Counter(0);
        F::write(&value, &mut counter);
        counter.0
    };
    meter.message(len());
    let mut inbox = Inbox::<FRESH>::default();
    exchange(
        meter,
        |stream| {
            let mut writer = BufWriter::with_capacity(1 << 16, stream);
            let len = (len() as u64).to_le_bytes();
            writer.write_all(&len).expect("the receiver is there");
            F::write(&value, &mut writer);
            writer.flush().expect("the receiver is there");
        },
        |stream| {
            inbox.receive(stream, |bytes| {
                black_box(F::read::<PeerView<'_>>(bytes));
            });
        },
    );
}

/// It writes into new buffers alone, and reads views alone.
fn safetensors<const FRESH: bool>(meter: &mut dyn Meter) {
    let value = State::peer();
    let tensors = State::tensors(&value).into_iter();
    let views: Vec<_> = tensors.map(|(name, tensor)| (name, tensor.as_safetensor())).collect();
    let encode = || {
        let tensors = views.iter().map(|(name, tensor)| (*name, tensor));
        ::safetensors::serialize(tensors, None).expect("it encodes")
    };
    meter.message(encode().len());
    let mut inbox = Inbox::<FRESH>::default();
    exchange(
        meter,
        |stream| write_with_len(stream, &encode()),
        |stream| {
            inbox.receive(stream, |bytes| {
                black_box(::safetensors::SafeTensors::deserialize(bytes).expect("it decodes"));
            });
        },
    );
}

/// A message of a peer has its length in front: none of them knows where it ends before it is decoded.
fn write_with_len(mut stream: &UnixStream, message: &[u8]) {
    let len = (message.len() as u64).to_le_bytes();
    stream.write_all(&len).expect("the receiver is there");
    stream.write_all(message).expect("the receiver is there");
}

/// Where a peer's messages arrive.
#[derive(Default)]
struct Inbox<const FRESH: bool> {
    buffer: Vec<u8>,
}

impl<const FRESH: bool> Inbox<FRESH> {
    fn receive<R>(&mut self, mut stream: &UnixStream, read: impl FnOnce(&[u8]) -> R) -> R {
        let mut len = [0; 8];
        stream.read_exact(&mut len).expect("the sender is there");
        let len = usize::try_from(u64::from_le_bytes(len)).expect("a length of memory");
        if self.buffer.len() != len {
            // The system's zero pages, which cost nothing before they are written to.
            self.buffer = vec![0; len];
        }
        stream.read_exact(&mut self.buffer).expect("the sender is there");
        let value = read(&self.buffer);
        if FRESH {
            self.buffer = Vec::new();
        }
        value
    }
}

/// Counts what is written to it.
struct Counter(usize);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
