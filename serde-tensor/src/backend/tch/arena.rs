//! Messages in libtorch's memory: read into it, or mapped.

use std::io::{self, Read};

use ::tch::{Kind, Tensor};
use serde::de::DeserializeOwned;

use super::buffer::Buffer;
use super::{fault, signed};
use crate::backend::Memory;
use crate::wire::frame::{HEADER_LEN, Header, MAGIC};
use crate::wire::to_u64;
use crate::{Decoder, Error, Limits, Result};

/// How much is allocated for a plain message, which does not say its length, before it is read.
const PLAIN: usize = 64 * 1024;

/// A whole message in memory of libtorch's own, of which [`Decoder::from_memory`] makes its `tch` tensors without a copy.
///
/// ```
/// use serde_tensor::tch::{Arena, StateDict};
/// use serde_tensor::{Decoder, Transfer};
/// use tch::{Device, Kind, Tensor};
///
/// let weight = Tensor::randn([64, 64], (Kind::Float, Device::Cpu));
/// let state: StateDict = [("weight", weight.shallow_clone())].into_iter().collect();
/// let message = serde_tensor::to_vec(&state)?;
///
/// let arena = Arena::read(message.as_slice())?; // from a file, a socket, …
/// let (read, report) = Decoder::new().from_memory_with_report::<StateDict>(arena)?;
/// assert_eq!(report.tensors()[0].transfer(), Transfer::Shared);
/// assert_eq!(read.get("weight"), Some(&weight));
/// # Ok::<(), serde_tensor::Error>(())
/// ```
///
/// The memory is freed with the last tensor made of it. Tensors may be changed in place: each has a version counter of its own, so a
/// step on one does not disturb the backward pass of another. Tensors of other types are copied out of it, as are inline ones, and
/// those at an offset that is not a multiple of their element's size.
#[derive(Debug)]
pub struct Arena {
    /// At least `len` bytes.
    memory: Tensor,
    len: usize,
}

/// Reads one message into libtorch's memory and decodes it: exactly one frame, or a plain message to the end of the reader.
///
/// [`Decoder::from_memory`] of an [`Arena`], with the default options.
///
/// # Errors
///
/// As [`Arena::read`] and [`Decoder::from_memory`].
pub fn from_reader<R: Read, T: DeserializeOwned>(reader: R) -> Result<T> {
    Decoder::new().from_memory(Arena::read(reader)?)
}

impl Arena {
    /// Reads one message: exactly one frame, or a plain message to the end of the reader.
    ///
    /// # Errors
    ///
    /// `Eof` when the reader ends early, `Io` when it fails, `Syntax` for a header that is none, `Limit` where there is not the memory.
    pub fn read(reader: impl Read) -> Result<Self> {
        Self::read_within(reader, &Limits::new())
    }

    /// [`read`](Self::read) within limits: [`Limits::message`] bounds the message, and [`Limits::reserve`] what is reserved on a
    /// frame's word for its length; beyond it memory grows as bytes arrive.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read), and `Limit` for a longer message.
    pub fn read_within(mut reader: impl Read, limits: &Limits) -> Result<Self> {
        let mut start = [0; HEADER_LEN];
        let there = read_up_to(&mut reader, &mut start[..1])?;
        if there == 0 {
            return Err(Error::eof("the message is empty").at(0));
        }
        if start[0] != MAGIC[0] {
            return Self::read_plain(start[0], reader, limits);
        }
        let there = 1 + read_up_to(&mut reader, &mut start[1..])?;
        if there < HEADER_LEN {
            return Err(ended(HEADER_LEN, there, "a frame's header"));
        }
        let len = Header::read(&start)?.frame_len;
        within(len, limits)?;
        let len = usize::try_from(len).map_err(|_| Error::limit("a frame that exceeds the address space").at(8))?;
        let mut buffer = Buffer::new(len.min(limits.reserve).max(HEADER_LEN))?;
        buffer.extend(&start)?;
        while buffer.len() < len {
            if buffer.is_full() {
                buffer.grow(len)?;
            }
            let read = read_some(&mut reader, buffer.room(len)?)?;
            if read == 0 {
                return Err(ended(len, buffer.len(), "the frame"));
            }
            buffer.advance(read);
        }
        Ok(Self::of(buffer))
    }

    fn read_plain(first: u8, reader: impl Read, limits: &Limits) -> Result<Self> {
        // One more than allowed, to see whether there is more.
        let mut reader = reader.take(limits.message);
        let mut buffer = Buffer::new(PLAIN)?;
        buffer.extend(&[first])?;
        loop {
            if buffer.is_full() {
                buffer.grow(usize::MAX)?;
            }
            match read_some(&mut reader, buffer.room(usize::MAX)?)? {
                0 => break,
                read => buffer.advance(read),
            }
        }
        within(to_u64(buffer.len()), limits)?;
        Ok(Self::of(buffer))
    }

    fn of(buffer: Buffer) -> Self {
        let len = buffer.len();
        Self {
            memory: buffer.into_tensor(),
            len,
        }
    }

    /// A message that lies in the first `len` bytes of a flat tensor of bytes.
    #[cfg(target_os = "linux")]
    pub(super) fn over(memory: Tensor, len: usize) -> Self {
        Self { memory, len }
    }

    /// The memory, as a flat tensor of bytes, and the length of the message.
    pub(super) fn memory(&self) -> (&Tensor, usize) {
        (&self.memory, self.len)
    }

    /// Some of its bytes, as a tensor that shares them.
    pub(super) fn part(&self, start: usize, len: usize) -> Result<Tensor> {
        if start.checked_add(len).is_none_or(|end| end > self.len) {
            let has = self.len;
            return Err(Error::backend(format!("{len} bytes at {start} of a message of {has}")));
        }
        let part = self.memory.f_narrow(0, signed(start)?, signed(len)?);
        part.map_err(|error| fault("libtorch cannot share the memory", error))
    }
}

impl Memory for Arena {
    fn len(&self) -> usize {
        self.len
    }

    // By libtorch, as all that reads memory which a tensor may be writing to.
    fn read(&self, offset: usize, out: &mut [u8]) -> Result<()> {
        if out.is_empty() {
            return Ok(());
        }
        let part = self.part(offset, out.len())?;
        if part.data_ptr().is_null() || part.f_kind().ok() != Some(Kind::Uint8) {
            return Err(Error::backend("a message's memory is gone"));
        }
        let copied = part.f_copy_data_u8(out, out.len());
        copied.map_err(|error| fault("libtorch cannot read the memory", error))
    }
}

/// Fills `buffer` as far as the reader goes.
fn read_up_to(reader: &mut impl Read, buffer: &mut [u8]) -> Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match read_some(reader, &mut buffer[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}

fn read_some(reader: &mut impl Read, buffer: &mut [u8]) -> Result<usize> {
    loop {
        match reader.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
            // A reader that says more than there is room for is not believed.
            Ok(read) => return Ok(read.min(buffer.len())),
        }
    }
}

fn within(len: u64, limits: &Limits) -> Result<()> {
    if len <= limits.message {
        return Ok(());
    }
    Err(Error::limit(format!(
        "a message of {len} bytes or more, above the limit of {}",
        limits.message
    )))
}

#[cold]
fn ended(len: usize, there: usize, what: &str) -> Error {
    Error::eof(format!("{what} has {len} bytes, the reader ended after {there}")).at(to_u64(there))
}
