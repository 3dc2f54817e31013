//! CRC-32C (Castagnoli, as in iSCSI): polynomial 0x1EDC6F41, reflected, initial value and final XOR all ones.

/// The checksum of `parts`, one behind the other.
pub(crate) fn crc32c(parts: &[&[u8]]) -> u32 {
    parts.iter().fold(0, |checksum, part| append(checksum, part))
}

/// The checksum of bytes of which a front part has the checksum given; that of no bytes is 0.
pub(crate) fn append(checksum: u32, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(checksum, bytes)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_check_value_of_the_algorithm() {
        assert_eq!(super::crc32c(&[b"1234", b"56789"]), 0xe306_9283);
    }
}
