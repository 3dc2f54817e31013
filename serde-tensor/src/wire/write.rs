//! MessagePack primitives, written in their shortest form.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "each arm casts what its range admits"
)]

use super::buffer::Buffer;
use super::{NIL, to_u64};
use crate::error::{Error, Result};

#[inline]
pub(crate) fn nil(out: &mut Buffer) {
    out.push(NIL);
}

#[inline]
pub(crate) fn bool(out: &mut Buffer, value: bool) {
    out.push(0xc2 | u8::from(value));
}

/// A byte: most often met in such numbers that a branch on their size would be guessed wrong.
#[inline(always)]
pub(crate) fn byte(out: &mut Buffer, n: u8) {
    let wide = n >= 0x80;
    out.put([if wide { 0xcc } else { n }, n], 1 + usize::from(wide));
}

#[inline(always)]
pub(crate) fn unsigned(out: &mut Buffer, n: u64) {
    let small = n < 0x80;
    let log2 = LOG2_WIDTH[(u64::BITS - (n | 1).leading_zeros()) as usize];
    integer(out, small, 0xcc, log2, n);
}

#[inline(always)]
pub(crate) fn signed(out: &mut Buffer, n: i64) {
    if n >= 0 {
        return unsigned(out, n.unsigned_abs());
    }
    // One bit more than those that differ from the sign.
    let log2 = LOG2_WIDTH[(1 + u64::BITS - n.leading_ones()) as usize];
    integer(out, n >= -0x20, 0xd0, log2, n as u64);
}

/// log2 of the width in bytes, a power of two, of a number of so many bits.
const LOG2_WIDTH: [u8; 66] = {
    let mut widths = [3; 66];
    let mut bits = 0;
    while bits <= 32 {
        widths[bits] = match bits {
            0..=8 => 0,
            9..=16 => 1,
            _ => 2,
        };
        bits += 1;
    }
    widths
};

/// The low `1 << log2` bytes of a number behind their marker; or, of a small number, its low byte alone. Sizes follow each other
/// at random, so there is no branch on them.
#[inline(always)]
fn integer(out: &mut Buffer, small: bool, marker: u8, log2: u8, n: u64) {
    let width = 1usize << (log2 & 3);
    let payload = (n << (64 - 8 * width)).to_be_bytes();
    out.put_marked(
        if small { n as u8 } else { marker + log2 },
        payload,
        if small { 0 } else { width },
    );
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
    let len = text.len();
    if len < 0x100 {
        let short = len < 0x20;
        let header = if short {
            [0xa0 | len as u8, 0]
        } else {
            [0xd9, len as u8]
        };
        out.put_headed(header, if short { 1 } else { 2 }, text.as_bytes());
        return Ok(());
    }
    wide(out, 0xda, 0xdb, count(len, "a string")?);
    out.extend_from_slice(text.as_bytes());
    Ok(())
}

#[inline]
pub(crate) fn bytes(out: &mut Buffer, bytes: &[u8]) -> Result<()> {
    match bytes.len() {
        len @ 0..0x100 => out.put([0xc4, len as u8], 2),
        len => wide(out, 0xc5, 0xc6, count(len, "a byte string")?),
    }
    out.extend_from_slice(bytes);
    Ok(())
}

/// The header of an array of `len` elements.
#[inline(always)]
pub(crate) fn array(out: &mut Buffer, len: usize) -> Result<()> {
    match len {
        0..0x10 => out.push(0x90 | len as u8),
        _ => wide(out, 0xdc, 0xdd, count(len, "an array")?),
    }
    Ok(())
}

/// The header of a map of `len` entries.
#[inline(always)]
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

/// Containers whose length is not known yet.
///
/// Until it is closed, its count is the highest there is, so that the bytes so far can be walked for a path.
pub(crate) mod open {
    use super::{Buffer, Result, count};

    #[cold]
    pub(crate) fn array(out: &mut Buffer) {
        out.put([0xdd, 0xff, 0xff, 0xff, 0xff], 5);
    }

    #[cold]
    pub(crate) fn map(out: &mut Buffer) {
        out.put([0xdf, 0xff, 0xff, 0xff, 0xff], 5);
    }

    /// States the count of the container that starts at `at`.
    pub(crate) fn close(out: &mut Buffer, at: usize, len: usize) -> Result<()> {
        out.set(at + 1, count(len, "a container")?.to_be_bytes());
        Ok(())
    }
}

/// A length in 16 bits where that suffices, else in 32.
#[cold]
#[inline(never)]
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
