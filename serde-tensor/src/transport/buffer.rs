//! Memory that messages are read into, one after another.

use std::fmt;
use std::io::Read;
use std::mem;
use std::ops::Range;

use serde::Deserialize;

use super::incoming::Incoming;
use super::reader::{check_limit, first_byte, read_header, read_plain_into};
use crate::decoder::Decoder;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::wire::frame::MAGIC;

/// A buffer for [`Decoder::read_into`], to be used again and again: it grows to the longest message and keeps its memory.
///
/// In it, a frame's segments are aligned as the frame says.
#[derive(Default)]
pub struct MessageBuffer {
    memory: Vec<u8>,
    /// Where the message read last is.
    message: Range<usize>,
}

impl MessageBuffer {
    /// An empty buffer, without memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty buffer with memory for messages of so many bytes, at the default alignment.
    pub fn with_capacity(bytes: usize) -> Self {
        Self {
            memory: Vec::with_capacity(bytes.saturating_add(64)),
            message: 0..0,
        }
    }

    /// The message read last; empty before the first, and behind an error.
    pub fn message(&self) -> &[u8] {
        &self.memory[self.message.clone()]
    }

    /// The bytes of memory it has.
    pub fn capacity(&self) -> usize {
        self.memory.capacity()
    }

    /// Reads one message: exactly one frame, or a plain message to the end of the reader.
    fn read(&mut self, mut reader: impl Read, limits: &Limits) -> Result<&[u8]> {
        self.message = 0..0;
        match first_byte(&mut reader)? {
            None => return Err(Error::eof("the message is empty").at(0)),
            Some(first) if first == MAGIC[0] => {
                let (start, header) = read_header(first, &mut reader)?;
                // Before the memory is given away, which an error would lose.
                check_limit(header.frame_len, "", limits)?;
                let memory = mem::take(&mut self.memory);
                let mut frame = Incoming::open_in(memory, &header, &start, limits)?;
                if let Err(error) = frame.fill(reader).and_then(|()| frame.check_whole()) {
                    self.memory = frame.into_buffer();
                    return Err(error);
                }
                (self.memory, self.message) = frame.finish_in()?;
            }
            Some(first) => {
                read_plain_into(&mut self.memory, first, reader, limits)?;
                self.message = 0..self.memory.len();
            }
        }
        Ok(self.message())
    }
}

impl fmt::Debug for MessageBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageBuffer")
            .field("capacity", &self.capacity())
            .field("message", &self.message)
            .finish_non_exhaustive()
    }
}

impl Decoder {
    /// Reads and decodes a value, which may borrow from `buffer`: exactly one frame, or a plain message to the end of the reader.
    ///
    /// A [`TensorView`](crate::TensorView) shows the buffer's own bytes; a [`Tensor`](crate::Tensor) is copied out of it. A buffer that was read into before
    /// needs no new memory for a message that fits.
    ///
    /// ```
    /// use serde_tensor::{Decoder, MessageBuffer, Tensor, TensorView};
    ///
    /// let tensor = Tensor::from_vec(vec![0.5f32; 1000], &[1000])?;
    /// let message = serde_tensor::to_vec(&tensor)?;
    /// let mut buffer = MessageBuffer::new();
    /// for _ in 0..3 {
    ///     let view: TensorView<'_> = Decoder::new().read_into(message.as_slice(), &mut buffer)?;
    ///     assert_eq!(view, tensor);
    /// }
    /// # Ok::<(), serde_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`from_reader`](Self::from_reader).
    pub fn read_into<'b, R: Read, T: Deserialize<'b>>(&self, reader: R, buffer: &'b mut MessageBuffer) -> Result<T> {
        self.from_slice(buffer.read(reader, &self.options().limits)?)
    }
}
