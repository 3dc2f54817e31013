//! The traits of the crate `tokio-serde`, with feature `tokio-serde`: tarpc and others run on them unchanged.
//!
//! ```
//! use std::pin::Pin;
//!
//! use serde_tensor::Tensor;
//! use serde_tensor::tokio_serde::SerdeTensor;
//! use tokio_serde::{Deserializer, Serializer};
//!
//! // With tarpc: `tarpc::serde_transport::tcp::connect(address, SerdeTensor::default)`.
//! let mut codec = SerdeTensor::<Tensor, Tensor>::default();
//! let tensor = Tensor::from_vec(vec![0.5f32; 1000], &[1000])?;
//! let message = Pin::new(&mut codec).serialize(&tensor)?;
//! let arrived = Pin::new(&mut codec).deserialize(&message.into())?;
//! assert_eq!(tensor, arrived);
//! # Ok::<(), serde_tensor::Error>(())
//! ```
//!
//! Where one message ends is the transport's own affair: tarpc's are length-delimited, and refuse more than 8 MiB unless
//! `config_mut().max_frame_length(…)` says otherwise on both sides.
//!
//! Each message is copied once on its way out, and its tensors once on their way in: the traits hand over a message as a whole, in a buffer
//! that stays the transport's own. Tensors land as [everywhere](crate::device), on the device of the guard of the task that reads: with
//! tarpc that is the one that drives the connection (the server's `execute`, the client's `dispatch`), not the handler of a request.

use std::marker::PhantomData;
use std::pin::Pin;

use bytes::{Bytes, BytesMut};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::decoder::Decoder;
use crate::encoder::Encoder;
use crate::error::{Error, Result};

/// The format, as [`tokio_serde::Framed`] takes one: values of type `Item` arrive, those of type `SinkItem` are sent.
#[derive(Debug)]
pub struct SerdeTensor<Item, SinkItem> {
    encoder: Encoder,
    decoder: Decoder,
    _types: PhantomData<fn(SinkItem) -> Item>,
}

impl<Item, SinkItem> SerdeTensor<Item, SinkItem> {
    /// The format with the options of an encoder and a decoder.
    pub fn with_options(encoder: Encoder, decoder: Decoder) -> Self {
        Self {
            encoder,
            decoder,
            _types: PhantomData,
        }
    }
}

impl<Item, SinkItem> Default for SerdeTensor<Item, SinkItem> {
    fn default() -> Self {
        Self::with_options(Encoder::new(), Decoder::new())
    }
}

impl<Item, SinkItem> Clone for SerdeTensor<Item, SinkItem> {
    fn clone(&self) -> Self {
        Self::with_options(self.encoder.clone(), self.decoder.clone())
    }
}

impl<Item, SinkItem: Serialize> tokio_serde::Serializer<SinkItem> for SerdeTensor<Item, SinkItem> {
    type Error = Error;

    fn serialize(self: Pin<&mut Self>, value: &SinkItem) -> Result<Bytes> {
        self.encoder.to_vec(value).map(Bytes::from)
    }
}

impl<Item: DeserializeOwned, SinkItem> tokio_serde::Deserializer<Item> for SerdeTensor<Item, SinkItem> {
    type Error = Error;

    fn deserialize(self: Pin<&mut Self>, message: &BytesMut) -> Result<Item> {
        self.decoder.from_slice(message)
    }
}
