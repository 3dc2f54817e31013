//! Messages for `Framed`.

use std::marker::PhantomData;
use std::mem;

use bytes::{Buf as _, Bytes, BytesMut};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_util::codec;

use super::arriving::Arriving;
use crate::decoder::Decoder;
use crate::encoder::Encoder;
use crate::error::{Error, Result};
use crate::wire::to_u64;

/// How much is read at once of a message that is longer than what is there, in bytes: few enough to be in cache when they are copied.
const READ: usize = 1 << 17;

/// Messages from this many bytes on are handed over in a buffer of their own, in bytes.
const LARGE: usize = 1 << 16;

/// Messages for [`Framed`](codec::Framed), [`FramedRead`](codec::FramedRead) and [`FramedWrite`](codec::FramedWrite): values of type
/// `Item` arrive, those of type `SinkItem` are sent.
///
/// The stream's items are results in results. The outer one is about the connection: an error there (`Io`, `Eof`, bytes that are no frame) is
/// the last there is. The inner one is about one message: it does not decode, or it is above [`Limits::message`](crate::Limits::message); the next one can be
/// read all the same.
///
/// ```
/// use futures_util::{SinkExt, StreamExt};
/// use serde_tensor::Tensor;
/// use serde_tensor::tokio::MessageCodec;
/// use tokio_util::codec::Framed;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> serde_tensor::Result<()> {
/// let (here, there) = tokio::io::duplex(4096);
/// let mut here = Framed::new(here, MessageCodec::<u32, (&str, Tensor)>::new());
/// let mut there = Framed::new(there, MessageCodec::<(String, Tensor), u32>::new());
///
/// here.send(("ones", Tensor::from_vec(vec![1u8; 600], &[20, 30])?)).await?;
/// while let Some(message) = there.next().await {
///     let (name, tensor) = message??;
///     assert_eq!((name.as_str(), tensor.shape()), ("ones", [20, 30].as_slice()));
///     there.send(1).await?;
///     # break;
/// }
/// # assert_eq!(here.next().await.unwrap()??, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct MessageCodec<Item, SinkItem = Item> {
    encoder: Encoder,
    decoder: Decoder,
    /// A message's bytes before they are appended to what is to be written.
    encoded: Vec<u8>,
    /// Whether what is to be written has the memory of a large message.
    lent: bool,
    state: Arriving,
    _types: PhantomData<fn(SinkItem) -> Item>,
}

impl<Item, SinkItem> MessageCodec<Item, SinkItem> {
    /// A codec with the default options.
    pub fn new() -> Self {
        Self::with_options(Encoder::new(), Decoder::new())
    }

    /// A codec with the encoder's options, always framed, and the decoder's, its [limits](Decoder::limits) among them.
    pub fn with_options(encoder: Encoder, decoder: Decoder) -> Self {
        Self {
            encoder: encoder.framed(true),
            decoder,
            encoded: Vec::new(),
            lent: false,
            state: Arriving::default(),
            _types: PhantomData,
        }
    }
}

impl<Item, SinkItem> Default for MessageCodec<Item, SinkItem> {
    fn default() -> Self {
        Self::new()
    }
}

impl<Item, SinkItem> Clone for MessageCodec<Item, SinkItem> {
    /// A codec with the same options, at the start of a stream.
    fn clone(&self) -> Self {
        Self::with_options(self.encoder.clone(), self.decoder.clone())
    }
}

impl<Item, SinkItem: Serialize> codec::Encoder<SinkItem> for MessageCodec<Item, SinkItem> {
    type Error = Error;

    fn encode(&mut self, value: SinkItem, out: &mut BytesMut) -> Result<()> {
        if mem::take(&mut self.lent) {
            // What is left of the message before is little, and would keep all of its memory.
            *out = BytesMut::from(&out[..]);
        }
        self.encoder.to_vec_into(&value, &mut self.encoded)?;
        if self.encoded.len() < LARGE {
            out.extend_from_slice(&self.encoded);
            return Ok(());
        }
        let message = mem::take(&mut self.encoded);
        if out.is_empty() {
            *out = BytesMut::from(Bytes::from(message));
        } else {
            out.extend_from_slice(&message);
        }
        self.lent = true;
        Ok(())
    }
}

impl<Item: DeserializeOwned, SinkItem> codec::Decoder for MessageCodec<Item, SinkItem> {
    type Item = Result<Item>;
    type Error = Error;

    fn decode(&mut self, arrived: &mut BytesMut) -> Result<Option<Result<Item>>> {
        loop {
            match &mut self.state {
                Arriving::Start(_) if arrived.is_empty() => return Ok(None),
                Arriving::Start(start) => {
                    let room = start.room();
                    let part = room.len().min(arrived.len());
                    arrived.copy_to_slice(&mut room[..part]);
                    let Some(header) = start.advance(part)? else {
                        return Ok(None);
                    };
                    if let Err(error) = self.state.open(&header, &self.decoder.options().limits) {
                        return Ok(Some(Err(error)));
                    }
                }
                Arriving::Frame(frame) => {
                    let part = frame.missing().min(arrived.len());
                    if let Err(error) = frame.put(&arrived[..part]) {
                        self.state.pass_over();
                        return Ok(Some(Err(error)));
                    }
                    arrived.advance(part);
                    if frame.missing() > 0 {
                        arrived.reserve(frame.missing().min(READ));
                        return Ok(None);
                    }
                    let frame = frame.take();
                    self.state = Arriving::default();
                    return Ok(Some(frame.and_then(|frame| self.decoder.from_bytes(frame))));
                }
                Arriving::PassingOver(left) => {
                    let part = usize::try_from(*left).unwrap_or(usize::MAX).min(arrived.len());
                    arrived.advance(part);
                    *left -= to_u64(part);
                    if *left > 0 {
                        return Ok(None);
                    }
                    self.state = Arriving::default();
                }
            }
        }
    }

    fn decode_eof(&mut self, arrived: &mut BytesMut) -> Result<Option<Result<Item>>> {
        if let Some(message) = self.decode(arrived)? {
            return Ok(Some(message));
        }
        self.state.ended().map(|()| None)
    }
}
