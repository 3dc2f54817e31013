//! `cargo xtask bench-guard`: fails when a message takes more instructions than it did.

use std::process::Command;

use super::callgrind;
use super::candidate::{Case, Program, output};
use super::counts::{Counts, TOLERANCE};
use crate::step::Result;

/// What is guarded: data, candidate, operation.
const CASES: &[[&str; 3]] = &[
    ["step", "serde-tensor", "encode"],
    ["step", "serde-tensor", "decode"],
    ["step", "serde-tensor", "decode-views"],
    ["many", "serde-tensor", "encode"],
    ["many", "serde-tensor", "decode-views"],
    ["many", "serde-tensor shared", "decode"],
    ["records", "serde-tensor", "encode"],
    ["records", "serde-tensor", "decode"],
    ["records", "serde-tensor", "decode-views"],
    ["mesh", "serde-tensor compact", "encode"],
    ["mesh", "serde-tensor compact", "decode"],
];

/// Counts, and compares with what was recorded; `--record` records instead.
pub(crate) fn run(arguments: &[String]) -> Result {
    let record = match arguments {
        [] => false,
        [flag] if flag == "--record" => true,
        _ => return Err("`bench-guard` takes --record alone".to_owned()),
    };
    callgrind::check()?;
    let program = Program::build(false)?;
    let mut now = Counts {
        rustc: rustc()?,
        counts: [].into(),
    };
    for &[data, candidate, operation] in CASES {
        let case = Case::new(data, candidate, operation);
        let count = callgrind::count(&program, &case)?;
        now.counts.insert(format!("{data}, {candidate}, {operation}"), count);
    }
    if record {
        return now.write();
    }
    let recorded = Counts::read()?;
    for (name, count) in &now.counts {
        let before = recorded.counts.get(name).map_or("none".to_owned(), u64::to_string);
        eprintln!("{name}: {count} instructions, recorded {before}");
    }
    judge(&recorded, &now)
}

fn judge(recorded: &Counts, now: &Counts) -> Result {
    if recorded.rustc != now.rustc {
        // Another compiler may need a tenth more or less, which says nothing of a change to the code.
        eprintln!(
            "Not compared: recorded with {}, counted with {}. Count with the compiler that recorded, or record \
             the state before a change, `cargo xtask bench-guard --record`, and count after it.",
            recorded.rustc, now.rustc
        );
        return Ok(());
    }
    match &recorded.complaints(now)[..] {
        [] => Ok(()),
        complaints => Err(format!(
            "more than {TOLERANCE} % more instructions, or other cases, than recorded:\n  {}\n\
             Where it is meant, `cargo xtask bench-guard --record` records anew.",
            complaints.join("\n  ")
        )),
    }
}

/// The compiler's version and target.
pub(super) fn rustc() -> Result<String> {
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let told = output(Command::new(compiler).arg("--version").arg("--verbose"))?;
    let version = told.lines().next().unwrap_or_default();
    let host = told
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .unwrap_or_default();
    Ok(format!("{version} for {host}"))
}

#[cfg(test)]
mod tests {
    use super::{Counts, judge};

    #[test]
    fn another_compilers_counts_are_not_judged() {
        let counts = |rustc: &str, count| Counts {
            rustc: rustc.to_owned(),
            counts: [("encode".to_owned(), count)].into(),
        };
        let recorded = counts("rustc 1.95.0", 1000);
        assert!(judge(&recorded, &counts("rustc 1.95.0", 1000)).is_ok());
        assert!(judge(&recorded, &counts("rustc 1.95.0", 2000)).is_err());
        assert!(judge(&recorded, &counts("rustc 1.96.0", 2000)).is_ok());
    }
}
