//! Which parts of a message were looked at already.

use std::collections::BTreeMap;
use std::ops::Range;

/// Ranges of addresses that neither overlap nor touch: first address, and end.
#[derive(Default)]
pub(super) struct Spans(BTreeMap<usize, usize>);

impl Spans {
    /// The parts of a range that are not in here.
    pub(super) fn gaps(&self, range: &Range<usize>) -> Vec<Range<usize>> {
        let mut gaps = Vec::new();
        let mut at = range.start;
        let before = self.0.range(..=range.start).next_back();
        for (&start, &end) in before.into_iter().chain(self.0.range(range.start..range.end)) {
            if start > at {
                gaps.push(at..start);
            }
            at = at.max(end);
        }
        if at < range.end {
            gaps.push(at..range.end);
        }
        gaps
    }

    /// Adds a range. A range that is merged into another goes, so the cost of many is that of sorting them.
    pub(super) fn insert(&mut self, mut range: Range<usize>) {
        while let Some((&start, &end)) = self.0.range(..=range.end).next_back()
            && end >= range.start
        {
            self.0.remove(&start);
            range = range.start.min(start)..range.end.max(end);
        }
        self.0.insert(range.start, range.end);
    }
}

#[cfg(test)]
mod tests {
    use super::Spans;

    #[test]
    fn gaps_are_what_was_never_inserted() {
        let mut spans = Spans::default();
        let mut seen = [false; 64];
        // A walk that visits ranges of many lengths in no order.
        for step in 0..400usize {
            let start = step * 37 % 60;
            let range = start..(start + step * 13 % 7 + 1).min(64);
            let mut in_gap = [false; 64];
            for gap in spans.gaps(&range) {
                in_gap[gap].fill(true);
            }
            for at in range.clone() {
                assert_eq!(in_gap[at], !seen[at], "{range:?} at {at}");
            }
            if step % 3 == 0 {
                seen[range.clone()].fill(true);
                spans.insert(range);
            }
        }
    }
}
