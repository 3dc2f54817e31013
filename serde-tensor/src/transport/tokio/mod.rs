//! Messages over tokio's readers and writers, with feature `tokio`.
//!
//! Three ways, one wire: a stream of frames, as the synchronous [`MessageWriter`](crate::MessageWriter) writes and
//! [`MessageReader`](crate::MessageReader) reads it, so that one end may be synchronous.
//!
//! * [`write_message`] hands a value's tensors to the writer where they are, and [`read_message`] reads into the buffer that the value
//!   then shares: for large messages. [`Encoder::write_message`](crate::Encoder::write_message) and
//!   [`Decoder::read_message`](crate::Decoder::read_message) take options.
//! * [`MessageReader`] reads the same way, and keeps what arrived: it goes on after a call that was dropped and after a message above the limit.
//! * [`MessageCodec`] is for [`Framed`](tokio_util::codec::Framed): a stream and a sink, with all that `futures` has for them. It
//!   copies each message once on the way out and once on the way in.
//!
//! Messages are always frames, since a plain one does not say where it ends; plain bytes that arrive are an error.
//!
//! # Cancel safety
//!
//! | | dropped before it is done, as in `select!` |
//! |---|---|
//! | `Framed::next` | nothing is lost: what arrived is in the codec, and the next call goes on |
//! | `Framed::send` | the message may have been taken: it is then sent by the next `send` or `flush`, whole |
//! | [`MessageReader::read`] | nothing is lost: what arrived is kept, and the next call goes on |
//! | [`write_message`] | a part of a message may have been written: close the connection |
//! | [`read_message`] | a part of a message may have been read: close the connection |
//!
//! # Memory
//!
//! A writer that does not take more makes the call wait, which holds no more than its own message. [`Limits::message`](crate::Limits::message) says how
//! long an arriving message may be; there is no limit by default. A message above it is refused as soon as its length is known. [`MessageReader`]
//! and [`MessageCodec`] pass over what is left of it when the next is asked for, and keep nothing of it; that takes as long as it takes to arrive, so it is for
//! the reader to say whether a peer is worth it. After [`read_message`], close the connection.
//!
//! Tensors land as [everywhere](crate::device): under [`device::scope`](crate::device::scope) around the task that reads.

mod arriving;
mod codec;
mod read;
mod write;

pub use codec::MessageCodec;
pub use read::{MessageReader, read_message};
pub use write::write_message;
