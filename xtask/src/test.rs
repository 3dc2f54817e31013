//! `cargo xtask test`: every test there is.

use crate::features;
use crate::libtorch::Libtorch;
use crate::step::{Result, Step};

/// Where a libtorch is needed. The selection is the same in each command, or `torch-sys` is built anew, which takes minutes.
const WITH_LIBTORCH: &str =
    "test --package serde-tensor --package serde-tensor-suite --features serde-tensor-suite/tch --no-fail-fast";

/// Runs unit tests, integration tests and documentation examples: first all that needs nothing installed, then those of
/// libtorch's tensors.
pub(crate) fn run(arguments: &[String]) -> Result {
    let plain = Step::cargo("test --workspace --no-fail-fast")
        .args(&features::flags()?)
        .args(arguments)
        .run();
    let libtorch = Libtorch::provide()?;
    let with_libtorch = |targets| {
        let step = Step::cargo(&format!("{WITH_LIBTORCH} {targets}"));
        libtorch.for_step(step.args(arguments)).run()
    };
    // All of them, so that one run tells of every failure.
    let [unit, doc] = ["--lib --test tch", "--doc"].map(with_libtorch);
    plain.and(unit).and(doc)
}
