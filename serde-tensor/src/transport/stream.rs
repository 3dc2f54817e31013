//! Messages one after another. Each is a frame, which states its length.

use std::io::{self, Read, Write};
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::incoming::{Incoming, behind_header, ended_passing_over};
use super::reader::{first_byte, read_header};
use crate::TensorSerialize;
use crate::decoder::Decoder;
use crate::encoder::Encoder;
use crate::error::{Category, Result};
use crate::wire::to_u64;

/// Writes messages one after another, each as a frame.
///
/// ```
/// use serde_tensor::{MessageReader, MessageWriter, Tensor};
///
/// let mut stream = Vec::new();
/// let mut writer = MessageWriter::new(&mut stream);
/// writer.write(&("step", 1))?;
/// writer.write_planned(&("step", Tensor::scalar(2u8)))?;
///
/// let mut reader = MessageReader::new(stream.as_slice());
/// assert_eq!(reader.read::<(String, u8)>()?, Some(("step".to_owned(), 1)));
/// assert_eq!(reader.read::<(String, Tensor)>()?.unwrap().1, Tensor::scalar(2u8));
/// assert_eq!(reader.read::<()>()?, None);
/// # Ok::<(), serde_tensor::Error>(())
/// ```
#[derive(Debug)]
pub struct MessageWriter<W> {
    writer: W,
    encoder: Encoder,
    buffer: Vec<u8>,
}

impl<W: Write> MessageWriter<W> {
    /// Writes to `writer` with the default options.
    pub fn new(writer: W) -> Self {
        Self::with_encoder(writer, Encoder::new())
    }

    /// Writes to `writer` with the encoder's options, always framed.
    pub fn with_encoder(writer: W, encoder: Encoder) -> Self {
        Self {
            writer,
            encoder: encoder.framed(true),
            buffer: Vec::new(),
        }
    }

    /// Encodes a value, in a buffer that is kept for the next, and writes the message.
    ///
    /// # Errors
    ///
    /// As [`Encoder::to_writer`]. Nothing was written unless the category is `Io`.
    pub fn write<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<()> {
        self.encoder.to_vec_into(value, &mut self.buffer)?;
        self.writer.write_all(&self.buffer)?;
        self.writer.flush()?;
        Ok(())
    }

    /// Plans a value and writes the message, its tensors from where they are.
    ///
    /// # Errors
    ///
    /// As [`Plan::new`](crate::Plan::new) and [`Plan::write_to`](crate::Plan::write_to).
    pub fn write_planned<T: ?Sized + TensorSerialize>(&mut self, value: &T) -> Result<()> {
        self.encoder.plan(value)?.write_to(&mut self.writer)
    }

    /// The writer.
    pub fn get_ref(&self) -> &W {
        &self.writer
    }

    /// The writer, all messages written.
    pub fn into_inner(self) -> W {
        self.writer
    }
}

/// Reads messages one after another, as [`MessageWriter`] writes them. Tensors share the buffer that their message was read into.
#[derive(Debug)]
pub struct MessageReader<R> {
    reader: R,
    decoder: Decoder,
    /// How many bytes are left of a message that was too long.
    skipped: u64,
}

impl<R: Read> MessageReader<R> {
    /// Reads from `reader` with the default options.
    pub fn new(reader: R) -> Self {
        Self::with_decoder(reader, Decoder::new())
    }

    /// Reads from `reader` with the decoder's options.
    pub fn with_decoder(reader: R, decoder: Decoder) -> Self {
        Self {
            reader,
            decoder,
            skipped: 0,
        }
    }

    /// Reads and decodes the next message; `None` where the reader ends between two.
    ///
    /// # Errors
    ///
    /// See [`Category`]. A message that was read and does not decode leaves the reader at the next. So does one above [`Limits::message`](crate::Limits::message), of which the
    /// error says both, and one for which there is no memory: the error comes at once, and what is left of the message is passed over when the
    /// next is read, which takes as long as it takes to arrive. After `Io`, `Eof` and bytes that are no frame there is no next.
    pub fn read<T: DeserializeOwned>(&mut self) -> Result<Option<T>> {
        self.skip()?;
        let Some(first) = first_byte(&mut self.reader)? else {
            return Ok(None);
        };
        let (start, header) = read_header(first, &mut self.reader)?;
        let mut frame = match Incoming::open(&header, &start, &self.decoder.options().limits) {
            Ok(frame) => frame,
            Err(error) => {
                self.skipped = behind_header(&header);
                return Err(error);
            }
        };
        if let Err(error) = frame.fill(&mut self.reader) {
            if error.category() == Category::Limit {
                self.skipped = to_u64(frame.missing());
            }
            return Err(error);
        }
        self.decoder.from_bytes(frame.take()?).map(Some)
    }

    /// Passes over what is left of a message that was too long.
    fn skip(&mut self) -> Result<()> {
        let passed = io::copy(&mut self.reader.by_ref().take(self.skipped), &mut io::sink())?;
        self.skipped -= passed;
        match self.skipped {
            0 => Ok(()),
            left => Err(ended_passing_over(left)),
        }
    }

    /// Reads messages of one type up to the end or the first error.
    pub fn messages<T: DeserializeOwned>(&mut self) -> Messages<'_, R, T> {
        Messages {
            reader: self,
            failed: false,
            _type: PhantomData,
        }
    }

    /// The reader.
    pub fn get_ref(&self) -> &R {
        &self.reader
    }

    /// The reader, behind the message read last.
    pub fn into_inner(self) -> R {
        self.reader
    }
}

/// The messages of a [`MessageReader`].
#[derive(Debug)]
pub struct Messages<'r, R, T> {
    reader: &'r mut MessageReader<R>,
    failed: bool,
    _type: PhantomData<fn() -> T>,
}

impl<R: Read, T: DeserializeOwned> Iterator for Messages<'_, R, T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        if self.failed {
            return None;
        }
        let message = self.reader.read().transpose()?;
        self.failed = message.is_err();
        Some(message)
    }
}
