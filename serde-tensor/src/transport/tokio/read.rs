//! Reading messages into the buffers that they are decoded from.

use bytes::{BufMut as _, Bytes};
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::arriving::Arriving;
use crate::decoder::Decoder;
use crate::error::Result;
use crate::limits::Limits;
use crate::wire::to_u64;

/// How much is read at once of a message that is passed over, in bytes.
const PASSED: u64 = 1 << 16;

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
    /// a [`MessageReader`](crate::tokio::MessageReader), which is cancel safe.
    ///
    /// # Errors
    ///
    /// See [`Category`](crate::Category). A message that was read and does not decode leaves the reader at the next. One above
    /// [`Limits::message`], of which the error says both, or one for which there is no memory, is refused at once, which leaves the reader in the
    /// middle of it: close the connection, or read through a [`MessageReader`](crate::tokio::MessageReader), which passes over it. After
    /// `Io`, `Eof` and bytes that are no frame there is no next.
    pub async fn read_message<R, T>(&self, reader: &mut R) -> Result<Option<T>>
    where
        R: AsyncRead + Unpin,
        T: DeserializeOwned,
    {
        let mut arriving = Arriving::default();
        let frame = read_frame(reader, &mut arriving, &self.options().limits).await?;
        frame.map(|frame| self.from_bytes(frame)).transpose()
    }
}

/// Reads messages one after another from an async reader, as [`write_message`](super::write_message) writes them. Tensors share the buffer that their
/// message was read into.
///
/// ```
/// use serde_tensor::tokio::{MessageReader, write_message};
/// use serde_tensor::{Category, Decoder, Limits, Tensor};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> serde_tensor::Result<()> {
/// let mut stream = Vec::new();
/// for len in [10, 10_000, 20] {
///     write_message(&mut stream, &Tensor::from_vec(vec![0.5_f32; len], &[len])?).await?;
/// }
/// let decoder = Decoder::new().limits(Limits::new().message(1000));
/// let mut reader = MessageReader::with_decoder(stream.as_slice(), decoder);
/// let mut shapes = Vec::new();
/// loop {
///     match reader.read::<Tensor>().await {
///         Ok(Some(tensor)) => shapes.push(tensor.shape().to_vec()),
///         Ok(None) => break,
///         // The next can be read all the same.
///         Err(error) if error.category() == Category::Limit => println!("{error}"),
///         Err(error) => return Err(error),
///     }
/// }
/// assert_eq!(shapes, [[10], [20]]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct MessageReader<R> {
    reader: R,
    decoder: Decoder,
    arriving: Arriving,
}

impl<R> MessageReader<R> {
    /// Reads from `reader` with the default options.
    pub fn new(reader: R) -> Self {
        Self::with_decoder(reader, Decoder::new())
    }

    /// Reads from `reader` with the decoder's options.
    pub fn with_decoder(reader: R, decoder: Decoder) -> Self {
        Self {
            reader,
            decoder,
            arriving: Arriving::default(),
        }
    }

    /// The reader.
    pub fn get_ref(&self) -> &R {
        &self.reader
    }

    /// The reader, to be written to where it is the connection as well; bytes that are read from it are missing in a message.
    pub fn get_mut(&mut self) -> &mut R {
        &mut self.reader
    }

    /// The reader, behind the message read last, unless a call was dropped or refused a message.
    pub fn into_inner(self) -> R {
        self.reader
    }
}

impl<R: AsyncRead + Unpin> MessageReader<R> {
    /// Reads and decodes the next message; `None` where the reader ends between two. For the rest as [`Decoder::read_message`].
    ///
    /// **Cancel safety**: this is cancel safe. When the future is dropped, what arrived is kept, and the next call goes on.
    ///
    /// # Errors
    ///
    /// See [`Category`](crate::Category). A message that was read and does not decode leaves the reader at the next. So does one above
    /// [`Limits::message`], of which the error says both, and one for which there is no memory: the error comes at once, and what is left of the
    /// message is passed over when the next is read, which takes as long as it takes to arrive. After `Io`, `Eof` and bytes that are no
    /// frame there is no next.
    pub async fn read<T: DeserializeOwned>(&mut self) -> Result<Option<T>> {
        let limits = &self.decoder.options().limits;
        let frame = read_frame(&mut self.reader, &mut self.arriving, limits).await?;
        frame.map(|frame| self.decoder.from_bytes(frame)).transpose()
    }
}

/// Reads to the end of the next frame. Whatever is read is counted before anything is waited for.
async fn read_frame<R: AsyncRead + Unpin>(
    reader: &mut R,
    arriving: &mut Arriving,
    limits: &Limits,
) -> Result<Option<Bytes>> {
    loop {
        let read = match arriving {
            Arriving::Start(start) => {
                if let Some(header) = start.header()? {
                    arriving.open(&header, limits)?;
                    continue;
                }
                let read = reader.read(start.room()).await?;
                start.advance(read)?;
                read
            }
            Arriving::Frame(frame) if frame.missing() == 0 => {
                let frame = frame.take();
                *arriving = Arriving::default();
                return frame.map(Some);
            }
            Arriving::Frame(frame) => {
                if let Err(error) = frame.grow(1) {
                    arriving.pass_over();
                    return Err(error);
                }
                let missing = frame.missing();
                reader.read_buf(&mut frame.buffer().limit(missing)).await?
            }
            Arriving::PassingOver(0) => {
                *arriving = Arriving::default();
                continue;
            }
            Arriving::PassingOver(left) => pass_over(reader, left).await?,
        };
        if read == 0 {
            return arriving.ended().map(|()| None);
        }
    }
}

/// Reads what is left of a message and keeps nothing of it; 0 where the reader ends before.
async fn pass_over<R: AsyncRead + Unpin>(reader: &mut R, left: &mut u64) -> Result<usize> {
    let most = usize::try_from(PASSED.min(*left)).unwrap_or_default();
    let mut passed = vec![0; most];
    loop {
        let most = usize::try_from(*left).unwrap_or(usize::MAX).min(passed.len());
        let read = reader.read(&mut passed[..most]).await?;
        *left -= to_u64(read);
        if read == 0 || *left == 0 {
            return Ok(read);
        }
    }
}
