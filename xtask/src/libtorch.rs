//! A libtorch for the tests: the one that the environment names, or Python's torch in the user's cache folder.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::python::{Environment, set};
use crate::step::{Result, Step};

/// A libtorch and the tch that belongs to it; the README has the table.
pub(crate) struct Version {
    pub(crate) torch: &'static str,
    pub(crate) tch: &'static str,
}

impl Version {
    /// Of the newest tch that the library accepts.
    pub(crate) const NEWEST: Self = Self {
        torch: "2.13.0",
        tch: "0.26.0",
    };

    /// Of the oldest.
    pub(crate) const OLDEST: Self = Self {
        torch: "2.11.0",
        tch: "0.24.0",
    };

    /// Major and minor version.
    pub(crate) fn series(&self) -> &'static str {
        self.torch.rsplit_once('.').map_or(self.torch, |(series, _)| series)
    }
}

/// What the tests need of Python besides torch, and torch wants of it.
const PACKAGES: &[&str] = &["numpy", "msgpack", "safetensors", "setuptools"];

/// Where the system looks for libraries when a program starts.
const LIBRARY_PATH: &str = if cfg!(windows) {
    "PATH"
} else if cfg!(target_vendor = "apple") {
    "DYLD_LIBRARY_PATH"
} else {
    "LD_LIBRARY_PATH"
};

/// The environment in which cargo finds libtorch, and programs find its libraries.
pub(crate) struct Libtorch {
    library: PathBuf,
    variables: Vec<(&'static str, OsString)>,
}

impl Libtorch {
    /// Finds a libtorch, or installs one: once, then it is found.
    pub(crate) fn provide(version: &Version) -> Result<Self> {
        if let Some(root) = set("LIBTORCH") {
            let library = Path::new(&set("LIBTORCH_LIB").unwrap_or(root)).join("lib");
            let variables = vec![(LIBRARY_PATH, prepended(LIBRARY_PATH, &library)?)];
            return Ok(Self { library, variables });
        }
        if set("LIBTORCH_USE_PYTORCH").is_some() {
            let library = library_of(OsStr::new(torch_sys_python()))?;
            let variables = vec![(LIBRARY_PATH, prepended(LIBRARY_PATH, &library)?)];
            return Ok(Self { library, variables });
        }
        let torch = version.torch;
        let pinned = format!("torch=={torch}");
        let packages: Vec<&str> = [&*pinned].iter().chain(PACKAGES).copied().collect();
        // `torch-sys` remembers where the environment is, so for another version it has another name.
        let environment = format!("venv-{}", version.series());
        let Environment { programs, python } = Environment::provide(&environment, &packages, |folder| {
            eprintln!(
                "\nlibtorch {torch} is installed into {}, once. It takes some minutes and, on Linux, 5 GB.\n\
                 (LIBTORCH, or LIBTORCH_USE_PYTORCH with a Python that has torch {torch}, name another.)",
                folder.display()
            );
        })?;
        let library = library_of(python.as_os_str())?;
        let mut variables = vec![("LIBTORCH_USE_PYTORCH", OsString::from("1"))];
        // `torch-sys` runs the first Python that it finds.
        let path = prepended("PATH", &programs)?;
        if LIBRARY_PATH == "PATH" {
            variables.push(("PATH", in_front(&library, &path)?));
        } else {
            variables.push(("PATH", path));
            variables.push((LIBRARY_PATH, prepended(LIBRARY_PATH, &library)?));
        }
        Ok(Self { library, variables })
    }

    /// The folder of its libraries.
    pub(crate) fn library(&self) -> &Path {
        &self.library
    }

    /// The step, run with it.
    pub(crate) fn for_step(&self, step: Step) -> Step {
        self.variables
            .iter()
            .fold(step, |step, (name, value)| step.quiet_env(name, value))
    }

    /// The command, run with it.
    pub(crate) fn for_command(&self, command: &mut Command) {
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
    }
}

/// The folder of a Python's torch libraries. torch itself is not loaded, which takes seconds.
fn library_of(python: &OsStr) -> Result<PathBuf> {
    const SAY: &str = "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0], end='')";
    let output = Command::new(python)
        .args(["-c", SAY])
        .output()
        .map_err(|error| format!("{} could not be started: {error}", python.display()))?;
    if !output.status.success() {
        return Err(format!("{} has no torch", python.display()));
    }
    let folder = String::from_utf8(output.stdout).map_err(|error| error.to_string())?;
    Ok(Path::new(&folder).join("lib"))
}

/// The Python that `torch-sys` runs, by the rule of its build script.
fn torch_sys_python() -> &'static str {
    if cfg!(windows) {
        "python.exe"
    } else if set("VIRTUAL_ENV").is_some() {
        "python"
    } else {
        "python3"
    }
}

/// A variable's list of folders with one more in front.
fn prepended(name: &str, folder: &Path) -> Result<OsString> {
    in_front(folder, &set(name).unwrap_or_default())
}

fn in_front(folder: &Path, list: &OsStr) -> Result<OsString> {
    // An empty entry would mean the current folder.
    let others = env::split_paths(list).filter(|folder| !folder.as_os_str().is_empty());
    env::join_paths(std::iter::once(folder.to_owned()).chain(others)).map_err(|error| error.to_string())
}
