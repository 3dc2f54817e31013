//! `cargo xtask test`: every test there is.

use crate::features;
use crate::step::{Result, Step};

/// Runs unit tests, integration tests and documentation examples, with all features that need nothing installed.
pub(crate) fn run(arguments: &[String]) -> Result {
    Step::cargo("test --workspace --no-fail-fast")
        .args(&features::flags()?)
        .args(arguments)
        .run()
}
