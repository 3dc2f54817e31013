//! What is left of a body, and the items that most often come next.

use super::{NIL, text};

/// Where the payload of a number that is not negative starts, and log2 of its width in bytes, by its marker; a small number is its own
/// payload. Sizes follow each other at random, so there is no branch on them.
static NUMBERS: [(u8, u8); 256] = {
    let mut numbers = [(0, u8::MAX); 256];
    let mut marker = 0;
    while marker < 0x80 {
        numbers[marker] = (0, 0);
        marker += 1;
    }
    numbers[0xcc] = (1, 0);
    numbers[0xcd] = (1, 1);
    numbers[0xce] = (1, 2);
    numbers[0xcf] = (1, 3);
    numbers
};

/// What is left of a body: few words, which the optimiser keeps in registers while items are taken that are what they are expected to be.
#[derive(Clone, Copy)]
pub(crate) struct Rest<'de>(&'de [u8]);

impl<'de> Rest<'de> {
    #[inline]
    pub(super) fn new(bytes: &'de [u8]) -> Self {
        Self(bytes)
    }

    #[inline]
    pub(super) fn bytes(self) -> &'de [u8] {
        self.0
    }

    /// How many bytes are left.
    #[inline]
    pub(crate) fn len(self) -> usize {
        self.0.len()
    }

    /// The next marker byte, not taken.
    #[inline]
    pub(crate) fn peek(self) -> Option<u8> {
        self.0.first().copied()
    }

    /// Takes a nil, if that is what comes next.
    #[inline]
    pub(crate) fn quick_nil(&mut self) -> bool {
        let is_next = self.peek() == Some(NIL);
        if is_next {
            self.0 = &self.0[1..];
        }
        is_next
    }

    /// Takes a bool, if that is what comes next.
    #[inline]
    pub(crate) fn quick_bool(&mut self) -> Option<bool> {
        let (&marker, rest) = self.0.split_first()?;
        if marker & 0xfe != 0xc2 {
            return None;
        }
        self.0 = rest;
        Some(marker == 0xc3)
    }

    /// Takes a number that is not negative, if that is what comes next and it is nowhere near the end.
    #[inline]
    pub(crate) fn quick_unsigned(&mut self) -> Option<u64> {
        let bytes = self.0.first_chunk::<9>()?;
        let (start, log2) = NUMBERS[usize::from(bytes[0])];
        if log2 > 3 {
            return None;
        }
        let (start, width) = (usize::from(start & 1), 1usize << log2);
        let payload = u64::from_be_bytes(*bytes[start..].first_chunk()?);
        self.0 = &self.0[start + width..];
        Some(payload >> (64 - 8 * width))
    }

    /// Takes a negative number, if that is what comes next and it is nowhere near the end.
    #[inline]
    pub(crate) fn quick_negative(&mut self) -> Option<i64> {
        let &[marker, payload @ ..] = self.0.first_chunk::<9>()?;
        if marker >= 0xe0 {
            self.0 = &self.0[1..];
            return Some(i64::from(marker.cast_signed()));
        }
        if marker & 0xfc != 0xd0 {
            return None;
        }
        let width = 1usize << (marker & 3);
        let number = i64::from_be_bytes(payload) >> (64 - 8 * width);
        // One that needs no sign is left to others.
        if number >= 0 {
            return None;
        }
        self.0 = &self.0[1 + width..];
        Some(number)
    }

    /// Takes a float of 32 bits, if that is what comes next.
    #[inline]
    pub(crate) fn quick_f32(&mut self) -> Option<f32> {
        let (&[0xca, a, b, c, d], rest) = self.0.split_first_chunk::<5>()? else {
            return None;
        };
        self.0 = rest;
        Some(f32::from_bits(u32::from_be_bytes([a, b, c, d])))
    }

    /// Takes a float of 64 bits, if that is what comes next.
    #[inline]
    pub(crate) fn quick_f64(&mut self) -> Option<f64> {
        let (&[0xcb, payload @ ..], rest) = self.0.split_first_chunk::<9>()? else {
            return None;
        };
        self.0 = rest;
        Some(f64::from_bits(u64::from_be_bytes(payload)))
    }

    /// Takes a string of up to 15 bytes, if that is what comes next, it is ASCII, and it is nowhere near the end.
    #[inline]
    pub(crate) fn quick_name(&mut self) -> Option<&'de str> {
        let ([marker, window @ ..], _) = self.0.split_first_chunk::<17>()?;
        if marker & 0xf0 != 0xa0 {
            return None;
        }
        let text = text::ascii_at_front(window, marker & 0x0f)?;
        self.0 = &self.0[1 + text.len()..];
        Some(text)
    }

    /// Takes a string of up to 64 bytes, if that is what comes next, it is ASCII, and it is nowhere near the end.
    #[inline]
    pub(crate) fn quick_str(&mut self) -> Option<&'de str> {
        if let Some(text) = self.quick_name() {
            return Some(text);
        }
        let (&[marker, next], _) = self.0.split_first_chunk()?;
        let (header, len) = match marker {
            0xb0..=0xbf => (1, marker & 0x1f),
            0xd9 => (2, next),
            _ => return None,
        };
        let (text, rest) = self.0[header..].split_at_checked(usize::from(len))?;
        let text = text::ascii_in_windows(text)?;
        self.0 = rest;
        Some(text)
    }

    /// Takes an extension value of a type, if that is what comes next and its length has a field of its own.
    #[inline]
    pub(crate) fn quick_ext(&mut self, tag: u8) -> Option<&'de [u8]> {
        let (len, rest) = match *self.0 {
            [0xc7, len, found, ref rest @ ..] if found == tag => (usize::from(len), rest),
            [marker @ 0xd4..=0xd8, found, ref rest @ ..] if found == tag => (1 << (marker - 0xd4), rest),
            [0xc8, a, b, found, ref rest @ ..] if found == tag => (usize::from(u16::from_be_bytes([a, b])), rest),
            _ => return None,
        };
        let (payload, rest) = rest.split_at_checked(len)?;
        self.0 = rest;
        Some(payload)
    }

    /// Takes the header of an array of up to 15 elements, if that is what comes next.
    #[inline]
    pub(crate) fn quick_array(&mut self) -> Option<usize> {
        self.quick_header(0x90, 1)
    }

    /// What follows the header of an array of so many elements, if that is what comes next and they are up to 15.
    #[inline]
    pub(crate) fn before_array(self, len: usize) -> Option<Self> {
        if len >= 16 || self.0.len() <= len || usize::from(self.0[0]) != 0x90 | len {
            return None;
        }
        Some(Self(&self.0[1..]))
    }

    /// What follows the header of an array of so many floats of 32 bits, if that is what comes next and they are up to 15.
    #[inline]
    pub(crate) fn before_f32s(self, len: usize) -> Option<Self> {
        if len >= 16 || self.0.len() <= 5 * len || usize::from(self.0[0]) != 0x90 | len {
            return None;
        }
        let mut at = 1;
        while at < 5 * len {
            if self.0[at] != 0xca {
                return None;
            }
            at += 5;
        }
        Some(Self(&self.0[1..]))
    }

    /// Takes the header of a map of up to 15 entries, if that is what comes next.
    #[inline]
    pub(crate) fn quick_map(&mut self) -> Option<usize> {
        self.quick_header(0x80, 2)
    }

    #[inline]
    fn quick_header(&mut self, kind: u8, each: usize) -> Option<usize> {
        let (&marker, rest) = self.0.split_first()?;
        let len = usize::from(marker & 0x0f);
        if marker & 0xf0 != kind || len * each > rest.len() {
            return None;
        }
        self.0 = rest;
        Some(len)
    }
}

#[cfg(test)]
mod tests {
    use super::Rest;
    use crate::wire::read::{Cursor, Token};

    /// What a quick method takes of bytes, and how many of them.
    fn taken<'de, R>(bytes: &'de [u8], take: impl FnOnce(&mut Rest<'de>) -> Option<R>) -> Option<(R, usize)> {
        let mut rest = Rest::new(bytes);
        let value = take(&mut rest)?;
        Some((value, bytes.len() - rest.len()))
    }

    #[test]
    fn what_is_taken_quickly_is_what_is_there() {
        for marker in 0..=u8::MAX {
            let mut bytes = [b'a'; 80];
            // A length as good as any; as a signed number negative.
            (bytes[0], bytes[1]) = (
                marker,
                if marker & 0xf0 == 0xd0 && marker < 0xd4 {
                    0xb0
                } else {
                    40
                },
            );
            let mut cursor = Cursor::new(&bytes, 0);
            let token = cursor.token().ok().map(|token| (token, cursor.position()));
            let bool = taken(&bytes, Rest::quick_bool);
            let number = taken(&bytes, Rest::quick_unsigned);
            let negative = taken(&bytes, Rest::quick_negative);
            let float = taken(&bytes, Rest::quick_f32).map(|(value, len)| (value.into(), len));
            let float = float.or(taken(&bytes, Rest::quick_f64));
            let text = taken(&bytes, Rest::quick_str);
            match token {
                Some((Token::Unsigned(n), len)) if marker < 0xd0 => assert_eq!(number, Some((n, len))),
                Some((Token::Bool(value), len)) => assert_eq!(bool, Some((value, len))),
                Some((Token::Signed(n), len)) => assert_eq!(negative, Some((n, len))),
                Some((Token::F32(value), len)) => assert_eq!(float, Some((value.into(), len))),
                Some((Token::F64(value), len)) => assert_eq!(float, Some((value, len))),
                Some((Token::Str(found), len)) if marker < 0xda => {
                    assert_eq!(text.map(|(text, len)| (text.as_bytes(), len)), Some((found, len)));
                }
                _ => assert_eq!((bool, number, negative, float, text), (None, None, None, None, None)),
            }
        }
    }

    #[test]
    fn a_sign_that_is_not_needed_is_for_others() {
        assert_eq!(taken(&[0xd0, 5, 0, 0, 0, 0, 0, 0, 0], Rest::quick_negative), None);
        assert_eq!(
            taken(&[0xd1, 0xff, 0xfe, 0, 0, 0, 0, 0, 0], Rest::quick_negative),
            Some((-2, 3))
        );
    }

    #[test]
    fn floats_are_floats_up_to_the_last() {
        let mut bytes = [0; 17];
        bytes[0] = 0x93;
        for at in [1, 6, 11] {
            assert!(Rest::new(&bytes).before_f32s(3).is_none(), "{at}");
            bytes[at] = 0xca;
        }
        assert_eq!(Rest::new(&bytes).before_f32s(3).map(Rest::len), Some(16));
        assert!(Rest::new(&bytes[..15]).before_f32s(3).is_none());
        assert!(Rest::new(&bytes).before_f32s(2).is_none());
        assert!(Rest::new(&[]).before_f32s(0).is_none());
    }
}
