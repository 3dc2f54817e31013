//! What is measured: `cargo xtask bench-table` and `cargo xtask bench-guard`.

mod callgrind;
mod candidate;
mod counts;
mod format;
mod guard;
mod page;
mod table;
mod targets;

use std::time::{Duration, Instant};

use candidate::{Case, Measured, Program, Time};
use counts::Counts;
pub(crate) use guard::run as guard;

use crate::step::Result;

/// *state* is 248 MB: a run takes up to a second, and a process of it takes no more of them than it must.
const LARGE: &str = "state";

/// How often, and for how long, a case is measured.
struct Effort {
    rounds: usize,
    /// Seconds of one process, besides preparing the data; none of one with [`LARGE`], which takes three samples all the same.
    seconds: f64,
    time: Time,
}

const FULL: Effort = Effort {
    rounds: 3,
    seconds: 0.2,
    time: Time::Median,
};

const QUICK: Effort = Effort {
    rounds: 1,
    seconds: 0.02,
    time: Time::Lowest,
};

/// Measures, and writes the tables into `docs/benchmarks.md`: all but libtorch's, or those of one data set.
pub(crate) fn table(arguments: &[String]) -> Result {
    let mut only = None;
    let (mut effort, mut write, mut libtorch) = (FULL, true, false);
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--quick" => (effort, write) = (QUICK, false),
            "--tch" => libtorch = true,
            "--only" => {
                let name = arguments.next().ok_or("`--only` takes the name of a data set")?;
                only = Some(name.as_str());
            }
            other => return Err(format!("`bench-table` takes --only, --quick and --tch, not `{other}`")),
        }
    }
    let program = Program::build(libtorch)?;
    let mut cases = program.cases()?;
    cases.retain(|case| match only {
        Some(data) => case.data == data,
        None => case.data.starts_with("libtorch") == libtorch,
    });
    if cases.is_empty() {
        return Err("there is no such data set; `candidate list` names all".to_owned());
    }
    let start = Instant::now();
    let measured = measure(&program, &cases, &effort)?;
    eprintln!("measured in {} s", start.elapsed().as_secs());
    let mut parts = table::tables(&cases, &measured);
    if only.is_none() && !libtorch {
        let instructions = Counts::read().map_or_else(|_| String::new(), |counts| targets::instructions(&counts));
        let targets = targets::table(&measured) + &instructions + &circumstances()?;
        parts.push(("targets".to_owned(), targets));
    }
    for (name, table) in &parts {
        println!("{name}\n\n{table}");
    }
    if write { page::write(&parts) } else { Ok(()) }
}

/// What the numbers depend on, besides the code.
fn circumstances() -> Result<String> {
    let cores = std::thread::available_parallelism().map_err(|error| error.to_string())?;
    Ok(format!(
        "\nMeasured on {cores} cores, compiled by {}.\n",
        guard::rustc()?
    ))
}

/// Measures each case in processes of its own: all cases once, then all again, so that a disturbance does not hit one alone.
fn measure(program: &Program, cases: &[Case], effort: &Effort) -> Result<Measured> {
    let mut measured = Measured::new();
    let mut told = Instant::now();
    for round in 0..effort.rounds {
        for (index, case) in cases.iter().enumerate() {
            let seconds = if case.data == LARGE { 0.0 } else { effort.seconds };
            let numbers = program.measure(case, seconds, effort.time)?;
            measured
                .entry(case.clone())
                .and_modify(|before| *before = before.or(numbers))
                .or_insert(numbers);
            if told.elapsed() > Duration::from_secs(30) {
                eprintln!("round {}: {} of {} cases", round + 1, index + 1, cases.len());
                told = Instant::now();
            }
        }
    }
    Ok(measured)
}
