//! `cargo xtask ci`: what must hold besides the tests. That `unsafe` stays where it is allowed is one of the lints.

use crate::features;
use crate::oldest;
use crate::step::{Result, Step};

/// Runs every check, and stops at the first that fails.
pub(crate) fn run() -> Result {
    let features = features::flags()?;
    Step::cargo("fmt --all --check").run()?;
    Step::cargo("clippy --workspace --all-targets")
        .args(&features)
        .args(&deny_warnings())
        .run()?;
    Step::cargo("doc --workspace --no-deps")
        .args(&features)
        .env("RUSTDOCFLAGS", "-D warnings")
        .run()?;
    // libtorch's part, without libtorch: nothing is linked. And the benchmarks against other formats.
    Step::cargo("clippy --all-targets")
        .args(&on_paper())
        .args(&deny_warnings())
        .run()?;
    Step::cargo("doc --no-deps --package serde-tensor --features serde-tensor/tch,tch/doc-only")
        .env("RUSTDOCFLAGS", "-D warnings")
        .run()?;
    oldest::check()?;
    for flags in features::subsets()? {
        Step::cargo("clippy --package serde-tensor --all-targets --no-default-features")
            .args(&flags)
            .args(&deny_warnings())
            .run()?;
    }
    // Without criterion's `--bench` each benchmark runs once, to see that it does.
    Step::cargo("test --benches --package serde-tensor-suite --features peers").run()?;
    Step::cargo("package --package serde-tensor --package serde-tensor-derive --no-verify --allow-dirty").run()
}

fn on_paper() -> [String; 6] {
    [
        "--package",
        "serde-tensor",
        "--package",
        "serde-tensor-suite",
        "--features",
        "serde-tensor-suite/tch,serde-tensor-suite/peers,tch/doc-only",
    ]
    .map(str::to_owned)
}

/// Applies to the packages of the workspace alone, where `RUSTFLAGS` would build everything anew.
fn deny_warnings() -> [String; 3] {
    ["--", "-D", "warnings"].map(str::to_owned)
}
