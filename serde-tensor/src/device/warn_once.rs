//! A small set that says what was already warned of.

/// How many different cases one set remembers. A message from outside chooses the devices it names: without a limit it
/// could fill the memory over the process's life. The oldest is forgotten first, so a new case is warned of even then.
const LIMIT: usize = 256;

/// What was already warned of: in one field for the process, or in one call.
#[derive(Debug)]
pub(crate) struct WarnOnce<T>(Vec<T>);

impl<T: PartialEq> WarnOnce<T> {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    /// Whether `case` comes for the first time, and so is to be warned of.
    pub(crate) fn first(&mut self, case: T) -> bool {
        let first = !self.0.contains(&case);
        if first {
            if self.0.len() >= LIMIT {
                self.0.remove(0);
            }
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
    fn it_does_not_grow_without_end_and_never_falls_silent() {
        let mut seen = WarnOnce::new();
        assert!((0..10_000).all(|case| seen.first(case)));
        assert_eq!(seen.0.len(), LIMIT);
        assert!(!seen.first(9_999));
    }
}
