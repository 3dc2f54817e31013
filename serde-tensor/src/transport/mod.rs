//! Messages over readers and writers. Knows no byte layout beyond a frame's header, which states its length.

#[cfg(feature = "axum")]
pub mod axum;
mod buffer;
mod chunks;
mod incoming;
mod reader;
mod reassembler;
mod stream;
#[cfg(feature = "tokio")]
pub mod tokio;
#[cfg(feature = "tokio-serde")]
pub mod tokio_serde;
mod writer;

pub use buffer::MessageBuffer;
pub use chunks::Chunks;
pub(crate) use reader::gap;
pub use reassembler::Reassembler;
pub use stream::{MessageReader, MessageWriter};
