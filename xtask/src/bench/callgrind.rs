//! Instruction counts by valgrind's callgrind.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::candidate::{Case, Program, output};
use crate::step::{Result, root};

/// Instructions of one run of a case: in the program itself, its dependencies and Rust's library included, but not in the
/// system's libraries.
///
/// The C library chooses its copying and comparing by the processor, so its counts differ from machine to machine; the
/// program's own do not.
pub(crate) fn count(program: &Program, case: &Case) -> Result<u64> {
    // Preparing the data costs the same in both, so their difference is the work alone; the first runs warm what is made once.
    let few = total(program, case, FEW)?;
    let more = total(program, case, FEW + RUNS)?;
    Ok(more.saturating_sub(few) / RUNS)
}

const FEW: u64 = 2;
const RUNS: u64 = 4;

/// Whether valgrind is there.
pub(crate) fn check() -> Result {
    output(Command::new("valgrind").arg("--version"))
        .map(drop)
        .map_err(|error| {
            format!(
                "bench-guard counts instructions with valgrind, which does not start: {error}\n\
             The package is called `valgrind` (apt, dnf, pacman, brew)."
            )
        })
}

fn total(program: &Program, case: &Case, times: u64) -> Result<u64> {
    let folder = root().join("target/callgrind");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let file = folder.join("counts.out");
    let out = format!("--callgrind-out-file={}", file.display());
    let under = ["valgrind", "--quiet", "--tool=callgrind", &out];
    let mut command = program.command(&under);
    command.args(case.arguments()).args(["--times", &times.to_string()]);
    output(&mut command)?;
    let counts = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    own(&counts, program.path()).ok_or_else(|| format!("{}: no counts of {}", file.display(), program.path().display()))
}

/// The instructions that a file of callgrind's counts for one object, without those of what it calls.
///
/// The format: `ob=(1) path` opens the lines of an object, later `ob=(1)` alone; `cob=` names the object of a function that is called,
/// and may be the first to say its number. A line of counts is `position count`; the one behind `calls=` is the callee's.
fn own(file: &str, object: &Path) -> Option<u64> {
    let mut paths: HashMap<&str, &str> = HashMap::new();
    let mut is_own = false;
    let mut of_callee = false;
    let mut total = None;
    for line in file.lines() {
        if let Some(name) = line.strip_prefix("ob=").or_else(|| line.strip_prefix("cob=")) {
            let (number, path) = name.split_once(' ').unwrap_or((name, ""));
            let path = *paths.entry(number).or_insert(path);
            if line.starts_with('o') {
                is_own = Path::new(path) == object;
            }
        } else if line.starts_with("calls=") {
            of_callee = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            if is_own && !of_callee {
                let count: u64 = line.split(' ').nth(1)?.parse().ok()?;
                *total.get_or_insert(0) += count;
            }
            of_callee = false;
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::own;

    #[test]
    fn only_an_objects_own_instructions_count() {
        let file = "\
version: 1
events: Ir

ob=(1) /bin/candidate
fl=(1) main.rs
fn=(1) main
16 400
cob=(2) /lib/libc.so.6
cfn=(2) memcpy
calls=3 0
16 9000
+3 20
* 5

ob=(2)
fn=(2)
0 9000

ob=(1)
fn=(3) work
-2 70

totals: 9495
";
        assert_eq!(own(file, Path::new("/bin/candidate")), Some(495));
        assert_eq!(own(file, Path::new("/lib/libc.so.6")), Some(9000));
        assert_eq!(own(file, Path::new("/bin/other")), None);
    }
}
