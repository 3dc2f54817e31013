//! Short strings, which most keys and many values are.

#![allow(
    unsafe_code,
    reason = "a string that was just seen to be ASCII is not checked to be UTF-8 again"
)]

/// The text of a string of up to 64 bytes at the front of `bytes`, if it is ASCII, and if at least 16 bytes are there.
///
/// `std::str::from_utf8` is made for long strings: of a few bytes, most of its time goes into finding out how few they are.
/// Here a window of 16 bytes is tested at once: of a shorter string with those behind it masked out, of a longer one as often as
/// they fit, and once more at its end.
#[inline]
pub(super) fn short_ascii(bytes: &[u8], len: usize) -> Option<&str> {
    let text = bytes.get(..len)?;
    let high_bits = match len {
        0..16 => {
            // The string's bytes are the lowest `len`.
            let behind = u128::MAX << (8 * len);
            window(bytes)? & !behind
        }
        16..=64 => text
            .chunks_exact(16)
            .chain([&text[len - 16..]])
            .filter_map(window)
            .fold(0, |all, window| all | window),
        _ => return None,
    };
    if high_bits & u128::from_ne_bytes([0x80; 16]) != 0 {
        return None;
    }
    // SAFETY: `from_utf8_unchecked` asks for valid UTF-8. Every byte of `text` was in a window, not masked out, and none had its high
    // bit set, so all are ASCII, which is valid UTF-8.
    Some(unsafe { std::str::from_utf8_unchecked(text) })
}

/// The first 16 bytes, the first of them lowest.
#[inline]
fn window(bytes: &[u8]) -> Option<u128> {
    Some(u128::from_le_bytes(*bytes.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::short_ascii;

    #[test]
    fn only_the_string_itself_need_be_ascii() {
        for len in 0..=64 {
            for odd in 0..80 {
                let mut bytes = [b'a'; 80];
                bytes[odd] = 0xff;
                let text = short_ascii(&bytes, len);
                assert_eq!(text.is_some(), odd >= len, "a string of {len}, byte {odd} is not ASCII");
                assert!(text.is_none_or(|text| text.len() == len));
            }
        }
    }

    #[test]
    fn long_strings_and_ends_are_for_the_standard_library() {
        assert_eq!(short_ascii(&[b'a'; 80], 65), None);
        assert_eq!(short_ascii(&[b'a'; 15], 3), None);
        assert_eq!(short_ascii(&[b'a'; 16], usize::MAX), None);
    }
}
