//! The bytes of a body being written.

#![allow(
    unsafe_code,
    reason = "small items are stored into memory that was reserved and never initialised"
)]

use std::hint::assert_unchecked;
use std::mem::{self, ManuallyDrop};
use std::ops::Deref;
use std::ptr::NonNull;
use std::slice;

/// How much more is reserved than was asked for, in bytes: what is stored as a longer window than it takes, and what is made sure of
/// for the fields to come, should find it without growing the buffer again.
const SLACK: usize = 512;

/// A growing row of bytes, made for many small writes.
///
/// An item that takes a few bytes is stored as a whole window of fixed size, of which only the item's own length is then counted.
/// What is left of the reserved memory is a number of its own and not a difference, so that the optimiser follows it: behind an
/// [`ensure`](Self::ensure) the items that surely fit are stored without a check of their own.
// `start` is between the numbers: side by side they would be changed as one, which has to wait until both were stored.
#[repr(C)]
pub(crate) struct Buffer {
    // `start`, `len` and `len + room` are the pointer, length and capacity of a `Vec<u8>` that is nowhere else.
    len: usize,
    start: NonNull<u8>,
    room: usize,
}

impl Buffer {
    /// An empty buffer in the memory of `bytes`.
    pub(crate) fn reusing(mut bytes: Vec<u8>) -> Self {
        bytes.clear();
        Self::from(bytes)
    }

    /// The bytes written.
    #[inline]
    pub(crate) fn into_vec(self) -> Vec<u8> {
        let this = ManuallyDrop::new(self);
        // SAFETY: the parts are those of a vector, which `this`, that is not dropped, leaves to the caller.
        unsafe { Vec::from_raw_parts(this.start.as_ptr(), this.len, this.len + this.room) }
    }

    /// Makes room for `more` bytes.
    #[inline(always)]
    pub(crate) fn ensure(&mut self, more: usize) {
        if self.room < more {
            self.grow(more);
        }
        // SAFETY: that was seen, or `grow` returned, which it does when there is room.
        unsafe { assert_unchecked(self.room >= more) };
    }

    /// Appends the first `used` bytes of `window`.
    #[inline(always)]
    pub(crate) fn put<const N: usize>(&mut self, window: [u8; N], used: usize) {
        debug_assert!(used <= N, "an item is longer than its window");
        let end = self.end(N);
        // SAFETY: there is room for the whole window, which makes its first `used` bytes part of the vector's initialised ones.
        unsafe {
            end.place.cast::<[u8; N]>().write_unaligned(window);
            self.count(end, used.min(N));
        }
    }

    /// Appends a marker and the first `used` bytes of its payload.
    #[inline(always)]
    pub(crate) fn put_marked<const N: usize>(&mut self, marker: u8, payload: [u8; N], used: usize) {
        debug_assert!(used <= N, "an item is longer than its window");
        let end = self.end(1 + N);
        // SAFETY: as in `put`, for a window that is written in two stores.
        unsafe {
            end.place.write(marker);
            end.place.add(1).cast::<[u8; N]>().write_unaligned(payload);
            self.count(end, 1 + used.min(N));
        }
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, byte: u8) {
        self.put([byte], 1);
    }

    /// Appends the first `used` bytes of a header, and bytes that are usually few behind it.
    #[inline(always)]
    pub(crate) fn put_headed<const N: usize>(&mut self, header: [u8; N], used: usize, bytes: &[u8]) {
        debug_assert!(used <= N, "an item is longer than its window");
        let used = used.min(N);
        // A slice takes at most half of the address space, so this does not overflow.
        let end = self.end(N + bytes.len());
        // SAFETY: there is room for the whole header window and, behind those bytes of it that count, for `bytes`, which are borrowed
        // beside `self` and so lie elsewhere. What is then counted was written.
        unsafe {
            end.place.cast::<[u8; N]>().write_unaligned(header);
            end.place
                .add(used)
                .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            self.count(end, used + bytes.len());
        }
    }

    /// Appends the first `used` bytes of a header of a few words, each stored by itself, and bytes behind it.
    #[inline(always)]
    pub(crate) fn put_words<const N: usize>(&mut self, header: [u64; N], used: usize, bytes: &[u8]) {
        debug_assert!(used <= 8 * N, "an item is longer than its window");
        let used = used.min(8 * N);
        let end = self.end(8 * N + bytes.len());
        for (at, word) in header.into_iter().enumerate() {
            // SAFETY: there is room for all of the header's words.
            unsafe {
                end.place
                    .add(8 * at)
                    .cast::<[u8; 8]>()
                    .write_unaligned(word.to_le_bytes());
            };
        }
        // SAFETY: as in `put_headed`.
        unsafe {
            end.place
                .add(used)
                .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            self.count(end, used + bytes.len());
        }
    }

    /// Appends bytes that are usually few.
    #[inline(always)]
    pub(crate) fn put_short(&mut self, bytes: &[u8]) {
        self.put_headed([], 0, bytes);
    }

    /// Appends bytes that may be many.
    #[inline(never)]
    pub(crate) fn extend_from_slice(&mut self, bytes: &[u8]) {
        self.put_short(bytes);
    }

    /// Makes room for `more` bytes, or says that there is no memory for them.
    #[inline(always)]
    pub(crate) fn try_reserve(&mut self, more: usize) -> Option<()> {
        if self.room < more {
            self.try_grow(more)?;
        }
        // SAFETY: that was seen, or `try_grow` made room.
        unsafe { assert_unchecked(self.room >= more) };
        Some(())
    }

    #[cold]
    #[inline]
    fn try_grow(&mut self, more: usize) -> Option<()> {
        self.with_vec(|bytes| bytes.try_reserve(more.checked_add(SLACK)?).ok())
    }

    /// Forgets the bytes behind `len`.
    #[inline]
    pub(crate) fn truncate(&mut self, len: usize) {
        self.with_vec(|bytes| bytes.truncate(len));
    }

    /// Replaces the bytes in `from..to`.
    pub(crate) fn replace(&mut self, from: usize, to: usize, with: &[u8]) {
        self.with_vec(|bytes| {
            bytes.splice(from..to, with.iter().copied());
        });
    }

    /// Overwrites four bytes at `at`.
    pub(crate) fn set(&mut self, at: usize, bytes: [u8; 4]) {
        self.with_vec(|vec| {
            if let Some(place) = vec.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
                *place = bytes;
            }
        });
    }

    /// `inline`, though it never should be: the optimiser has to see that the reference does not outlive the call, or it would
    /// read the length anew after every item.
    #[cold]
    #[inline]
    fn grow(&mut self, more: usize) {
        let more = more.saturating_add(SLACK);
        self.with_vec(|bytes| {
            if let Err(error) = bytes.try_reserve(more) {
                panic!("no memory for {more} more bytes of a message: {error}");
            }
        });
    }

    /// Uses the buffer as the vector that it is. Should that panic, the buffer is empty.
    #[inline(always)]
    fn with_vec<R>(&mut self, use_it: impl FnOnce(&mut Vec<u8>) -> R) -> R {
        let mut bytes = mem::take(self).into_vec();
        let result = use_it(&mut bytes);
        *self = Self::from(bytes);
        result
    }

    /// Where the next byte goes, with room for `more` from there.
    #[inline(always)]
    fn end(&mut self, more: usize) -> End {
        self.ensure(more);
        End {
            // SAFETY: `len` is at most the capacity, so this is inside the vector's memory or at its end.
            place: unsafe { self.start.as_ptr().add(self.len) },
            len: self.len,
            room: self.room,
        }
    }

    /// Counts bytes that were stored at the end. Nothing is read anew, which would have to wait for those stores.
    ///
    /// # Safety
    ///
    /// `end` is the present one, and the `used` bytes there are initialised and at most its room.
    #[inline(always)]
    unsafe fn count(&mut self, end: End, used: usize) {
        self.len = end.len + used;
        self.room = end.room - used;
    }
}

/// The end of a buffer, as it was before something is stored there.
#[derive(Clone, Copy)]
struct End {
    place: *mut u8,
    len: usize,
    room: usize,
}

impl From<Vec<u8>> for Buffer {
    #[inline]
    fn from(bytes: Vec<u8>) -> Self {
        let mut bytes = ManuallyDrop::new(bytes);
        let (len, capacity) = (bytes.len(), bytes.capacity());
        Self {
            // SAFETY: a vector's pointer is never null.
            start: unsafe { NonNull::new_unchecked(bytes.as_mut_ptr()) },
            len,
            room: capacity - len,
        }
    }
}

impl Default for Buffer {
    #[inline]
    fn default() -> Self {
        Self::from(Vec::new())
    }
}

impl Drop for Buffer {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the parts are those of a vector, which nothing uses after this.
        drop(unsafe { Vec::from_raw_parts(self.start.as_ptr(), self.len, self.len + self.room) });
    }
}

impl Deref for Buffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: the first `len` bytes of the vector's memory are initialised, and stay as they are while `self` is borrowed.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::Buffer;

    #[test]
    fn writes_of_every_kind_follow_each_other() {
        let mut buffer = Buffer::default();
        let mut expected = Vec::new();
        for round in 0..3000usize {
            let byte = u8::try_from(round % 251).unwrap();
            let words: Vec<u8> = (0..16).chain([byte; 3]).collect();
            let written: &[u8] = match round % 8 {
                0 => &[byte],
                1 => &[byte, 1],
                2 => &[byte, 7, 8],
                3 => &[0xd9, byte, 9],
                4 => &[byte; 40],
                5 => &[byte; 3],
                6 => &[byte; 2],
                _ => &words[3..],
            };
            match round % 8 {
                0 => buffer.push(byte),
                1 => buffer.put([byte, 1, 2, 3], 2),
                2 => buffer.put_marked(byte, [7, 8, 0, 0], 2),
                3 => buffer.put_headed([0xd9, byte, 0], 2, &[9]),
                4 => buffer.put_short(written),
                5 => buffer.extend_from_slice(written),
                6 => {
                    buffer.ensure(round);
                    buffer.put_headed([0; 2], 0, written);
                }
                _ => {
                    let word = |at: usize| u64::from_le_bytes(words[at..at + 8].try_into().unwrap());
                    buffer.put_words([word(3), word(11)], 13, &words[16..]);
                }
            }
            expected.extend_from_slice(written);
        }
        assert_eq!(buffer[..], expected);
        buffer.truncate(7);
        buffer.replace(1, 3, b"abc");
        assert_eq!(buffer.into_vec(), [&expected[..1], b"abc", &expected[3..7]].concat());
    }
}
