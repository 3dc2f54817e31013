//! The oldest tch that the library accepts. cargo builds with the newest; a package of its own asks for the other.

use std::fs;
use std::path::{Path, PathBuf};

use crate::libtorch::Version;
use crate::step::{Result, Step, root};

/// The library and its tests with the oldest tch.
const MANIFEST: &str = r#"[package]
name = "oldest-tch"
version = "0.0.0"
edition = "2024"
publish = false
build = "{root}/build.rs"

[features]
doc-only = ["tch/doc-only"]
# Tests ask for it; here it is off.
transports = []

[lib]
path = "lib.rs"

[[test]]
name = "tch"
path = "{root}/tests/tch/main.rs"

[dependencies]
bytes = "1"
serde = "1"
serde-tensor = { path = "{root}/serde-tensor", features = ["tch", "tokio"] }
tch = "={tch}"
torch-sys = "={tch}"

[dev-dependencies]
postcard = { version = "1", features = ["use-std"] }
serde_bytes = "0.11"
serde_json = "1"
tokio = { version = "1.47", features = ["macros", "rt-multi-thread"] }
tracing = "0.1"

[workspace]
"#;

/// Checks them; without libtorch, since nothing is linked.
pub(crate) fn check() -> Result {
    step("check")?
        .args(&["--all-targets", "--features", "doc-only"].map(str::to_owned))
        .run()
}

/// A task of cargo's for them.
pub(crate) fn step(task: &str) -> Result<Step> {
    let package = package()?;
    let manifest = package.join("Cargo.toml").display().to_string();
    Ok(Step::cargo(&format!("{task} --manifest-path")).args(&[manifest]))
}

fn package() -> Result<PathBuf> {
    let package = root().join("target/oldest-tch");
    fs::create_dir_all(&package).map_err(|error| format!("{}: {error}", package.display()))?;
    let root = root().display().to_string();
    let manifest = MANIFEST.replace("{root}", &root).replace("{tch}", Version::OLDEST.tch);
    write(&package.join("Cargo.toml"), &manifest)?;
    write(&package.join("lib.rs"), "")?;
    Ok(package)
}

fn write(path: &Path, text: &str) -> Result {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
