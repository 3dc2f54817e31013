//! Recorded instruction counts: `benches/instructions.toml`.

use std::collections::BTreeMap;
use std::fs;

use crate::step::{Result, root};

const FILE: &str = "benches/instructions.toml";

/// Instructions of one run of each case that is guarded, and what they were counted with.
#[derive(Debug, PartialEq)]
pub(crate) struct Counts {
    /// As `rustc --version` says it, and the target.
    pub(crate) rustc: String,
    pub(crate) counts: BTreeMap<String, u64>,
}

/// By how much a count may grow, in percent.
pub(crate) const TOLERANCE: u64 = 5;

impl Counts {
    pub(crate) fn read() -> Result<Self> {
        let text = fs::read_to_string(root().join(FILE)).map_err(|error| format!("{FILE}: {error}"))?;
        Self::parse(&text).ok_or_else(|| format!("{FILE} is not what `cargo xtask bench-guard --record` writes"))
    }

    pub(crate) fn write(&self) -> Result {
        fs::write(root().join(FILE), self.to_text()).map_err(|error| format!("{FILE}: {error}"))
    }

    fn parse(text: &str) -> Option<Self> {
        let mut rustc = None;
        let mut counts = BTreeMap::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let Some((key, value)) = line.split_once(" = ") else {
                continue;
            };
            if key == "rustc" {
                rustc = Some(value.trim_matches('"').to_owned());
            } else {
                counts.insert(key.trim_matches('"').to_owned(), value.replace('_', "").parse().ok()?);
            }
        }
        Some(Self { rustc: rustc?, counts })
    }

    fn to_text(&self) -> String {
        let head = format!(
            "# Instructions of one run, in the program itself and not in the system's libraries.\n\
             # `cargo xtask bench-guard` compares with them; `cargo xtask bench-guard --record` writes them.\n\
             rustc = \"{}\"\n\n[instructions]\n",
            self.rustc
        );
        let line = |(name, count): (&String, &u64)| format!("\"{name}\" = {count}\n");
        head + &self.counts.iter().map(line).collect::<String>()
    }

    /// What of `now` is more than it may be, a line each: counts that grew too much, and cases that are not in both.
    pub(crate) fn complaints(&self, now: &Self) -> Vec<String> {
        let mut complaints = Vec::new();
        for (name, &count) in &now.counts {
            match self.counts.get(name) {
                None => complaints.push(format!("{name}: {count} instructions, and none recorded")),
                Some(&recorded) if grew_too_much(recorded, count) => {
                    complaints.push(format!("{name}: {count} instructions, recorded were {recorded}"));
                }
                Some(_) => {}
            }
        }
        let gone = self.counts.keys().filter(|name| !now.counts.contains_key(*name));
        complaints.extend(gone.map(|name| format!("{name}: recorded, and not counted any more")));
        complaints
    }
}

fn grew_too_much(recorded: u64, now: u64) -> bool {
    u128::from(now) * 100 > u128::from(recorded) * u128::from(100 + TOLERANCE)
}

#[cfg(test)]
mod tests {
    use super::Counts;

    fn counts(pairs: &[(&str, u64)]) -> Counts {
        Counts {
            rustc: "rustc 1.95.0 on x86_64-unknown-linux-gnu".to_owned(),
            counts: pairs.iter().map(|&(name, count)| (name.to_owned(), count)).collect(),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let counts = counts(&[("step encode", 1234), ("step decode", 5678)]);
        assert_eq!(Counts::parse(&counts.to_text()), Some(counts));
        assert_eq!(Counts::parse("\"step encode\" = 12\n"), None);
        assert_eq!(Counts::parse("rustc = \"1\"\n\"step encode\" = many\n"), None);
    }

    #[test]
    fn more_than_five_percent_more_is_too_much() {
        let recorded = counts(&[("encode", 1000)]);
        for fine in [0, 999, 1000, 1050] {
            assert!(recorded.complaints(&counts(&[("encode", fine)])).is_empty(), "{fine}");
        }
        let complaints = recorded.complaints(&counts(&[("encode", 1051)]));
        assert_eq!(complaints, ["encode: 1051 instructions, recorded were 1000"]);
    }

    #[test]
    fn what_was_recorded_and_what_is_counted_are_the_same_cases() {
        let complaints = counts(&[("a", 1), ("b", 1)]).complaints(&counts(&[("b", 1), ("c", 1)]));
        assert_eq!(
            complaints,
            [
                "c: 1 instructions, and none recorded",
                "a: recorded, and not counted any more"
            ]
        );
    }
}
