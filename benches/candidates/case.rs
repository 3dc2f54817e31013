//! One thing to measure.

use std::hint::black_box;

/// What measures: a clock, a counter of memory or of instructions, criterion.
pub(crate) trait Meter {
    /// Is told how long the message is, in bytes.
    fn message(&mut self, bytes: usize);

    /// Is given the work, which runs as many times as it is told to.
    fn measure(&mut self, work: &mut dyn FnMut(u64));
}

/// What one candidate does with one data set.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub(crate) data: &'static str,
    pub(crate) candidate: &'static str,
    /// * `encode`: from the value into fresh memory; `encode-warm`: into memory used before.
    /// * `decode`: a value that owns all it holds; `decode-views`: one whose text and tensors are borrowed from the message.
    /// * `plan`: `Plan::new`; `write`: that, and writing the message to where it costs nothing; `read`: from a reader.
    /// * `socket-warm`, `socket-fresh`: from value to value over a socket, into a buffer used before or a new one.
    pub(crate) operation: &'static str,
    /// Prepares everything, sees once that the result is right, and hands the meter the work alone.
    pub(crate) run: fn(&mut dyn Meter),
}

impl Case {
    pub(crate) fn new(
        data: &'static str,
        candidate: &'static str,
        operation: &'static str,
        run: fn(&mut dyn Meter),
    ) -> Self {
        Self {
            data,
            candidate,
            operation,
            run,
        }
    }
}

/// Hands work to a meter. Its result is dropped in the time that is measured: freeing memory is a part of using it.
pub(crate) fn measure<R>(meter: &mut dyn Meter, mut work: impl FnMut() -> R) {
    meter.measure(&mut |times| {
        for _ in 0..times {
            black_box(work());
        }
    });
}
