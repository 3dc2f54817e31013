//! How much memory a value's tensors will take in a message, told before it is written.

use std::ops::Range;

use smallvec::SmallVec;

use super::TensorVisitor;
use crate::call::encode::{self, Forecast};
use crate::error::{Error, Result};
use crate::{Presence, TensorSerialize};

/// How many tensors are looked at, and one more for so many bytes as take longer to write than the look: of many small ones the
/// message may grow as it will.
const MOST: usize = 64;
const WORTH_A_LOOK: usize = 8 << 10;

/// Tells an encoding call that has just begun what the segments of its value will take.
///
/// Of a value inside of another it is the outermost that tells, the first one where there are several. Tensors of libraries that
/// cannot say quickly where their bytes are are left out.
#[inline]
pub fn announce<T: TensorSerialize + ?Sized>(value: &T) {
    if matches!(T::PRESENCE, Presence::Never) {
        return;
    }
    if let Some(limit) = encode::forecast_asked() {
        encode::forecast(forecast(value, limit));
    }
}

#[inline(never)]
fn forecast<T: TensorSerialize + ?Sized>(value: &T, limit: usize) -> Forecast {
    let mut ranges = Ranges::default();
    let mut left = MOST;
    let mut weigh = |shared: Option<Range<usize>>, len: usize| {
        left = (left + len / WORTH_A_LOOK).checked_sub(1).ok_or_else(enough)?;
        if len > limit {
            ranges.add(shared, len);
        }
        Ok(())
    };
    let mut visitor = TensorVisitor::weighing(DEPTH, &mut weigh);
    // It ends early where there are too many.
    let _all: Result<()> = value.visit_tensors(&mut visitor);
    ranges.forecast()
}

/// How many types deep it looks.
const DEPTH: usize = 32;

#[cold]
fn enough() -> Error {
    Error::data("enough tensors")
}

/// Where tensors lie, and how many bytes they are.
#[derive(Default)]
struct Ranges {
    /// Of those that may share their bytes: first address, and end.
    shared: SmallVec<[(usize, usize); 8]>,
    /// Those that share their bytes with none.
    alone: Forecast,
}

impl Ranges {
    fn add(&mut self, shared: Option<Range<usize>>, len: usize) {
        match shared {
            Some(range) => self.shared.push((range.start, range.end)),
            None => {
                self.alone.bytes = self.alone.bytes.saturating_add(len);
                self.alone.segments += 1;
            }
        }
    }

    /// What they take together: bytes that several show travel once.
    fn forecast(mut self) -> Forecast {
        self.shared.sort_unstable();
        let mut forecast = self.alone;
        let mut seen = 0;
        for (start, end) in self.shared {
            if end > seen {
                forecast.bytes = forecast.bytes.saturating_add(end - start.max(seen));
                forecast.segments += 1;
                seen = end;
            }
        }
        forecast
    }
}

#[cfg(test)]
mod tests {
    use super::{Forecast, Ranges};

    #[test]
    fn bytes_that_are_shown_twice_count_once() {
        let mut ranges = Ranges::default();
        for range in [200..300, 0..100, 0..100, 50..150, 210..220] {
            ranges.add(Some(range.clone()), range.len());
        }
        ranges.add(None, 7);
        ranges.add(None, 7);
        let forecast = Forecast {
            bytes: 264,
            segments: 5,
        };
        assert_eq!(ranges.forecast(), forecast);
    }
}
