//! MessagePack primitives, written in their shortest form.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "each arm casts what its range admits"
)]

use super::{NIL, to_u64};
use crate::error::{Error, Result};

pub(crate) fn nil(out: &mut Vec<u8>) {
    out.push(NIL);
}

pub(crate) fn bool(out: &mut Vec<u8>, value: bool) {
    out.push(0xc2 | u8::from(value));
}

#[inline]
pub(crate) fn unsigned(out: &mut Vec<u8>, n: u64) {
    match n {
        0..0x80 => out.push(n as u8),
        0x80..0x100 => out.extend_from_slice(&[0xcc, n as u8]),
        0x100..0x1_0000 => marked(out, 0xcd, (n as u16).to_be_bytes()),
        0x1_0000..0x1_0000_0000 => marked(out, 0xce, (n as u32).to_be_bytes()),
        _ => marked(out, 0xcf, n.to_be_bytes()),
    }
}

#[inline]
pub(crate) fn signed(out: &mut Vec<u8>, n: i64) {
    match n {
        0.. => unsigned(out, n.unsigned_abs()),
        -0x20..0 => out.push(n as u8),
        -0x80..-0x20 => out.extend_from_slice(&[0xd0, n as u8]),
        -0x8000..-0x80 => marked(out, 0xd1, (n as i16).to_be_bytes()),
        -0x8000_0000..-0x8000 => marked(out, 0xd2, (n as i32).to_be_bytes()),
        _ => marked(out, 0xd3, n.to_be_bytes()),
    }
}

pub(crate) fn f32(out: &mut Vec<u8>, value: f32) {
    marked(out, 0xca, value.to_bits().to_be_bytes());
}

pub(crate) fn f64(out: &mut Vec<u8>, value: f64) {
    marked(out, 0xcb, value.to_bits().to_be_bytes());
}

#[inline]
pub(crate) fn str(out: &mut Vec<u8>, text: &str) -> Result<()> {
    match text.len() {
        len @ 0..0x20 => out.push(0xa0 | len as u8),
        len @ 0x20..0x100 => out.extend_from_slice(&[0xd9, len as u8]),
        len => wide(out, 0xda, 0xdb, count(len, "a string")?),
    }
    out.extend_from_slice(text.as_bytes());
    Ok(())
}

pub(crate) fn bytes(out: &mut Vec<u8>, bytes: &[u8]) -> Result<()> {
    match bytes.len() {
        len @ 0..0x100 => out.extend_from_slice(&[0xc4, len as u8]),
        len => wide(out, 0xc5, 0xc6, count(len, "a byte string")?),
    }
    out.extend_from_slice(bytes);
    Ok(())
}

/// The header of an array of `len` elements.
#[inline]
pub(crate) fn array(out: &mut Vec<u8>, len: usize) -> Result<()> {
    match len {
        0..0x10 => out.push(0x90 | len as u8),
        _ => wide(out, 0xdc, 0xdd, count(len, "an array")?),
    }
    Ok(())
}

/// The header of a map of `len` entries.
#[inline]
pub(crate) fn map(out: &mut Vec<u8>, len: usize) -> Result<()> {
    match len {
        0..0x10 => out.push(0x80 | len as u8),
        _ => wide(out, 0xde, 0xdf, count(len, "a map")?),
    }
    Ok(())
}

/// The header of an extension value with a payload of `len` bytes.
pub(crate) fn ext(out: &mut Vec<u8>, tag: u8, len: usize) -> Result<()> {
    match len {
        1 => out.push(0xd4),
        2 => out.push(0xd5),
        4 => out.push(0xd6),
        8 => out.push(0xd7),
        16 => out.push(0xd8),
        0..0x100 => out.extend_from_slice(&[0xc7, len as u8]),
        _ => wide(out, 0xc8, 0xc9, count(len, "an extension value")?),
    }
    out.push(tag);
    Ok(())
}

/// A container whose length is not known yet: its header, and the place of the four bytes of its count.
///
/// Until [`Open::close`] the count is the highest there is, so that the bytes so far can be walked for a path.
#[derive(Clone, Copy)]
pub(crate) struct Open {
    count_at: usize,
}

impl Open {
    pub(crate) fn array(out: &mut Vec<u8>) -> Self {
        Self::start(out, 0xdd)
    }

    pub(crate) fn map(out: &mut Vec<u8>) -> Self {
        Self::start(out, 0xdf)
    }

    fn start(out: &mut Vec<u8>, marker: u8) -> Self {
        marked(out, marker, [0xff; 4]);
        Self { count_at: out.len() - 4 }
    }

    pub(crate) fn close(self, out: &mut [u8], len: usize) -> Result<()> {
        let len = count(len, "a container")?;
        if let Some(place) = out[self.count_at..].first_chunk_mut() {
            *place = len.to_be_bytes();
        }
        Ok(())
    }
}

#[inline]
fn marked<const N: usize>(out: &mut Vec<u8>, marker: u8, payload: [u8; N]) {
    out.push(marker);
    out.extend_from_slice(&payload);
}

/// A length in 16 bits where that suffices, else in 32.
fn wide(out: &mut Vec<u8>, marker16: u8, marker32: u8, len: u32) {
    match u16::try_from(len) {
        Ok(len) => marked(out, marker16, len.to_be_bytes()),
        Err(_) => marked(out, marker32, len.to_be_bytes()),
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
