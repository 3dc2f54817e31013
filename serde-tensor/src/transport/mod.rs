//! Messages over readers and writers. Knows no byte layout beyond a frame's header, which states its length.

mod reader;
mod stream;
mod writer;

pub use stream::{MessageReader, MessageWriter};
