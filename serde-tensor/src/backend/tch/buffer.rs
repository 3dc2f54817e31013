//! Bytes in libtorch's memory while they are still nobody else's.
#![allow(
    unsafe_code,
    reason = "tch lends no tensor's memory to a reader, and zeroes all of it or none"
)]

use std::mem::MaybeUninit;
use std::{ptr, slice};

use ::tch::{Device, Kind, Tensor};

use super::signed;
use crate::wire::pages::expect_filling_of;
use crate::{Error, Result};

/// How many bytes are zeroed at once, to be read into: few enough to stay in cache in between.
const CHUNK: usize = 256 * 1024;

/// How many bytes have arrived when it is believed that as many follow as there is room for.
const BELIEVED: usize = 4 * CHUNK;

/// The length of an arena is a multiple of the largest element's size, so that it can be viewed as elements of each.
const UNIT: usize = 16;

/// A growing buffer. The tensor behind it was made here and is given away at the end only, so until then nothing else reads, writes,
/// moves or frees its memory.
pub(super) struct Buffer {
    tensor: Tensor,
    /// Invariant: the tensor is dense, of bytes, on the CPU, and has at least as many.
    capacity: usize,
    /// Invariant: so many bytes at its front are initialised; at most `capacity`.
    zeroed: usize,
    /// Invariant: at most `zeroed`.
    len: usize,
    /// The system was told that all of it will be filled.
    expected: bool,
}

impl Buffer {
    /// An empty one with room for at least `capacity` bytes, which are not touched.
    pub(super) fn new(capacity: usize) -> Result<Self> {
        let capacity = capacity
            .checked_next_multiple_of(UNIT)
            .ok_or_else(|| no_memory(capacity))?
            .max(UNIT);
        let size = signed(capacity).map_err(|_| no_memory(capacity))?;
        let tensor = Tensor::f_empty([size], (Kind::Uint8, Device::Cpu))
            .map_err(|error| no_memory(capacity).with_source(error))?;
        if tensor.data_ptr().is_null() {
            return Err(no_memory(capacity));
        }
        Ok(Self {
            tensor,
            capacity,
            zeroed: 0,
            len: 0,
            expected: false,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_full(&self) -> bool {
        self.len == self.capacity
    }

    /// Room for some of the bytes up to `end`: at least one if there are that many and the buffer is not full.
    pub(super) fn room(&mut self, end: usize) -> Result<&mut [u8]> {
        let most = end.min(self.capacity).max(self.len) - self.len;
        let room = self.len + most.min(CHUNK);
        let memory = self.memory()?;
        if !self.expected && self.zeroed >= BELIEVED {
            self.expected = true;
            // SAFETY: zeroed <= capacity, so this is the rest of the tensor's allocation, which nobody else uses (see `Buffer`). What is
            // not initialised may be anything.
            expect_filling_of(unsafe {
                slice::from_raw_parts_mut(
                    memory.add(self.zeroed).cast::<MaybeUninit<u8>>(),
                    self.capacity - self.zeroed,
                )
            });
        }
        if self.zeroed < room {
            // SAFETY: zeroed <= room <= capacity, so the range lies in the tensor's allocation (invariant of `capacity`), which
            // nobody else uses (see `Buffer`).
            unsafe { ptr::write_bytes(memory.add(self.zeroed), 0, room - self.zeroed) };
            self.zeroed = room;
        }
        // SAFETY: len <= room <= zeroed <= capacity: the range lies in the allocation and is initialised. The slice borrows the
        // buffer mutably, so it is the only way to this memory while it lives.
        Ok(unsafe { slice::from_raw_parts_mut(memory.add(self.len), room - self.len) })
    }

    /// Counts bytes that were written into [`room`](Self::room).
    pub(super) fn advance(&mut self, written: usize) {
        self.len = self.len.saturating_add(written).min(self.zeroed);
    }

    /// Appends bytes, of which there must be room for all.
    pub(super) fn extend(&mut self, bytes: &[u8]) -> Result<()> {
        let room = self.room(self.len.saturating_add(bytes.len()))?;
        let Some(room) = room.get_mut(..bytes.len()) else {
            return Err(Error::backend(format!("no room for {} bytes", bytes.len())));
        };
        room.copy_from_slice(bytes);
        self.advance(bytes.len());
        Ok(())
    }

    /// Moves to memory of twice the size, or of `most` bytes if that is less.
    pub(super) fn grow(&mut self, most: usize) -> Result<()> {
        let mut larger = Self::new(self.capacity.saturating_mul(2).min(most))?;
        let (from, to) = (self.memory()?, larger.memory()?);
        let len = self.len.min(larger.capacity);
        // SAFETY: len <= self.zeroed <= self.capacity and len <= larger.capacity, and the two are allocations of their own.
        unsafe { ptr::copy_nonoverlapping(from, to, len) };
        (larger.zeroed, larger.len) = (len, len);
        *self = larger;
        Ok(())
    }

    /// The tensor, flat and of bytes: those that were written, and then zeros up to a multiple of 16.
    pub(super) fn into_tensor(self) -> Tensor {
        let end = self.len.next_multiple_of(UNIT).min(self.capacity);
        if let Ok(memory) = self.memory()
            && self.zeroed < end
        {
            // SAFETY: as in `room`, with end <= capacity.
            unsafe { ptr::write_bytes(memory.add(self.zeroed), 0, end - self.zeroed) };
        }
        self.tensor
    }

    fn memory(&self) -> Result<*mut u8> {
        let memory = self.tensor.data_ptr().cast::<u8>();
        if memory.is_null() {
            return Err(Error::backend("libtorch made a tensor without memory"));
        }
        Ok(memory)
    }
}

#[cold]
fn no_memory(len: usize) -> Error {
    Error::limit(format!("libtorch has no memory for {len} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_kept_while_it_grows() {
        let mut buffer = Buffer::new(1).unwrap();
        let mut expected = Vec::new();
        let mut byte = 0u8;
        while expected.len() < 3 * CHUNK + 5 {
            if buffer.is_full() {
                buffer.grow(usize::MAX).unwrap();
            }
            let room = buffer.room(usize::MAX).unwrap();
            assert!(!room.is_empty() && room.len() <= CHUNK);
            // Not all of it, as a reader would.
            let some = room.len().div_ceil(2);
            room[..some].fill(byte);
            expected.resize(expected.len() + some, byte);
            buffer.advance(some);
            byte = byte.wrapping_add(1);
        }
        let len = buffer.len();
        let tensor = buffer.into_tensor();
        let mut read = vec![9; len.next_multiple_of(UNIT)];
        let all = read.len();
        tensor
            .f_narrow(0, 0, signed(all).unwrap())
            .unwrap()
            .f_copy_data_u8(&mut read, all)
            .unwrap();
        assert_eq!(read[..len], expected);
        assert!(read[len..].iter().all(|&byte| byte == 0));
    }

    #[test]
    fn more_than_there_is_room_for_is_refused() {
        let mut buffer = Buffer::new(16).unwrap();
        assert!(buffer.extend(&[1; 17]).is_err());
        buffer.extend(&[1; 16]).unwrap();
        assert!(buffer.is_full() && buffer.room(usize::MAX).unwrap().is_empty());
        assert!(Buffer::new(usize::MAX).is_err());
        assert!(Buffer::new(usize::MAX / 2 - 64).is_err());
    }
}
