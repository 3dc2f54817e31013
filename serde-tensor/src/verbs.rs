//! The format in five verbs.

use std::io::{Read, Write};

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::decoder::Decoder;
use crate::encoder::Encoder;
use crate::error::Result;

/// Encodes a value: as plain MessagePack where every tensor is small, else as a frame.
///
/// # Errors
///
/// As [`Encoder::to_vec`].
///
/// # Examples
///
/// ```
/// // A value without tensors is ordinary MessagePack.
/// assert_eq!(serde_tensor::to_vec(&[1u8, 2])?, [0x92, 1, 2]);
/// # Ok::<(), serde_tensor::Error>(())
/// ```
pub fn to_vec<T: ?Sized + Serialize>(value: &T) -> Result<Vec<u8>> {
    Encoder::new().to_vec(value)
}

/// Encodes a value and writes the message, which is built in memory first.
///
/// # Errors
///
/// As [`Encoder::to_writer`].
pub fn to_writer<W: Write, T: ?Sized + Serialize>(writer: W, value: &T) -> Result<()> {
    Encoder::new().to_writer(writer, value)
}

/// Decodes a value from a whole message: one of this format, or any MessagePack.
///
/// Strings, byte strings and [`TensorView`](crate::TensorView)s borrow from the slice; a [`Tensor`](crate::Tensor) gets a copy, see [`from_bytes`].
///
/// # Errors
///
/// See [`Category`](crate::Category); bytes left over after the value are an error.
///
/// # Examples
///
/// ```
/// assert_eq!(serde_tensor::from_slice::<Vec<u8>>(&[0x92, 1, 2])?, [1, 2]);
/// # Ok::<(), serde_tensor::Error>(())
/// ```
pub fn from_slice<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T> {
    Decoder::new().from_slice(bytes)
}

/// Decodes a value from a whole message, whose buffer its tensors share: they are not copied where they lie aligned in it.
/// Small ones that do not are copied, many into one piece of memory; [`Decoder::detach`] gives each its own.
///
/// # Errors
///
/// See [`Category`](crate::Category).
///
/// # Examples
///
/// ```
/// use bytes::Bytes;
/// use serde_tensor::Tensor;
///
/// let message = Bytes::from(serde_tensor::to_vec(&Tensor::from_elements(&[7u8; 1000], &[10, 100])?)?);
/// let tensor: Tensor = serde_tensor::from_bytes(message.clone())?;
/// assert!(message.as_ptr_range().contains(&tensor.bytes().as_ptr()));
/// # Ok::<(), serde_tensor::Error>(())
/// ```
pub fn from_bytes<T: DeserializeOwned>(bytes: Bytes) -> Result<T> {
    Decoder::new().from_bytes(bytes)
}

/// Reads and decodes a value: exactly one frame, or a plain message to the end of the reader. Tensors share the buffer it was
/// read into.
///
/// # Errors
///
/// As [`Decoder::from_reader`].
pub fn from_reader<R: Read, T: DeserializeOwned>(reader: R) -> Result<T> {
    Decoder::new().from_reader(reader)
}
