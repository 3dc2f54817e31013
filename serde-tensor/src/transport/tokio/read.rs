//! Reading a message into the buffer that it is decoded from.

use bytes::{BufMut as _, Bytes};
use serde::de::DeserializeOwned;
use tokio::io::{self, AsyncRead, AsyncReadExt as _};

use super::super::incoming::{Incoming, Start, behind_header, ended_passing_over};
use crate::decoder::Decoder;
use crate::error::Result;
use crate::limits::Limits;
use crate::wire::to_u64;

/// Reads the next message, with the default options: see [`Decoder::read_message`], and [`write_message`](super::write_message) for an
/// example.
///
/// # Errors
///
/// As [`Decoder::read_message`].
pub async fn read_message<R, T>(reader: &mut R) -> Result<Option<T>>
where
    R: AsyncRead + Unpin,
    T: DeserializeOwned,
{
    Decoder::new().read_message(reader).await
}

impl Decoder {
    /// Reads exactly one message from an async reader, and decodes it; `None` where the reader ends between two.
    ///
    /// The bytes go straight into the buffer that the value's tensors then share. It has the length that the message states, up
    /// to [`Limits::reserve`] of it, and grows as bytes arrive beyond that.
    ///
    /// **Cancel safety**: none. When the future is dropped, a part of a message may have been read; close the connection, or read through
    /// [`MessageCodec`](crate::tokio::MessageCodec), which is cancel safe.
    ///
    /// # Errors
    ///
    /// See [`Category`](crate::Category). A message that was read and does not decode leaves the reader at the next. So does one above
    /// [`Limits::message`], of which the error says both, and one for which there is no memory: it is passed over first, which takes as long as it
    /// takes to arrive. After `Io`, `Eof` and bytes that are no frame there is no next.
    pub async fn read_message<R, T>(&self, reader: &mut R) -> Result<Option<T>>
    where
        R: AsyncRead + Unpin,
        T: DeserializeOwned,
    {
        let frame = read_frame(reader, &self.options().limits).await?;
        frame.map(|frame| self.from_bytes(frame)).transpose()
    }
}

async fn read_frame<R: AsyncRead + Unpin>(reader: &mut R, limits: &Limits) -> Result<Option<Bytes>> {
    let mut start = Start::new();
    let header = loop {
        let read = reader.read(start.room()).await?;
        if read == 0 {
            return if start.is_empty() { Ok(None) } else { Err(start.ended()) };
        }
        if let Some(header) = start.advance(read)? {
            break header;
        }
    };
    let mut frame = match Incoming::open(&header, &start, limits) {
        Ok(frame) => frame,
        Err(error) => {
            pass_over(reader, behind_header(&header)).await?;
            return Err(error);
        }
    };
    while frame.missing() > 0 {
        let missing = frame.missing();
        if let Err(error) = frame.grow(1) {
            pass_over(reader, to_u64(missing)).await?;
            return Err(error);
        }
        if reader.read_buf(&mut frame.buffer().limit(missing)).await? == 0 {
            break;
        }
    }
    frame.take().map(Some)
}

/// Reads what is left of a message that was too long, for the limit or for the memory, and keeps nothing of it.
async fn pass_over<R: AsyncRead + Unpin>(reader: &mut R, left: u64) -> Result<()> {
    let passed = io::copy(&mut reader.take(left), &mut io::sink()).await?;
    if passed < left {
        return Err(ended_passing_over(left - passed));
    }
    Ok(())
}
