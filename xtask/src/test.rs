//! `cargo xtask test`: every test there is.

use crate::features;
use crate::libtorch::{Libtorch, Version};
use crate::nats;
use crate::step::{Result, Step};

/// Where a libtorch is needed. The selection is the same in each command, or `torch-sys` is built anew, which takes minutes.
pub(crate) const WITH_LIBTORCH: &str =
    "--package serde-tensor --package serde-tensor-suite --features serde-tensor-suite/tch";

/// Runs unit tests, integration tests and documentation examples: first all that needs nothing installed, then those of
/// libtorch's tensors.
pub(crate) fn run(arguments: &[String]) -> Result {
    let plain = Step::cargo("test --workspace --no-fail-fast").args(&features::flags()?);
    let plain = nats::for_step(plain.args(arguments))?.run();
    let libtorch = Libtorch::provide(&Version::NEWEST)?;
    let with_libtorch = |targets| {
        let step = Step::cargo(&format!("test {WITH_LIBTORCH} --no-fail-fast {targets}"));
        libtorch.for_step(step.args(arguments)).run()
    };
    // A test runs the example; `cargo test --example` would build that as a test, and not as itself.
    let example = libtorch.for_step(build("minilm")).run();
    // All of them, so that one run tells of every failure.
    let [unit, doc] = ["--lib --test tch", "--doc"].map(with_libtorch);
    plain.and(example).and(unit).and(doc)
}

/// Builds and runs an example that needs libtorch.
pub(crate) fn example(arguments: &[String]) -> Result {
    let [name] = arguments else {
        return Err("`example` takes the name of one".to_owned());
    };
    let libtorch = Libtorch::provide(&Version::NEWEST)?;
    libtorch.for_step(build(name)).run()?;
    // cargo puts examples into a folder beside its other programs, of which this is one.
    let here = std::env::current_exe().map_err(|error| error.to_string())?;
    let program = here
        .with_file_name("examples")
        .join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    libtorch.for_step(Step::program(&program)).run()
}

/// The step that builds an example which needs libtorch.
fn build(example: &str) -> Step {
    Step::cargo(&format!("build {WITH_LIBTORCH} --example {example}"))
}
