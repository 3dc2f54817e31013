//! MessagePack, read token by token.

use super::rest::Rest;
use super::to_u64;
use crate::error::{Error, Result};

/// One MessagePack item; for a container its header only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Token<'de> {
    Nil,
    Bool(bool),
    Unsigned(u64),
    /// Always negative.
    Signed(i64),
    F32(f32),
    F64(f64),
    /// Not yet checked to be UTF-8.
    Str(&'de [u8]),
    Bytes(&'de [u8]),
    /// At least that many bytes follow.
    Array(usize),
    /// At least twice that many bytes follow.
    Map(usize),
    Ext(u8, &'de [u8]),
}

/// A place in a body.
#[derive(Clone)]
pub(crate) struct Cursor<'de> {
    /// The whole body.
    bytes: &'de [u8],
    /// What is left of it.
    rest: &'de [u8],
    /// The offset of `bytes` in the message, for errors.
    base: u64,
    /// The body is still being written: counts may promise more than is there.
    unfinished: bool,
}

impl<'de> Cursor<'de> {
    pub(crate) fn new(bytes: &'de [u8], base: u64) -> Self {
        Self {
            bytes,
            rest: bytes,
            base,
            unfinished: false,
        }
    }

    /// A body that is still being written.
    pub(crate) fn unfinished(bytes: &'de [u8]) -> Self {
        Self {
            unfinished: true,
            ..Self::new(bytes, 0)
        }
    }

    #[inline]
    pub(crate) fn position(&self) -> usize {
        self.bytes.len() - self.rest.len()
    }

    pub(crate) fn bytes(&self) -> &'de [u8] {
        self.bytes
    }

    /// The offset in the message of a position in the body.
    pub(crate) fn offset_of(&self, position: usize) -> u64 {
        self.base.saturating_add(to_u64(position))
    }

    #[inline]
    pub(crate) fn rest(&self) -> &'de [u8] {
        self.rest
    }

    /// What is left, to be read by others.
    #[inline]
    pub(crate) fn left(&self) -> Rest<'de> {
        Rest::new(self.rest)
    }

    /// Goes on where others, who had what is left, ended.
    #[inline]
    pub(crate) fn go_on(&mut self, left: Rest<'de>) {
        self.rest = left.bytes();
    }

    /// Goes back to a position that [`position`](Self::position) returned.
    pub(crate) fn rewind(&mut self, position: usize) {
        self.rest = &self.bytes[position.min(self.bytes.len())..];
    }

    /// Takes one item.
    #[inline(never)]
    pub(crate) fn token(&mut self) -> Result<Token<'de>> {
        let Some((&marker, rest)) = self.rest.split_first() else {
            return Err(self.ended("a value"));
        };
        self.rest = rest;
        Ok(match marker {
            0x00..=0x7f => Token::Unsigned(u64::from(marker)),
            0x80..=0x8f => self.map(usize::from(marker & 0x0f))?,
            0x90..=0x9f => self.array(usize::from(marker & 0x0f))?,
            0xa0..=0xbf => Token::Str(self.take(usize::from(marker & 0x1f), "a string")?),
            0xe0..=0xff => Token::Signed(i64::from(marker.cast_signed())),
            0xc0 => Token::Nil,
            0xc2 => Token::Bool(false),
            0xc3 => Token::Bool(true),
            0xca => Token::F32(f32::from_bits(u32::from_be_bytes(self.chunk()?))),
            0xcb => Token::F64(f64::from_bits(u64::from_be_bytes(self.chunk()?))),
            0xcc => Token::Unsigned(u64::from(u8::from_be_bytes(self.chunk()?))),
            0xcd => Token::Unsigned(u64::from(u16::from_be_bytes(self.chunk()?))),
            0xce => Token::Unsigned(u64::from(u32::from_be_bytes(self.chunk()?))),
            0xcf => Token::Unsigned(u64::from_be_bytes(self.chunk()?)),
            0xd0 => signed(i64::from(i8::from_be_bytes(self.chunk()?))),
            0xd1 => signed(i64::from(i16::from_be_bytes(self.chunk()?))),
            0xd2 => signed(i64::from(i32::from_be_bytes(self.chunk()?))),
            0xd3 => signed(i64::from_be_bytes(self.chunk()?)),
            _ => return self.long_token(marker),
        })
    }

    /// The items whose length has a field of its own, and the marker that is none.
    fn long_token(&mut self, marker: u8) -> Result<Token<'de>> {
        Ok(match marker {
            0xc4 | 0xd9 => {
                let len = self.len8()?;
                self.text(marker == 0xd9, len)?
            }
            0xc5 | 0xda => {
                let len = self.len16()?;
                self.text(marker == 0xda, len)?
            }
            0xc6 | 0xdb => {
                let len = self.len32()?;
                self.text(marker == 0xdb, len)?
            }
            0xc7 => {
                let len = self.len8()?;
                self.ext(len)?
            }
            0xc8 => {
                let len = self.len16()?;
                self.ext(len)?
            }
            0xc9 => {
                let len = self.len32()?;
                self.ext(len)?
            }
            0xd4..=0xd8 => self.ext(1 << (marker - 0xd4))?,
            0xdc => {
                let len = self.len16()?;
                self.array(len)?
            }
            0xdd => {
                let len = self.len32()?;
                self.array(len)?
            }
            0xde => {
                let len = self.len16()?;
                self.map(len)?
            }
            0xdf => {
                let len = self.len32()?;
                self.map(len)?
            }
            _ => {
                let message = format!("byte {marker:#04x} starts no MessagePack value");
                return Err(Error::syntax(message).at(self.offset_of(self.position() - 1)));
            }
        })
    }

    /// Passes over one value, however deep, without recursion.
    pub(crate) fn skip(&mut self) -> Result<()> {
        let mut left = 1u64;
        while left > 0 {
            left -= 1;
            // A container's elements take at least a byte each, so the sum cannot overflow.
            match self.token()? {
                Token::Array(len) => left += to_u64(len),
                Token::Map(len) => left += 2 * to_u64(len),
                _ => {}
            }
        }
        Ok(())
    }

    /// `bytes`, a string that was just taken, as text.
    #[inline]
    pub(crate) fn utf8(&self, bytes: &'de [u8]) -> Result<&'de str> {
        std::str::from_utf8(bytes).map_err(|error| {
            let start = self.position() - bytes.len();
            Error::syntax(format!("a string is not UTF-8: {error}")).at(self.offset_of(start + error.valid_up_to()))
        })
    }

    #[inline]
    fn array(&self, len: usize) -> Result<Token<'de>> {
        self.justified(len, 1, "an array", "elements")?;
        Ok(Token::Array(len))
    }

    #[inline]
    fn map(&self, len: usize) -> Result<Token<'de>> {
        self.justified(len, 2, "a map", "entries")?;
        Ok(Token::Map(len))
    }

    /// Refuses a count that the rest of the input cannot hold, before anybody allocates for it.
    #[inline]
    fn justified(&self, len: usize, each: usize, what: &str, parts: &str) -> Result<()> {
        let left = self.rest.len();
        if len.checked_mul(each).is_some_and(|least| least <= left) || self.unfinished {
            return Ok(());
        }
        Err(Error::eof(format!(
            "{what} of {len} {parts} does not fit into the {left} bytes left"
        ))
        .at(self.offset_of(self.position())))
    }

    fn text(&mut self, utf8: bool, len: usize) -> Result<Token<'de>> {
        Ok(if utf8 {
            Token::Str(self.take(len, "a string")?)
        } else {
            Token::Bytes(self.take(len, "a byte string")?)
        })
    }

    fn ext(&mut self, len: usize) -> Result<Token<'de>> {
        let [tag] = self.chunk()?;
        Ok(Token::Ext(tag, self.take(len, "an extension value")?))
    }

    fn len8(&mut self) -> Result<usize> {
        Ok(usize::from(u8::from_be_bytes(self.chunk()?)))
    }

    fn len16(&mut self) -> Result<usize> {
        Ok(usize::from(u16::from_be_bytes(self.chunk()?)))
    }

    fn len32(&mut self) -> Result<usize> {
        let len = u32::from_be_bytes(self.chunk()?);
        usize::try_from(len).map_err(|_| Error::limit("a length exceeds the address space"))
    }

    #[inline]
    fn take(&mut self, len: usize, what: &str) -> Result<&'de [u8]> {
        match self.rest.split_at_checked(len) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => Err(Error::eof(format!(
                "{what} of {len} bytes is cut short: {} bytes left",
                self.rest.len()
            ))
            .at(self.offset_of(self.position()))),
        }
    }

    #[inline]
    fn chunk<const N: usize>(&mut self) -> Result<[u8; N]> {
        match self.rest.split_first_chunk() {
            Some((chunk, rest)) => {
                self.rest = rest;
                Ok(*chunk)
            }
            None => Err(self.ended("a number or length")),
        }
    }

    #[cold]
    fn ended(&self, what: &str) -> Error {
        Error::eof(format!("the message ends where {what} should be")).at(self.offset_of(self.bytes.len()))
    }
}

fn signed(n: i64) -> Token<'static> {
    u64::try_from(n).map_or(Token::Signed(n), Token::Unsigned)
}

#[cfg(test)]
mod tests {
    use super::{Cursor, Token};
    use crate::error::Category;

    fn token(bytes: &[u8]) -> Token<'_> {
        Cursor::new(bytes, 0).token().unwrap()
    }

    #[test]
    fn every_width_of_an_integer_is_read() {
        for bytes in [
            &[5][..],
            &[0xcc, 5],
            &[0xcd, 0, 5],
            &[0xd0, 5],
            &[0xd1, 0, 5],
            &[0xd2, 0, 0, 0, 5],
        ] {
            assert_eq!(token(bytes), Token::Unsigned(5));
        }
        assert_eq!(token(&[0xd1, 0xff, 0xfe]), Token::Signed(-2));
    }

    #[test]
    fn a_count_is_bounded_by_the_input() {
        for bytes in [&[0xdd, 0xff, 0xff, 0xff, 0xff, 1][..], &[0xdf, 0, 0, 0, 1, 1], &[0x91]] {
            let error = Cursor::new(bytes, 0).token().unwrap_err();
            assert_eq!(error.category(), Category::Eof);
        }
    }

    #[test]
    fn skipping_needs_no_stack() {
        let mut deep = vec![0x91; 1_000_000];
        deep.push(0xc0);
        let mut cursor = Cursor::new(&deep, 0);
        cursor.skip().unwrap();
        assert!(cursor.rest().is_empty());
    }
}
