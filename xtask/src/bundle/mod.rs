//! `cargo xtask gpu-bundle`: the tests of libtorch's tensors, packed for another machine that has Python's torch and a GPU.

use std::fs;
use std::path::Path;

use crate::libtorch::{Libtorch, Version};
use crate::oldest;
use crate::step::{Result, Step, root};
use crate::test::WITH_LIBTORCH;

/// What the packed files may take together, in MiB.
const MOST: u64 = 60;

/// Data that the tests read.
const DATA: [&str; 3] = ["torch-oracle.json", "meta-tensor.pt", "uint16-tensor.pt"];

/// Finds torch, checks its version and starts the tests.
const RUN: &str = include_str!("run.py");

/// Packs the tests for the newest libtorch, or the one named by `--torch`.
pub(crate) fn run(arguments: &[String]) -> Result {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err("a bundle is built on x86-64 Linux, for x86-64 Linux".to_owned());
    }
    let version = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] | ["--torch", "2.13"] => &Version::NEWEST,
        ["--torch", "2.11"] => &Version::OLDEST,
        _ => return Err("`gpu-bundle` takes nothing, `--torch 2.13` or `--torch 2.11`".to_owned()),
    };
    let libtorch = Libtorch::provide(version)?;
    if !libtorch.library().join("libtorch_cuda.so").exists() {
        return Err(format!(
            "the libtorch in {} comes without CUDA: a bundle built with it would see no GPU",
            libtorch.library().display()
        ));
    }
    let build = if std::ptr::eq(version, &Version::NEWEST) {
        Step::cargo(&format!("test {WITH_LIBTORCH}"))
    } else {
        oldest::step("test")?
    };
    let flags = [
        "--test",
        "tch",
        "--no-run",
        "--message-format",
        "json-render-diagnostics",
    ];
    let said = libtorch.for_step(build.args(&flags.map(str::to_owned))).output()?;
    let program = executable(&said).ok_or("cargo did not say where it put the tests")?;
    pack(Path::new(program), version)
}

/// The path of the program in cargo's account of a build.
fn executable(said: &str) -> Option<&str> {
    let (_, path) = said.rsplit_once(r#""executable":""#)?;
    Some(path.split_once('"')?.0)
}

fn pack(program: &Path, version: &Version) -> Result {
    let name = format!("serde-tensor-gpu-{}", version.series());
    let bundles = root().join("target/gpu-bundle");
    let folder = bundles.join(&name);
    // What an earlier run left may be of another version.
    let _ = fs::remove_dir_all(&folder);
    let data = folder.join("data");
    fs::create_dir_all(&data).map_err(|error| format!("{}: {error}", data.display()))?;
    for file in DATA {
        let from = root().join("data").join(file);
        fs::copy(&from, data.join(file)).map_err(|error| format!("{}: {error}", from.display()))?;
    }
    write(&folder.join("run.py"), RUN)?;
    write(&folder.join("built-for"), version.torch)?;
    let stripped = folder.join("tests");
    Step::program("strip")
        .args(&[shown("-o"), shown(&stripped), shown(program)])
        .run()?;
    let archive = bundles.join(format!("{name}.tar.gz"));
    let tar = [
        shown("-czf"),
        shown(&archive),
        shown("-C"),
        shown(&bundles),
        name.clone(),
    ];
    Step::program("tar").args(&tar).run()?;
    let size = mebibytes(&archive)?;
    if size > MOST {
        return Err(format!(
            "{} has {size} MiB, and should have at most {MOST}",
            archive.display()
        ));
    }
    println!(
        "\n{} ({size} MiB). On a machine with a GPU, glibc of this one's version or newer, and a Python with torch {}:\n\n    \
         tar xzf {name}.tar.gz && python3 {name}/run.py",
        archive.display(),
        version.series()
    );
    Ok(())
}

fn write(path: &Path, text: &str) -> Result {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn shown(path: impl AsRef<Path>) -> String {
    path.as_ref().display().to_string()
}

/// The size of a file, rounded up.
fn mebibytes(path: &Path) -> Result<u64> {
    let data = fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(data.len().div_ceil(1 << 20))
}

#[cfg(test)]
mod tests {
    use std::process::{self, Command, Output};
    use std::{env, fs};

    use super::{RUN, executable};

    #[test]
    fn the_program_is_the_last_that_cargo_names() {
        let said = "{\"executable\":null}\n{\"a\":1,\"executable\":\"/t/deps/tch-1\",\"fresh\":true}\n{\"reason\":\"build-finished\"}\n";
        assert_eq!(executable(said), Some("/t/deps/tch-1"));
        assert_eq!(executable("{\"executable\":null}"), None);
    }

    /// What the script says in a bundle of 2.13 whose tests are `echo`, to a Python whose torch is of the given version.
    fn started(name: &str, torch: &str, cuda: bool) -> Option<Output> {
        let folder = env::temp_dir().join(format!("serde-tensor-bundle-{name}-{}", process::id()));
        let library = folder.join("torch/lib");
        fs::create_dir_all(&library).unwrap();
        fs::write(folder.join("run.py"), RUN).unwrap();
        fs::write(folder.join("built-for"), "2.13.0").unwrap();
        fs::write(folder.join("tests"), "#!/bin/sh\necho \"$LD_LIBRARY_PATH\" \"$@\"\n").unwrap();
        fs::write(folder.join("torch/version.py"), format!("__version__ = '{torch}'\n")).unwrap();
        fs::write(
            folder.join("torch/__init__.py"),
            "raise Exception('nothing of torch may run')\n",
        )
        .unwrap();
        if cuda {
            fs::write(library.join("libtorch_cuda.so"), "").unwrap();
        }
        let made = Command::new("chmod").arg("+x").arg(folder.join("tests")).status();
        let output = Command::new("python3")
            .arg(folder.join("run.py"))
            .arg("some_test")
            .output();
        let _ = fs::remove_dir_all(&folder);
        made.ok()?;
        output.ok()
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_tests_are_started_with_a_torch_of_their_version_alone() {
        let Some(right) = started("right", "2.13.1+cu130", true) else {
            println!("skipped: there is no python3");
            return;
        };
        let said = String::from_utf8(right.stdout).unwrap();
        assert!(right.status.success(), "{}", String::from_utf8_lossy(&right.stderr));
        assert!(said.contains("/torch/lib") && said.contains("some_test"), "{said}");
        for (name, torch, cuda, says) in [
            ("older", "2.11.0+cu128", true, "built for torch 2.13.0"),
            ("tenfold", "2.130.0", true, "built for torch 2.13.0"),
            ("cpu", "2.13.0+cpu", false, "comes without CUDA"),
        ] {
            let refused = started(name, torch, cuda).unwrap();
            let said = String::from_utf8(refused.stderr).unwrap();
            assert!(!refused.status.success() && said.contains(says), "{said}");
        }
    }
}
