//! The oldest tch that the library accepts. cargo builds with the newest; a package of its own asks for the other.

use std::fs;
use std::path::Path;

use crate::step::{Result, Step, root};

/// As in the library's manifest.
const OLDEST: &str = "0.24.0";

/// Checks the library with it; without libtorch, since nothing is linked.
pub(crate) fn check() -> Result {
    let package = root().join("target/oldest-tch");
    let library = root().join("serde-tensor");
    let manifest = format!(
        "[package]\nname = \"oldest-tch\"\nversion = \"0.0.0\"\nedition = \"2024\"\npublish = false\n\n\
         [dependencies]\n\
         serde-tensor = {{ path = {:?}, features = [\"tch\"] }}\n\
         tch = {{ version = \"={OLDEST}\", features = [\"doc-only\"] }}\n\n\
         [workspace]\n",
        library.display().to_string()
    );
    let source = package.join("src");
    fs::create_dir_all(&source).map_err(|error| format!("{}: {error}", source.display()))?;
    write(&package.join("Cargo.toml"), &manifest)?;
    write(&source.join("lib.rs"), "")?;
    let manifest = package.join("Cargo.toml").display().to_string();
    Step::cargo("check --manifest-path").args(&[manifest]).run()
}

fn write(path: &Path, text: &str) -> Result {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
