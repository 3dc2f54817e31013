//! A small set that says what was already warned of.

/// How many different warnings one set lets through. A message from outside chooses the devices it names: without a
/// limit it could fill the log and, over the process's life, the memory.
const LIMIT: usize = 32;

/// What was already warned of: in one field for the process, or in one call.
#[derive(Debug)]
pub(crate) struct WarnOnce<T>(Vec<T>);

impl<T: PartialEq> WarnOnce<T> {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    /// Whether `case` comes for the first time, and so is to be warned of.
    pub(crate) fn first(&mut self, case: T) -> bool {
        let first = self.0.len() < LIMIT && !self.0.contains(&case);
        if first {
            self.0.push(case);
        }
        first
    }
}

impl<T: PartialEq> Default for WarnOnce<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_case_is_first_once() {
        let mut seen = WarnOnce::new();
        assert!(seen.first(1));
        assert!(seen.first(2));
        assert!(!seen.first(1));
    }

    #[test]
    fn it_does_not_grow_without_end() {
        let mut seen = WarnOnce::new();
        let warned = (0..10_000).filter(|case| seen.first(*case)).count();
        assert_eq!(warned, LIMIT);
    }
}
