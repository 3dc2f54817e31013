//! Python environments in the user's cache folder, for what is to be had as Python packages.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::step::Result;

/// In an environment's folder, once all packages are in it.
const DONE: &str = "serde-tensor-provided";

/// An environment with some packages.
pub(crate) struct Environment {
    /// The folder of its programs.
    pub(crate) programs: PathBuf,
    pub(crate) python: PathBuf,
}

impl Environment {
    /// The environment of a name, or a new one, of which `notice` tells. The packages belong to the name: for others it must be another.
    pub(crate) fn provide(name: &str, packages: &[&str], notice: impl FnOnce(&Path)) -> Result<Self> {
        let folder = cache()?.join(name);
        let programs = folder.join(if cfg!(windows) { "Scripts" } else { "bin" });
        let python = programs.join(if cfg!(windows) { "python.exe" } else { "python3" });
        let environment = Self { programs, python };
        if !folder.join(DONE).is_file() {
            notice(&folder);
            environment.install(&folder, packages)?;
        }
        Ok(environment)
    }

    /// Installs the packages into an environment of its own. What an interrupted run left is used.
    fn install(&self, folder: &Path, packages: &[&str]) -> Result {
        let base = if cfg!(windows) { "python" } else { "python3" };
        run(Command::new(base).args(["-m", "venv"]).arg(folder))?;
        let mut pip = Command::new(&self.python);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .args(packages);
        run(&mut pip)?;
        let done = folder.join(DONE);
        fs::write(&done, packages.join(" ")).map_err(|error| format!("{}: {error}", done.display()))
    }
}

fn run(command: &mut Command) -> Result {
    eprintln!("$ {command:?}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?} failed: {status}")),
        Err(error) => Err(format!(
            "{command:?} could not be started: {error}. Is Python 3 there, with its `venv`?"
        )),
    }
}

/// The user's cache folder, by the custom of each system.
fn cache() -> Result<PathBuf> {
    let home = |below: &str| set("HOME").map(|home| PathBuf::from(home).join(below));
    let cache = if cfg!(windows) {
        set("LOCALAPPDATA").map(PathBuf::from)
    } else if cfg!(target_vendor = "apple") {
        home("Library/Caches")
    } else {
        set("XDG_CACHE_HOME").map(PathBuf::from).or_else(|| home(".cache"))
    };
    let cache = cache.ok_or("no cache folder: neither XDG_CACHE_HOME nor HOME is set")?;
    Ok(cache.join("serde-tensor"))
}

/// A variable that is set to something.
pub(crate) fn set(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}
