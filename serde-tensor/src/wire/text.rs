//! Short strings, which most keys and many values are.

#![allow(
    unsafe_code,
    reason = "a string that was just seen to be ASCII is not checked to be UTF-8 again"
)]

/// The text of a string of up to 16 bytes at the front of `bytes`, if it is ASCII and at least 16 bytes are there.
///
/// `std::str::from_utf8` is made for long strings: of a few bytes, most of its time goes into finding out how few they are.
/// Here one window of 16 bytes is tested at once, with those behind the string masked out.
#[inline]
pub(super) fn short_ascii(bytes: &[u8], len: usize) -> Option<&str> {
    const HIGH_BITS: u128 = u128::from_ne_bytes([0x80; 16]);
    let window = u128::from_le_bytes(*bytes.first_chunk()?);
    // The string's bytes are the lowest `len`; a shift by all 128 bits is what `checked_shl` refuses.
    let bits = u32::try_from(len).ok()?.checked_mul(8)?;
    let behind = u128::MAX.checked_shl(bits).unwrap_or(0);
    let text = bytes.get(..len)?;
    if len > 16 || window & HIGH_BITS & !behind != 0 {
        return None;
    }
    // SAFETY: `from_utf8_unchecked` asks for valid UTF-8. `text` is the first `len` bytes of the window, `len` is at most 16, and
    // none of these has its high bit set, so all are ASCII, which is valid UTF-8.
    Some(unsafe { std::str::from_utf8_unchecked(text) })
}

#[cfg(test)]
mod tests {
    use super::short_ascii;

    #[test]
    fn only_the_string_itself_need_be_ascii() {
        for len in 0..=16 {
            for odd in 0..20 {
                let mut bytes = [b'a'; 20];
                bytes[odd] = 0xff;
                let text = short_ascii(&bytes, len);
                assert_eq!(text.is_some(), odd >= len, "a string of {len}, byte {odd} is not ASCII");
                assert!(text.is_none_or(|text| text.len() == len));
            }
        }
    }

    #[test]
    fn long_strings_and_ends_are_for_the_standard_library() {
        assert_eq!(short_ascii(&[b'a'; 40], 17), None);
        assert_eq!(short_ascii(&[b'a'; 15], 3), None);
        assert_eq!(short_ascii(&[b'a'; 16], usize::MAX), None);
    }
}
