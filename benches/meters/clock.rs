//! How long a run takes.

use std::fmt;
use std::time::{Duration, Instant};

use super::heap;
use crate::candidates::Meter;

/// A sample lasts at least this long, however short a run is.
const SAMPLE: Duration = Duration::from_millis(1);

/// So many samples are taken even if they last longer than they should.
const SAMPLES: usize = 3;

/// Takes samples until its time is used up, then counts memory in one more run.
pub(crate) struct Clock {
    time: Duration,
    /// Nanoseconds a run, in ascending order.
    samples: Vec<f64>,
    peak: usize,
    message: usize,
}

impl Clock {
    pub(crate) fn new(time: Duration) -> Self {
        Self {
            time,
            samples: Vec::new(),
            peak: 0,
            message: 0,
        }
    }
}

impl Meter for Clock {
    fn message(&mut self, bytes: usize) {
        self.message = bytes;
    }

    fn measure(&mut self, work: &mut dyn FnMut(u64)) {
        let mut elapsed = |times| {
            let start = Instant::now();
            work(times);
            start.elapsed()
        };
        // Warms caches and allocator, and finds how many runs fill a sample.
        let mut times = 1;
        while elapsed(times) < SAMPLE {
            times *= 2;
        }
        let start = Instant::now();
        while self.samples.len() < SAMPLES || start.elapsed() < self.time {
            #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
            self.samples.push(elapsed(times).as_nanos() as f64 / times as f64);
        }
        self.samples.sort_unstable_by(f64::total_cmp);
        self.peak = heap::peak(|| work(1));
    }
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [lowest, .., _] = *self.samples else {
            return f.write_str("nothing was measured");
        };
        let median = self.samples[self.samples.len() / 2];
        write!(f, "{median:.3} {lowest:.3} {} {}", self.peak, self.message)
    }
}

/// Runs the work so many times, for a profiler that watches from outside.
pub(crate) struct Times(pub(crate) u64);

impl Meter for Times {
    fn message(&mut self, _: usize) {}

    fn measure(&mut self, work: &mut dyn FnMut(u64)) {
        work(self.0);
    }
}
