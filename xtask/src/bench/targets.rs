//! What was aimed at, and what was reached.

use super::candidate::{Case, Measured, Numbers};
use super::counts::Counts;
use super::format::{bytes, ratio, time};

/// Data, candidate, operation.
type Key = [&'static str; 3];

struct Target {
    id: &'static str,
    what: &'static str,
    value: Value,
    goal: Goal,
}

enum Value {
    /// Nanoseconds a run.
    Time(Key),
    /// Bytes by which the heap grew at most.
    Heap(Key),
    /// The same, less the message's length.
    HeapBeyondMessage(Key),
    /// Time of the first, the fastest where there are several, by time of the second.
    Ratio(&'static [Key], Key),
}

#[derive(Clone, Copy)]
enum Goal {
    AtMost(f64),
    AtLeast(f64),
    Recorded,
}

use Goal::{AtLeast, AtMost, Recorded};
use Value::{Heap, HeapBeyondMessage, Ratio, Time};

const fn target(id: &'static str, what: &'static str, value: Value, goal: Goal) -> Target {
    Target { id, what, value, goal }
}

const OURS: &str = "serde-tensor";
const COMPACT: &str = "serde-tensor compact";
const SHARED: &str = "serde-tensor shared";
const RMP: &str = "rmp-serde named";
const RMP_COMPACT: &str = "rmp-serde compact";

const MIB: f64 = 1_048_576.0;

#[rustfmt::skip]
const TARGETS: &[Target] = &[
    target("S1", "`contains_tensor` of an `Always` type", Time(["100,000 nodes", "always", "contains"]), AtMost(1.0)),
    target("S1", "`contains_tensor` of a `Never` type", Time(["100,000 nodes", "never", "contains"]), AtMost(1.0)),
    target("S2", "`contains_tensor` of a `Maybe` type, 100,000 plain nodes around", Time(["100,000 nodes", "maybe", "contains"]), AtMost(10.0)),
    target("S2", "the same, 10 plain nodes", Time(["10 nodes", "maybe", "contains"]), AtMost(10.0)),
    target("S2", "the recursive scan of 100,000 nodes, against it", Ratio(&[["100,000 nodes", "recursive", "contains"]], ["100,000 nodes", "maybe", "contains"]), AtLeast(1000.0)),
    target("S3", "`Plan::new` of *state*; no tensor byte copied, or it fails", Time(["state", OURS, "plan"]), AtMost(1e5)),
    target("S3", "the same of tensors a hundred times smaller", Time(["state/100", OURS, "plan"]), AtMost(1e5)),
    target("S4", "*many*: encode, against postcard", Ratio(&[["many", OURS, "encode"]], ["many", "postcard", "encode"]), AtMost(0.75)),
    target("S4", "*many*: decode to views, against postcard's views", Ratio(&[["many", OURS, "decode-views"]], ["many", "postcard", "decode-views"]), AtMost(0.55)),
    target("S4", "*many*: decode to shared tensors, against postcard's views", Ratio(&[["many", SHARED, "decode"]], ["many", "postcard", "decode-views"]), AtMost(0.65)),
    target("S4", "*many*: safetensors' encode against ours", Ratio(&[["many", "safetensors", "encode"]], ["many", OURS, "encode"]), AtLeast(5.0)),
    target("S4", "*many*: safetensors' views against ours", Ratio(&[["many", "safetensors", "decode-views"]], ["many", OURS, "decode-views"]), AtLeast(5.0)),
    target("S5", "*step*: encode, named, against postcard", Ratio(&[["step", OURS, "encode"]], ["step", "postcard", "encode"]), AtMost(1.0)),
    target("S5", "*step*: decode to views, named, against postcard", Ratio(&[["step", OURS, "decode-views"]], ["step", "postcard", "decode-views"]), AtMost(1.15)),
    target("S6", "*batch*: `to_vec`, against copying into a new `Vec`", Ratio(&[["batch", OURS, "encode"]], ["batch", "copy", "encode"]), AtMost(1.05)),
    target("S6", "*batch*: into a used buffer, against copying into one", Ratio(&[["batch", OURS, "encode-warm"]], ["batch", "copy", "encode-warm"]), AtMost(1.05)),
    target("S7", "*state* over a socket, used buffer, against raw bytes", Ratio(&[["state", OURS, "socket-warm"]], ["state", "copy", "socket-warm"]), AtMost(1.1)),
    target("S7", "*state* over a socket, new buffers, against raw bytes", Ratio(&[["state", OURS, "socket-fresh"]], ["state", "copy", "socket-fresh"]), AtMost(1.1)),
    target("S7", "used buffer: the fastest peer by its ordinary verbs, against ours", Ratio(&[["state", "postcard", "socket-warm"], ["state", RMP_COMPACT, "socket-warm"], ["state", "safetensors", "socket-warm"]], ["state", OURS, "socket-warm"]), AtLeast(4.0)),
    target("S7", "new buffers: the fastest peer by its ordinary verbs, against ours", Ratio(&[["state", "postcard", "socket-fresh"], ["state", RMP_COMPACT, "socket-fresh"], ["state", "safetensors", "socket-fresh"]], ["state", OURS, "socket-fresh"]), AtLeast(1.8)),
    target("S7", "used buffer: the fastest peer by hand, against ours", Ratio(&[["state", "postcard by hand", "socket-warm"], ["state", "rmp-serde compact by hand", "socket-warm"]], ["state", OURS, "socket-warm"]), AtLeast(4.0)),
    target("S7", "new buffers: the fastest peer by hand, against ours", Ratio(&[["state", "postcard by hand", "socket-fresh"], ["state", "rmp-serde compact by hand", "socket-fresh"]], ["state", OURS, "socket-fresh"]), AtLeast(1.8)),
    target("S8", "*records*: rmp-serde's encode against ours, both named", Ratio(&[["records", RMP, "encode"]], ["records", OURS, "encode"]), AtLeast(5.0)),
    target("S8", "*records*: decode, the same", Ratio(&[["records", RMP, "decode"]], ["records", OURS, "decode"]), AtLeast(1.7)),
    target("S8", "*records*: decode to views, the same", Ratio(&[["records", RMP, "decode-views"]], ["records", OURS, "decode-views"]), AtLeast(2.3)),
    target("S8", "*mesh*: rmp-serde's encode against ours, both named", Ratio(&[["mesh", RMP, "encode"]], ["mesh", OURS, "encode"]), AtLeast(5.0)),
    target("S8", "*mesh*: decode, the same", Ratio(&[["mesh", RMP, "decode"]], ["mesh", OURS, "decode"]), AtLeast(1.7)),
    target("S9", "*records*: encode, compact, against postcard", Ratio(&[["records", COMPACT, "encode"]], ["records", "postcard", "encode"]), AtMost(0.6)),
    target("S9", "*records*: decode, compact, against postcard", Ratio(&[["records", COMPACT, "decode"]], ["records", "postcard", "decode"]), AtMost(1.1)),
    target("S9", "*mesh*: encode, compact, against postcard", Ratio(&[["mesh", COMPACT, "encode"]], ["mesh", "postcard", "encode"]), AtMost(1.2)),
    target("S9", "*mesh*: decode, compact, against postcard", Ratio(&[["mesh", COMPACT, "decode"]], ["mesh", "postcard", "decode"]), Recorded),
    target("S9", "*mesh*: rmp-serde's decode against ours, both compact", Ratio(&[["mesh", RMP_COMPACT, "decode"]], ["mesh", COMPACT, "decode"]), AtLeast(4.0)),
    target("S10", "postcard's encode of *mesh* against `Plan::new` of *mesh-tensor*", Ratio(&[["mesh", "postcard", "encode"]], ["mesh-tensor", OURS, "plan"]), AtLeast(50.0)),
    target("S10", "postcard's decode of *mesh* against views of *mesh-tensor*", Ratio(&[["mesh", "postcard", "decode"]], ["mesh-tensor", OURS, "decode-views"]), AtLeast(50.0)),
    target("S11", "heap of `write_to` of *state*, beyond the value", Heap(["state", OURS, "write"]), AtMost(MIB)),
    target("S11", "heap of `from_reader` of *state*, beyond the message", HeapBeyondMessage(["state", OURS, "read"]), AtMost(MIB)),
    target("S12", "*step*: encode", Time(["step", OURS, "encode"]), Recorded),
    target("S12", "*step*: decode", Time(["step", OURS, "decode"]), Recorded),
    target("S12", "*step*: decode to views", Time(["step", OURS, "decode-views"]), Recorded),
];

/// The table of targets.
pub(crate) fn table(measured: &Measured) -> String {
    let mut text = "| # | what | target | measured | |\n|---|---|---:|---:|---|\n".to_owned();
    for target in TARGETS {
        text += &row(target, measured);
    }
    text
}

/// The recorded instruction counts of S12, as rows of the same table.
pub(crate) fn instructions(counts: &Counts) -> String {
    let row = |(name, count): (&String, &u64)| format!("| S12 | instructions, {name} | recorded | {count} | |\n");
    counts.counts.iter().map(row).collect()
}

fn row(target: &Target, measured: &Measured) -> String {
    let Target { id, what, value, goal } = target;
    let show = match value {
        Time(_) => time,
        Heap(_) | HeapBeyondMessage(_) => bytes,
        Ratio(..) => ratio,
    };
    let aim = match *goal {
        AtMost(limit) => format!("≤ {}", show(limit)),
        AtLeast(limit) => format!("≥ {}", show(limit)),
        Recorded => "recorded".to_owned(),
    };
    let (found, verdict) = match value_of(value, measured) {
        None => ("–".to_owned(), "not measured"),
        Some(value) => (show(value), verdict(value, *goal)),
    };
    format!("| {id} | {what} | {aim} | {found} | {verdict} |\n")
}

fn verdict(value: f64, goal: Goal) -> &'static str {
    match goal {
        Recorded => "",
        AtMost(limit) if value <= limit => "met",
        AtLeast(limit) if value >= limit => "met",
        AtMost(_) | AtLeast(_) => "**missed**",
    }
}

fn value_of(value: &Value, measured: &Measured) -> Option<f64> {
    let get = |[data, candidate, operation]: Key| -> Option<Numbers> {
        measured.get(&Case::new(data, candidate, operation)).copied()
    };
    match *value {
        Time(key) => Some(get(key)?.nanoseconds),
        Heap(key) => Some(get(key)?.heap),
        HeapBeyondMessage(key) => get(key).map(|numbers| numbers.heap - numbers.bytes),
        Ratio(keys, by) => {
            let times: Option<Vec<f64>> = keys.iter().map(|&key| Some(get(key)?.nanoseconds)).collect();
            let lowest = times?.into_iter().reduce(f64::min)?;
            Some(lowest / get(by)?.nanoseconds)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AtLeast, AtMost, Case, HeapBeyondMessage, Measured, Numbers, Ratio, Recorded, row, target};

    #[test]
    fn targets_are_met_missed_or_not_measured() {
        let numbers = |nanoseconds| Numbers {
            nanoseconds,
            heap: 3000.0,
            bytes: 1000.0,
        };
        let measured = Measured::from([
            (Case::new("d", "ours", "encode"), numbers(100.0)),
            (Case::new("d", "one", "encode"), numbers(400.0)),
            (Case::new("d", "two", "encode"), numbers(300.0)),
        ]);
        const OURS: [&str; 3] = ["d", "ours", "encode"];
        const BOTH: &[[&str; 3]] = &[["d", "one", "encode"], ["d", "two", "encode"]];
        let row = |value, goal| row(&target("S", "x", value, goal), &measured);
        assert_eq!(
            row(Ratio(BOTH, OURS), AtLeast(3.0)),
            "| S | x | ≥ 3.00 | 3.00 | met |\n"
        );
        assert_eq!(
            row(Ratio(BOTH, OURS), AtLeast(3.1)),
            "| S | x | ≥ 3.10 | 3.00 | **missed** |\n"
        );
        assert_eq!(
            row(Ratio(&[OURS], BOTH[1]), AtMost(0.3)),
            "| S | x | ≤ 0.30 | 0.33 | **missed** |\n"
        );
        assert_eq!(
            row(HeapBeyondMessage(OURS), AtMost(2000.0)),
            "| S | x | ≤ 2.00 KB | 2.00 KB | met |\n"
        );
        assert_eq!(
            row(HeapBeyondMessage(OURS), Recorded),
            "| S | x | recorded | 2.00 KB |  |\n"
        );
        let absent = ["d", "three", "encode"];
        assert_eq!(
            row(Ratio(BOTH, absent), AtLeast(1.0)),
            "| S | x | ≥ 1.00 | – | not measured |\n"
        );
    }
}
