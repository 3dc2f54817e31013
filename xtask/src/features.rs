//! The library's features, read from its manifest.

use std::fs;

use crate::step::{Result, root};

/// Features whose libraries must be on the machine before a program is built, and the feature of the dependency with which it
/// is checked without them.
const NEED_AN_INSTALLATION: &[(&str, &str)] = &[("tch", "tch/doc-only")];

/// Above this many features not all their subsets are checked: only none, each, each pair, and all.
const ALL_SUBSETS_UP_TO: usize = 5;

/// Features of the packages of tests and examples, which go with all features of the library that need nothing installed.
const OF_OTHER_PACKAGES: &[&str] = &["serde-tensor-suite/transports", "serde-tensor-examples/transports"];

/// The flags that switch on, for the whole workspace, all features that need nothing installed.
pub(crate) fn flags() -> Result<Vec<String>> {
    let features = read()?;
    let of_others = OF_OTHER_PACKAGES.iter().map(|&feature| feature.to_owned());
    let named: Vec<String> = features.iter().map(|feature| named(feature)).chain(of_others).collect();
    Ok(vec!["--features".to_owned(), named.join(",")])
}

/// A feature of the library.
fn named(feature: &str) -> String {
    format!("serde-tensor/{feature}")
}

/// The flags of each subset of the features that is checked.
pub(crate) fn subsets() -> Result<Vec<Vec<String>>> {
    let mut features = read()?;
    features.extend(NEED_AN_INSTALLATION.iter().map(|&(feature, _)| feature.to_owned()));
    let all = features.len();
    let checked = |subset: &u32| {
        let size = subset.count_ones() as usize;
        all <= ALL_SUBSETS_UP_TO || size <= 2 || size == all
    };
    let members = |subset: u32| -> Vec<String> {
        let of_subset = features.iter().enumerate().filter(|(bit, _)| subset >> bit & 1 == 1);
        of_subset.map(|(_, feature)| feature.clone()).collect()
    };
    Ok((0..1 << all)
        .filter(checked)
        .map(|subset| flags_of(&members(subset)))
        .collect())
}

fn flags_of(features: &[String]) -> Vec<String> {
    if features.is_empty() {
        return Vec::new();
    }
    let mut named: Vec<String> = features.iter().map(|feature| named(feature)).collect();
    let checked_without = NEED_AN_INSTALLATION
        .iter()
        .filter(|(feature, _)| features.iter().any(|used| used == feature));
    named.extend(checked_without.map(|(_, check)| (*check).to_owned()));
    vec!["--features".to_owned(), named.join(",")]
}

/// All features but `default` and those that need an installation.
fn read() -> Result<Vec<String>> {
    let path = root().join("serde-tensor/Cargo.toml");
    let manifest = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let features = parse(&manifest);
    if features.is_empty() {
        return Err(format!("{}: no features found", path.display()));
    }
    Ok(features)
}

/// The keys of the table `[features]`; a value may span lines.
fn parse(manifest: &str) -> Vec<String> {
    manifest
        .lines()
        .skip_while(|line| line.trim() != "[features]")
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter(|line| line.starts_with(|first: char| first.is_ascii_alphabetic()))
        .filter_map(|line| line.split_once('='))
        .map(|(key, _)| key.trim().to_owned())
        .filter(|key| key != "default" && NEED_AN_INSTALLATION.iter().all(|(feature, _)| key != feature))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn features_are_the_keys_of_their_table() {
        let manifest = "[package]\nname = \"x\"\n\n[features]\n# a = 1\ndefault = [\"a\"]\na = [\n    \"dep:x\",\n]\nb = []\ntch = []\n\n[dependencies]\nc = \"1\"\n";
        assert_eq!(parse(manifest), ["a", "b"]);
    }
}
