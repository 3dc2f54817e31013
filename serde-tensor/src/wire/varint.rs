//! `uv`: unsigned LEB128 in its shortest form.

use super::descriptor::Fields;
use crate::error::{Error, Result};

/// Appends `n`.
#[inline]
pub(crate) fn write(out: &mut Fields, mut n: u64) {
    while n >= 0x80 {
        out.push((n & 0x7f) as u8 | 0x80);
        n >>= 7;
    }
    out.push((n & 0x7f) as u8);
}

/// Takes one number from the front of `bytes`.
#[inline]
pub(crate) fn read(bytes: &mut &[u8]) -> Result<u64> {
    match **bytes {
        [byte @ 0..0x80, ref rest @ ..] => {
            *bytes = rest;
            Ok(byte.into())
        }
        _ => read_long(bytes),
    }
}

/// [`read`] of a number of up to four bytes; `None` of a longer one, and of what is none.
#[inline(always)]
pub(crate) fn quick(bytes: &mut &[u8]) -> Option<u64> {
    let (n, rest) = match **bytes {
        [a @ 0..0x80, ref rest @ ..] => (u64::from(a), rest),
        [a, b @ 1..0x80, ref rest @ ..] => (low(a) | u64::from(b) << 7, rest),
        [a, b @ 0x80..=0xff, c @ 1..0x80, ref rest @ ..] => (low(a) | low(b) << 7 | u64::from(c) << 14, rest),
        [a, b @ 0x80..=0xff, c @ 0x80..=0xff, d @ 1..0x80, ref rest @ ..] => {
            (low(a) | low(b) << 7 | low(c) << 14 | u64::from(d) << 21, rest)
        }
        _ => return None,
    };
    *bytes = rest;
    Some(n)
}

fn low(byte: u8) -> u64 {
    u64::from(byte & 0x7f)
}

/// A number of several bytes, or none.
fn read_long(bytes: &mut &[u8]) -> Result<u64> {
    let mut value = 0u64;
    for (index, &byte) in bytes.iter().enumerate() {
        let bits = u64::from(byte & 0x7f);
        // Nine bytes hold 63 bits, so a tenth may only add the last one.
        if index == 9 && byte > 1 {
            return Err(Error::syntax("a varint is longer than 64 bits"));
        }
        value |= bits << (7 * index);
        if byte & 0x80 == 0 {
            if byte == 0 && index > 0 {
                return Err(Error::syntax("a varint is not in its shortest form"));
            }
            *bytes = &bytes[index + 1..];
            return Ok(value);
        }
    }
    Err(Error::eof("a varint is cut short"))
}

#[cfg(test)]
mod tests {
    use super::{Fields, quick, read, write};
    use crate::error::Category;

    #[test]
    fn every_width_comes_back() {
        for shift in 0..64 {
            for n in [1u64 << shift, (1 << shift) - 1, u64::MAX >> shift] {
                let mut out = Fields::new();
                write(&mut out, n);
                out.push(0xaa);
                let mut rest = out.as_slice();
                let quickly = quick(&mut rest);
                assert_eq!(quickly, (n < 1 << 28).then_some(n));
                rest = out.as_slice();
                assert_eq!(read(&mut rest).unwrap(), n);
                assert_eq!(rest, [0xaa]);
            }
        }
    }

    #[test]
    fn other_forms_are_refused() {
        let refused = |bytes: &[u8]| {
            assert_eq!(quick(&mut &*bytes), None);
            read(&mut &*bytes).unwrap_err().category()
        };
        assert_eq!(refused(&[0x80, 0x00]), Category::Syntax);
        assert_eq!(refused(&[0x80, 0x80, 0x00]), Category::Syntax);
        assert_eq!(refused(&[0x80, 0x80, 0x80, 0x00]), Category::Syntax);
        assert_eq!(refused(&[0xff; 10]), Category::Syntax);
        assert_eq!(refused(&[0xff; 9]), Category::Eof);
        assert_eq!(refused(&[]), Category::Eof);
    }
}
