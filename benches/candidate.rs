//! One candidate, in a process of its own: `cargo xtask bench-table` starts one for each number in its table.
//!
//! * `candidate list`: all cases, one a line: data, candidate and operation, separated by tabs.
//! * `candidate DATA CANDIDATE OPERATION [SECONDS]`: one line: the median and the lowest time of a run in nanoseconds, the peak by which the
//!   heap grew in one run in bytes, the message's length in bytes.
//! * `candidate DATA CANDIDATE OPERATION --times N`: runs the work N times, and prints nothing: for a profiler.

mod candidates;
mod data;
mod meters;

use std::process::ExitCode;
use std::time::Duration;

use candidates::{Case, cases};
use meters::{Clock, Times};

#[global_allocator]
static ALLOCATOR: meters::Counting = meters::Counting;

const USAGE: &str = "candidate list | DATA CANDIDATE OPERATION [SECONDS | --times N]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("candidate: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<(), String> {
    match arguments {
        ["list"] => {
            for case in cases() {
                println!("{}\t{}\t{}", case.data, case.candidate, case.operation);
            }
        }
        [data, candidate, operation] => time(find(data, candidate, operation)?, 0.2),
        [data, candidate, operation, seconds] => time(find(data, candidate, operation)?, number(seconds)?),
        [data, candidate, operation, "--times", times] => {
            let mut meter = Times(number(times)?);
            (find(data, candidate, operation)?.run)(&mut meter);
        }
        _ => return Err(USAGE.to_owned()),
    }
    Ok(())
}

fn number<N: std::str::FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number; {USAGE}"))
}

fn find(data: &str, candidate: &str, operation: &str) -> Result<Case, String> {
    let wanted = |case: &Case| (case.data, case.candidate, case.operation) == (data, candidate, operation);
    let missing = || format!("no case `{data}` `{candidate}` `{operation}`; `candidate list` names all");
    cases().into_iter().find(wanted).ok_or_else(missing)
}

fn time(case: Case, seconds: f64) {
    let mut clock = Clock::new(Duration::from_secs_f64(seconds));
    (case.run)(&mut clock);
    println!("{clock}");
}
