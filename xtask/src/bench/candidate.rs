//! The program that measures one candidate: `benches/candidate.rs`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::libtorch::{Libtorch, Version};
use crate::step::{Result, Step};

/// What is measured: data, candidate and operation, as the program names them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Case {
    pub(crate) data: String,
    pub(crate) candidate: String,
    pub(crate) operation: String,
}

impl Case {
    pub(crate) fn new(data: &str, candidate: &str, operation: &str) -> Self {
        Self {
            data: data.to_owned(),
            candidate: candidate.to_owned(),
            operation: operation.to_owned(),
        }
    }

    pub(crate) fn arguments(&self) -> [&str; 3] {
        [&self.data, &self.candidate, &self.operation]
    }
}

/// Which of a process's times counts.
#[derive(Clone, Copy)]
pub(crate) enum Time {
    Median,
    /// For a machine that is busy: most of the samples are then of something else, too.
    Lowest,
}

/// What one process, or several of one case, measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Numbers {
    /// Median time of a run, or the lowest; of several processes the lowest, since what disturbs only adds.
    pub(crate) nanoseconds: f64,
    /// By how much the heap grew at most in a run.
    pub(crate) heap: f64,
    /// The message's length.
    pub(crate) bytes: f64,
}

impl Numbers {
    /// From a line: median, lowest time, heap, message.
    fn parse(line: &str, time: Time) -> Option<Self> {
        let mut numbers = line.split_whitespace().map(|number| number.parse().ok());
        let mut next = || numbers.next().flatten();
        let (median, lowest, heap, bytes) = (next()?, next()?, next()?, next()?);
        Some(Self {
            nanoseconds: match time {
                Time::Median => median,
                Time::Lowest => lowest,
            },
            heap,
            bytes,
        })
    }

    /// With another process's numbers of the same case.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            nanoseconds: self.nanoseconds.min(other.nanoseconds),
            ..other
        }
    }
}

/// All numbers, by case.
pub(crate) type Measured = HashMap<Case, Numbers>;

/// The built program.
pub(crate) struct Program {
    path: PathBuf,
    libtorch: Option<Libtorch>,
}

impl Program {
    /// Builds it, with libtorch's candidates where they are wanted.
    pub(crate) fn build(with_libtorch: bool) -> Result<Self> {
        let libtorch = with_libtorch.then(|| Libtorch::provide(&Version::NEWEST)).transpose()?;
        let features = if with_libtorch { "peers,tch" } else { "peers" };
        let step = Step::cargo("build --release --package serde-tensor-suite --example candidate --features");
        let step = step.args(&[features.to_owned()]);
        match &libtorch {
            Some(libtorch) => libtorch.for_step(step),
            None => step,
        }
        .run()?;
        // This program lies in `debug`, or in the folder of another profile, beside `release`.
        let here = std::env::current_exe().map_err(|error| error.to_string())?;
        let target = here.ancestors().nth(2).ok_or("no target folder")?;
        let name = format!("release/examples/candidate{}", std::env::consts::EXE_SUFFIX);
        let path = target.join(name);
        Ok(Self { path, libtorch })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A command that runs it: alone, or under another program.
    pub(crate) fn command(&self, under: &[&str]) -> Command {
        let mut command = match under {
            [] => Command::new(&self.path),
            [program, arguments @ ..] => {
                let mut command = Command::new(program);
                command.args(arguments).arg(&self.path);
                command
            }
        };
        if let Some(libtorch) = &self.libtorch {
            libtorch.for_command(&mut command);
        }
        command
    }

    /// All cases there are, in the order of the tables.
    pub(crate) fn cases(&self) -> Result<Vec<Case>> {
        let list = output(self.command(&[]).arg("list"))?;
        let case = |line: &str| match line.split('\t').collect::<Vec<_>>()[..] {
            [data, candidate, operation] => Ok(Case::new(data, candidate, operation)),
            _ => Err(format!("`{line}` names no case")),
        };
        list.lines().map(case).collect()
    }

    /// Measures a case for about so many seconds, in a process of its own.
    pub(crate) fn measure(&self, case: &Case, seconds: f64, time: Time) -> Result<Numbers> {
        let line = output(self.command(&[]).args(case.arguments()).arg(seconds.to_string()))?;
        Numbers::parse(&line, time).ok_or_else(|| format!("{case:?}: `{line}` is not what was measured"))
    }
}

/// What a command prints.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?} failed: {}\n{told}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("{command:?}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::{Numbers, Time};

    #[test]
    fn of_several_processes_the_lowest_counts() {
        let first = Numbers::parse("12.5 10 64 100\n", Time::Median).unwrap();
        let second = Numbers::parse("11.5 11 64 100", Time::Median).unwrap();
        assert_eq!((first.nanoseconds, first.heap, first.bytes), (12.5, 64.0, 100.0));
        assert_eq!(first.or(second), second);
        assert_eq!(second.or(first), second);
        let lowest = Numbers::parse("12.5 10 64 100", Time::Lowest);
        assert_eq!(lowest.map(|numbers| numbers.nanoseconds), Some(10.0));
        assert_eq!(Numbers::parse("12.5 10 64", Time::Median), None);
    }
}
