//! Numbers that look random and are the same in every run.

/// Marsaglia's xorshift generator of 64 bits, shifts 13, 7, 17.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u32) -> Self {
        Self(u64::from(seed) << 1 | 1)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `end`.
    pub(super) fn below(&mut self, end: u32) -> u32 {
        // The upper half, scaled: below `end`, which has 32 bits.
        u32::try_from(((self.next() >> 32) * u64::from(end)) >> 32).unwrap_or(0)
    }

    /// A number from -1 to 1.
    pub(super) fn float(&mut self) -> f32 {
        // 24 bits are exact in an `f32`.
        let bits = u16::try_from(self.below(1 << 16)).unwrap_or(0);
        f32::from(bits) / 32768.0 - 1.0
    }

    /// One of some.
    pub(super) fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        let len = u32::try_from(choices.len()).unwrap_or(0);
        choices[self.below(len) as usize]
    }

    pub(super) fn bytes(&mut self, len: usize) -> Vec<u8> {
        /// Repeated from here on: no candidate compresses, and drawing each byte would take longer than measuring.
        const PERIOD: usize = 1 << 16;
        let mut bytes = Vec::with_capacity(len);
        while bytes.len() < len.min(PERIOD) {
            bytes.extend(self.next().to_le_bytes());
        }
        bytes.truncate(len);
        while bytes.len() < len {
            bytes.extend_from_within(..PERIOD.min(len - bytes.len()));
        }
        bytes
    }
}
