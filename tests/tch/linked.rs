//! libtorch's GPUs are in the program wherever libtorch has them: `build.rs` of this package sees to it.

#[path = "../../build.rs"]
#[expect(dead_code, reason = "its `main` ran before this was built")]
mod build;

use std::path::{Path, PathBuf};
use std::{env, fs, process};

use super::skipped;

/// The folder of the libtorch in this process.
fn loaded() -> Option<PathBuf> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let library = maps.lines().find(|line| line.ends_with("/libtorch_cpu.so"))?;
    Some(Path::new(&library[library.find('/')?..]).parent()?.to_owned())
}

/// Without it a machine with GPUs would skip every test of theirs, and say that it has none.
#[test]
fn this_program_links_libtorchs_gpus_where_there_are_any() {
    let Some(libtorch) = loaded() else {
        skipped("this system does not say where its libraries are");
        return;
    };
    let there = !build::link_arguments(&libtorch).is_empty();
    assert_eq!(tch::utils::has_cudart() || tch::utils::has_hip(), there);
}

#[test]
fn only_a_library_that_is_there_is_linked() {
    let folder = env::temp_dir().join(format!("serde-tensor-linked-{}", process::id()));
    fs::create_dir_all(&folder).unwrap();
    assert_eq!(build::link_arguments(&folder), [""; 0]);
    fs::write(folder.join("libtorch_hip.so"), "").unwrap();
    assert_eq!(build::link_arguments(&folder), ["-Wl,--no-as-needed", "-ltorch_hip"]);
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(build::link_arguments(Path::new("/nowhere")), [""; 0]);
}
