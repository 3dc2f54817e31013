//! The table of a data set: a row a candidate, times as ratios to serde-tensor's.

use super::candidate::{Case, Measured, Numbers};
use super::format::{bytes, ratio, time};

/// What all others are compared with.
const BASE: &str = "serde-tensor";

/// The limit. A data set without it has no table.
const LIMIT: &str = "copy";

/// The columns of times, in their order, and what they are called.
const TIMES: &[(&str, &str)] = &[
    ("encode", "encode"),
    ("encode-warm", "into a used buffer"),
    ("decode", "decode"),
    ("decode-views", "to views"),
    ("socket-warm", "socket, used buffer"),
    ("socket-fresh", "socket, new buffers"),
];

/// The columns of memory.
const HEAPS: &[(&str, &str)] = &[
    ("encode", "heap, encode"),
    ("decode", "heap, decode"),
    ("decode-views", "heap, to views"),
];

/// What serde-tensor alone does.
const ALONE: &[(&str, &str)] = &[
    ("plan", "`Plan::new`"),
    ("write", "`Plan::new` and `write_to` a sink"),
    ("read", "`from_reader` of a slice"),
];

/// The tables of all data sets that were measured, each with its name.
pub(crate) fn tables(cases: &[Case], measured: &Measured) -> Vec<(String, String)> {
    let limits = cases.iter().filter(|case| case.candidate == LIMIT);
    let mut names: Vec<&str> = limits.map(|case| case.data.as_str()).collect();
    names.dedup();
    let table = |name: &str| (name.to_owned(), table(name, cases, measured));
    names.into_iter().map(table).collect()
}

fn table(data: &str, cases: &[Case], measured: &Measured) -> String {
    let cases: Vec<&Case> = cases.iter().filter(|case| case.data == data).collect();
    let number = |candidate: &str, operation: &str| measured.get(&Case::new(data, candidate, operation)).copied();
    let there = |columns: &[(&'static str, &'static str)]| -> Vec<(&'static str, &'static str)> {
        let measured = |operation| cases.iter().any(|case| case.operation == operation);
        columns
            .iter()
            .copied()
            .filter(|&(operation, _)| measured(operation))
            .collect()
    };
    let (times, heaps) = (there(TIMES), there(HEAPS));

    let mut head = vec![String::new()];
    head.extend(times.iter().chain(&heaps).map(|&(_, title)| title.to_owned()));
    head.push("message".to_owned());
    let mut base = vec![format!("*time of {BASE}*")];
    base.extend(
        times
            .iter()
            .map(|(operation, _)| cell(number(BASE, operation), |base| time(base.nanoseconds))),
    );
    base.resize(head.len(), String::new());

    let mut candidates: Vec<&str> = Vec::new();
    for case in &cases {
        if !candidates.contains(&&*case.candidate) {
            candidates.push(&case.candidate);
        }
    }
    let row = |candidate: &&str| {
        let mut row = vec![(*candidate).to_owned()];
        row.extend(times.iter().map(|(operation, _)| {
            let base = number(BASE, operation);
            cell(number(candidate, operation), |own| match base {
                Some(base) => ratio(own.nanoseconds / base.nanoseconds),
                None => time(own.nanoseconds),
            })
        }));
        row.extend(
            heaps
                .iter()
                .map(|(operation, _)| cell(number(candidate, operation), |own| bytes(own.heap))),
        );
        let any = cases.iter().find(|case| case.candidate == **candidate);
        row.push(cell(any.and_then(|case| measured.get(case).copied()), |own| {
            bytes(own.bytes)
        }));
        row
    };
    let rows = std::iter::once(base).chain(candidates.iter().map(row));

    let rule = format!("|---|{}\n", "---:|".repeat(head.len() - 1));
    let mut text = line(&head) + &rule;
    text.extend(rows.map(|row| line(&row)));
    let alone: Vec<String> = ALONE
        .iter()
        .filter_map(|(operation, title)| Some((title, number(BASE, operation)?)))
        .map(|(title, own)| {
            format!(
                "{title} takes {} and {} of heap",
                time(own.nanoseconds),
                bytes(own.heap)
            )
        })
        .collect();
    let below = format!("\n{}.\n", alone.join("; "));
    text + if alone.is_empty() { "" } else { &below }
}

fn cell(numbers: Option<Numbers>, show: impl FnOnce(Numbers) -> String) -> String {
    numbers.map_or_else(|| "–".to_owned(), show)
}

fn line(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::{Case, Measured, Numbers, tables};

    #[test]
    fn times_are_ratios_to_serde_tensor_and_memory_is_absolute() {
        let mut measured = Measured::new();
        let mut cases = Vec::new();
        for (candidate, operation, nanoseconds) in [
            ("copy", "encode", 50.0),
            ("serde-tensor", "encode", 100.0),
            ("serde-tensor", "plan", 2000.0),
            ("postcard", "encode", 150.0),
        ] {
            let case = Case::new("step", candidate, operation);
            cases.push(case.clone());
            measured.insert(
                case,
                Numbers {
                    nanoseconds,
                    heap: 2000.0,
                    bytes: 7.0,
                },
            );
        }
        // No table without a copy to compare with.
        cases.push(Case::new("10 nodes", "maybe", "contains"));
        let expected = "\
|  | encode | heap, encode | message |
|---|---:|---:|---:|
| *time of serde-tensor* | 100 ns |  |  |
| copy | 0.50 | 2.00 KB | 7 B |
| serde-tensor | 1.00 | 2.00 KB | 7 B |
| postcard | 1.50 | 2.00 KB | 7 B |

`Plan::new` takes 2.00 µs and 2.00 KB of heap.
";
        assert_eq!(tables(&cases, &measured), [("step".to_owned(), expected.to_owned())]);
    }
}
