//! serde-tensor next to other formats, by criterion: `cargo bench --features peers --bench formats -- records/decode`.
//!
//! All run in one process, whose heap each candidate leaves in another state; `cargo xtask bench-table` gives each a process of its own, and
//! is what judges. A filter comes first and is a part of a name, as `data/operation/candidate`. *state* runs only where the filter names it: a
//! hundred samples of it take minutes.

mod candidates;
mod data;

use std::time::Instant;

use candidates::{Case, Meter, cases};
use criterion::Criterion;

/// One benchmark of criterion's.
struct Benchmark<'a> {
    criterion: &'a mut Criterion,
    name: &'a str,
}

impl Meter for Benchmark<'_> {
    fn message(&mut self, _: usize) {}

    fn measure(&mut self, work: &mut dyn FnMut(u64)) {
        self.criterion.bench_function(self.name, |bencher| {
            bencher.iter_custom(|times| {
                let start = Instant::now();
                work(times);
                start.elapsed()
            });
        });
    }
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let filter = std::env::args().nth(1).filter(|first| !first.starts_with('-'));
    for case in cases() {
        let Case {
            data,
            operation,
            candidate,
            run,
        } = case;
        let name = format!("{data}/{operation}/{candidate}");
        // Criterion filters too, but only once the data is made.
        let wanted = match &filter {
            Some(part) => name.contains(part),
            None => !data.starts_with("state"),
        };
        if wanted {
            let criterion = &mut criterion;
            run(&mut Benchmark { criterion, name: &name });
        }
    }
    criterion.final_summary();
}
