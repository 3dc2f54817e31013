//! Links libtorch's GPUs into tests, benchmarks and examples. They call nothing of that library, so the linker would leave it
//! out, and libtorch would see no GPU.

use std::env;
use std::path::Path;

/// NVIDIA's, and AMD's.
const LIBRARIES: [&str; 2] = ["torch_cuda", "torch_hip"];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Where the libtorch is that `torch-sys` links; without feature `tch` there is none.
    if let Some(folder) = env::var_os("DEP_TCH_LIBTORCH_LIB") {
        for argument in link_arguments(Path::new(&folder)) {
            println!("cargo:rustc-link-arg={argument}");
        }
    }
}

/// What the linker is told of a libtorch: nothing, if it comes without GPUs.
pub(crate) fn link_arguments(libtorch: &Path) -> Vec<String> {
    let there = LIBRARIES
        .iter()
        .filter(|name| libtorch.join(format!("lib{name}.so")).exists());
    let link: Vec<String> = there.map(|name| format!("-l{name}")).collect();
    if link.is_empty() {
        return link;
    }
    let keep = "-Wl,--no-as-needed".to_owned();
    [vec![keep], link].concat()
}
