//! The bytes of a body being written.

use std::ops::Deref;

/// How far the memory behind the end is kept ready, in bytes: initialised, so that a small item is stored without growing the
/// vector, and few enough to be in cache when they are overwritten.
const SLACK: usize = 512;

/// A growing row of bytes, made for many small writes.
///
/// The vector is longer than the bytes written, by a slack of zeros. An item that takes a few bytes is stored as a whole window of
/// fixed size over them, of which only its own length is then counted.
#[derive(Default)]
pub(crate) struct Buffer {
    /// At least `len` long.
    bytes: Vec<u8>,
    len: usize,
}

impl Buffer {
    /// An empty buffer in the memory of `bytes`.
    pub(crate) fn reusing(mut bytes: Vec<u8>) -> Self {
        bytes.clear();
        Self { bytes, len: 0 }
    }

    /// The bytes written.
    pub(crate) fn into_vec(mut self) -> Vec<u8> {
        self.bytes.truncate(self.len);
        self.bytes
    }

    /// Appends the first `used` bytes of `window`.
    #[inline(always)]
    pub(crate) fn put<const N: usize>(&mut self, window: [u8; N], used: usize) {
        debug_assert!(used <= N, "an item is longer than its window");
        let Some(place) = self.window() else {
            self.extend_from_slice(&window[..used.min(N)]);
            return;
        };
        *place = window;
        self.len += used;
    }

    /// Appends a marker and the first `used` bytes of its payload.
    #[inline(always)]
    pub(crate) fn put_marked<const N: usize>(&mut self, marker: u8, payload: [u8; N], used: usize) {
        debug_assert!(used <= N, "an item is longer than its window");
        match self.bytes.get_mut(self.len..self.len + 1 + N) {
            Some(place) => {
                place[0] = marker;
                place[1..].copy_from_slice(&payload);
                self.len += 1 + used;
            }
            None => {
                self.extend_from_slice(&[marker]);
                self.extend_from_slice(&payload[..used.min(N)]);
            }
        }
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, byte: u8) {
        self.put([byte], 1);
    }

    /// Appends bytes that are usually few.
    #[inline(always)]
    pub(crate) fn put_short(&mut self, bytes: &[u8]) {
        let end = self.len + bytes.len();
        match self.bytes.get_mut(self.len..end) {
            Some(place) => {
                place.copy_from_slice(bytes);
                self.len = end;
            }
            None => self.extend_from_slice(bytes),
        }
    }

    /// Appends bytes that may be many, straight from where they are.
    #[inline(never)]
    pub(crate) fn extend_from_slice(&mut self, bytes: &[u8]) {
        self.bytes.truncate(self.len);
        self.bytes.reserve(bytes.len() + SLACK);
        self.bytes.extend_from_slice(bytes);
        self.len = self.bytes.len();
        self.bytes.resize(self.len + SLACK, 0);
    }

    /// Makes room for `more` bytes, or says that there is no memory for them.
    #[inline]
    pub(crate) fn try_reserve(&mut self, more: usize) -> Option<()> {
        let ready = self.bytes.len() - self.len;
        self.bytes
            .try_reserve(more.saturating_sub(ready).checked_add(SLACK)?)
            .ok()
    }

    /// Forgets the bytes behind `len`.
    #[inline]
    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Replaces the bytes in `from..to`.
    pub(crate) fn replace(&mut self, from: usize, to: usize, with: &[u8]) {
        self.bytes.truncate(self.len);
        self.bytes.splice(from..to, with.iter().copied());
        self.len = self.bytes.len();
    }

    /// Overwrites four bytes at `at`.
    pub(crate) fn set(&mut self, at: usize, bytes: [u8; 4]) {
        if let Some(place) = self.bytes.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
            *place = bytes;
        }
    }

    #[inline(always)]
    fn window<const N: usize>(&mut self) -> Option<&mut [u8; N]> {
        self.bytes.get_mut(self.len..)?.first_chunk_mut()
    }
}

impl Deref for Buffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
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
            match round % 4 {
                0 => buffer.push(byte),
                1 => buffer.put([byte, 1, 2, 3], 1),
                2 => buffer.put_short(&[byte]),
                _ => buffer.extend_from_slice(&[byte]),
            }
            expected.push(byte);
        }
        assert_eq!(buffer[..], expected);
        buffer.truncate(7);
        buffer.replace(1, 3, b"abc");
        assert_eq!(buffer.into_vec(), [&expected[..1], b"abc", &expected[3..7]].concat());
    }
}
