//! MessagePack primitives, written in their shortest form.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "each arm casts what its range admits"
)]

use super::buffer::Buffer;
use super::{NIL, to_u64};
use crate::error::{Error, Result};

/// Strings up to this long are copied as short ones.
const SHORT: usize = 256;

#[inline]
pub(crate) fn nil(out: &mut Buffer) {
    out.push(NIL);
}

#[inline]
pub(crate) fn bool(out: &mut Buffer, value: bool) {
    out.push(0xc2 | u8::from(value));
}

#[inline]
pub(crate) fn unsigned(out: &mut Buffer, n: u64) {
    if n < 0x80 {
        return out.push(n as u8);
    }
    // The number's width in bytes, rounded up to a power of two, and its log2: 0xcc is the marker of one byte, 0xcd of two…
    let log2 = match n {
        0..0x100 => 0,
        0x100..0x1_0000 => 1,
        0x1_0000..0x1_0000_0000 => 2,
        _ => 3,
    };
    integer(out, 0xcc, log2, n);
}

#[inline]
pub(crate) fn signed(out: &mut Buffer, n: i64) {
    if n >= 0 {
        return unsigned(out, n.unsigned_abs());
    }
    if n >= -0x20 {
        return out.push(n as u8);
    }
    let log2 = match n {
        -0x80.. => 0,
        -0x8000..-0x80 => 1,
        -0x8000_0000..-0x8000 => 2,
        _ => 3,
    };
    integer(out, 0xd0, log2, n as u64);
}

/// The low `1 << log2` bytes of a number behind their marker, as one window of nine bytes.
#[inline]
fn integer(out: &mut Buffer, marker: u8, log2: u8, n: u64) {
    let width = 1usize << log2;
    let payload = (n << (64 - 8 * width)).to_be_bytes();
    out.put_marked(marker + log2, payload, width);
}

#[inline]
pub(crate) fn f32(out: &mut Buffer, value: f32) {
    out.put_marked(0xca, value.to_bits().to_be_bytes(), 4);
}

#[inline]
pub(crate) fn f64(out: &mut Buffer, value: f64) {
    out.put_marked(0xcb, value.to_bits().to_be_bytes(), 8);
}

#[inline(always)]
pub(crate) fn str(out: &mut Buffer, text: &str) -> Result<()> {
    match text.len() {
        len @ 0..0x20 => out.push(0xa0 | len as u8),
        len @ 0x20..0x100 => out.put([0xd9, len as u8], 2),
        len => wide(out, 0xda, 0xdb, count(len, "a string")?),
    }
    raw(out, text.as_bytes());
    Ok(())
}

#[inline]
pub(crate) fn bytes(out: &mut Buffer, bytes: &[u8]) -> Result<()> {
    match bytes.len() {
        len @ 0..0x100 => out.put([0xc4, len as u8], 2),
        len => wide(out, 0xc5, 0xc6, count(len, "a byte string")?),
    }
    raw(out, bytes);
    Ok(())
}

/// Bytes without a header.
#[inline(always)]
fn raw(out: &mut Buffer, bytes: &[u8]) {
    if bytes.len() <= SHORT {
        out.put_short(bytes);
    } else {
        out.extend_from_slice(bytes);
    }
}

/// The header of an array of `len` elements.
#[inline]
pub(crate) fn array(out: &mut Buffer, len: usize) -> Result<()> {
    match len {
        0..0x10 => out.push(0x90 | len as u8),
        _ => wide(out, 0xdc, 0xdd, count(len, "an array")?),
    }
    Ok(())
}

/// The header of a map of `len` entries.
#[inline]
pub(crate) fn map(out: &mut Buffer, len: usize) -> Result<()> {
    match len {
        0..0x10 => out.push(0x80 | len as u8),
        _ => wide(out, 0xde, 0xdf, count(len, "a map")?),
    }
    Ok(())
}

/// The header of an extension value with a payload of `len` bytes.
#[inline]
pub(crate) fn ext(out: &mut Buffer, tag: u8, len: usize) -> Result<()> {
    match len {
        1 => out.push(0xd4),
        2 => out.push(0xd5),
        4 => out.push(0xd6),
        8 => out.push(0xd7),
        16 => out.push(0xd8),
        0..0x100 => out.put([0xc7, len as u8], 2),
        _ => wide(out, 0xc8, 0xc9, count(len, "an extension value")?),
    }
    out.push(tag);
    Ok(())
}

/// A container whose length is not known yet: the place of the four bytes of its count.
///
/// Until [`Open::close`] the count is the highest there is, so that the bytes so far can be walked for a path.
#[derive(Clone, Copy)]
pub(crate) struct Open {
    count_at: usize,
}

impl Open {
    pub(crate) fn array(out: &mut Buffer) -> Self {
        Self::start(out, 0xdd)
    }

    pub(crate) fn map(out: &mut Buffer) -> Self {
        Self::start(out, 0xdf)
    }

    fn start(out: &mut Buffer, marker: u8) -> Self {
        let count_at = out.len() + 1;
        out.put([marker, 0xff, 0xff, 0xff, 0xff], 5);
        Self { count_at }
    }

    pub(crate) fn close(self, out: &mut Buffer, len: usize) -> Result<()> {
        out.set(self.count_at, count(len, "a container")?.to_be_bytes());
        Ok(())
    }
}

/// A length in 16 bits where that suffices, else in 32.
fn wide(out: &mut Buffer, marker16: u8, marker32: u8, len: u32) {
    let [a, b, c, d] = len.to_be_bytes();
    if len < 0x1_0000 {
        out.put([marker16, c, d], 3);
    } else {
        out.put([marker32, a, b, c, d], 5);
    }
}

fn count(len: usize, what: &str) -> Result<u32> {
    u32::try_from(len).map_err(|_| {
        Error::limit(format!(
            "{what} of {} exceeds MessagePack's limit of {}",
            to_u64(len),
            u32::MAX
        ))
    })
}
