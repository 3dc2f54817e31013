//! Short strings, which most keys and many values are.

#![allow(
    unsafe_code,
    reason = "a string that was just seen to be ASCII is not checked to be UTF-8 again"
)]

/// The high bits of 16 bytes, the first of them lowest.
const HIGH_BITS: u128 = u128::from_ne_bytes([0x80; 16]);

/// The high bits of the lowest bytes, by how many there are.
static HIGH_BITS_OF: [u128; 16] = {
    let mut masks = [0; 16];
    let mut len = 1;
    while len < 16 {
        masks[len] = HIGH_BITS >> (8 * (16 - len));
        len += 1;
    }
    masks
};

/// The first bytes of a window, up to 15, if they are ASCII.
///
/// `std::str::from_utf8` is made for long strings: of a few bytes, most of its time goes into finding out how few they are. Here the
/// whole window is tested at once, with the bytes behind the string masked out.
#[inline]
pub(super) fn ascii_at_front(bytes: &[u8; 16], len: u8) -> Option<&str> {
    let len = usize::from(len & 0x0f);
    if u128::from_le_bytes(*bytes) & HIGH_BITS_OF[len] != 0 {
        return None;
    }
    // SAFETY: `from_utf8_unchecked` asks for valid UTF-8. The high bits of the first `len` bytes were not masked out and none is set, so
    // all are ASCII, which is valid UTF-8.
    Some(unsafe { std::str::from_utf8_unchecked(&bytes[..len]) })
}

/// A string of 16 to 64 bytes, if it is ASCII: tested in four windows that overlap as they must, without a branch on the length.
#[inline]
pub(super) fn ascii_in_windows(text: &[u8]) -> Option<&str> {
    if !(16..=64).contains(&text.len()) {
        return None;
    }
    let last = text.len() - 16;
    let starts = [0, last.min(16), last.min(32), last];
    let mut all = 0;
    for start in starts {
        all |= window(&text[start..])?;
    }
    if all & HIGH_BITS != 0 {
        return None;
    }
    // SAFETY: as above. Two neighbouring windows are never more than 16 bytes apart, as the last begins at 48 at most, so every byte was in
    // one.
    Some(unsafe { std::str::from_utf8_unchecked(text) })
}

/// The first 16 bytes, the first of them lowest.
#[inline]
fn window(bytes: &[u8]) -> Option<u128> {
    Some(u128::from_le_bytes(*bytes.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::{ascii_at_front, ascii_in_windows};

    #[test]
    fn only_the_string_itself_need_be_ascii() {
        for len in 0..16 {
            for odd in 0..16 {
                let mut bytes = [b'a'; 16];
                bytes[usize::from(odd)] = 0xff;
                let text = ascii_at_front(&bytes, len);
                assert_eq!(text.is_some(), odd >= len, "a string of {len}, byte {odd} is not ASCII");
                assert!(text.is_none_or(|text| text.len() == usize::from(len)));
            }
        }
    }

    #[test]
    fn every_byte_of_a_longer_string_is_looked_at() {
        for len in 16..=64 {
            let mut bytes = vec![b'a'; len];
            assert_eq!(ascii_in_windows(&bytes).map(str::len), Some(len));
            for odd in 0..len {
                bytes[odd] = 0x80;
                assert_eq!(
                    ascii_in_windows(&bytes),
                    None,
                    "a string of {len}, byte {odd} is not ASCII"
                );
                bytes[odd] = b'a';
            }
        }
    }

    #[test]
    fn other_lengths_are_for_others() {
        assert_eq!(ascii_in_windows(&[b'a'; 65]), None);
        assert_eq!(ascii_in_windows(&[b'a'; 15]), None);
    }
}
