//! One command of a task, shown as it would be typed.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

/// Failures are told to a person, and nothing else is done with them.
pub(crate) type Result<T = ()> = std::result::Result<T, String>;

/// A command, to be run in the root of the workspace.
pub(crate) struct Step {
    command: Command,
    shown: String,
}

impl Step {
    /// `cargo` with arguments separated by spaces.
    pub(crate) fn cargo(arguments: &str) -> Self {
        // The cargo that runs this task, so that `cargo +nightly xtask …` holds for its steps.
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.current_dir(root()).args(arguments.split_whitespace());
        Self {
            command,
            shown: format!("cargo {arguments}"),
        }
    }

    /// Another program.
    pub(crate) fn program(path: impl AsRef<Path>) -> Self {
        let mut command = Command::new(path.as_ref());
        command.current_dir(root());
        Self {
            command,
            shown: path.as_ref().display().to_string(),
        }
    }

    /// Adds arguments as they are.
    pub(crate) fn args(mut self, arguments: &[String]) -> Self {
        self.command.args(arguments);
        for argument in arguments {
            self.shown = format!("{} {argument}", self.shown);
        }
        self
    }

    /// Sets an environment variable.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self.shown = format!("{name}=\"{value}\" {}", self.shown);
        self
    }

    /// Sets an environment variable whose value is too long to show.
    pub(crate) fn quiet_env(mut self, name: &str, value: &OsStr) -> Self {
        self.command.env(name, value);
        self.shown = format!("{name}=… {}", self.shown);
        self
    }

    /// Runs it, with its output where ours goes.
    pub(crate) fn run(mut self) -> Result {
        eprintln!("\n$ {}", self.shown);
        let status = self.command.status();
        self.check(status)
    }

    /// Runs it, and returns what it says on its standard output.
    pub(crate) fn output(mut self) -> Result<String> {
        eprintln!("\n$ {}", self.shown);
        let child = self.command.stdout(Stdio::piped()).spawn();
        let output = child.and_then(Child::wait_with_output);
        let (status, said) = match output {
            Ok(output) => (Ok(output.status), output.stdout),
            Err(error) => (Err(error), Vec::new()),
        };
        self.check(status)?;
        String::from_utf8(said).map_err(|error| format!("`{}`: {error}", self.shown))
    }

    fn check(&self, status: io::Result<ExitStatus>) -> Result {
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("`{}` failed: {status}", self.shown)),
            Err(error) => Err(format!("`{}` could not be started: {error}", self.shown)),
        }
    }
}

/// The root of the workspace.
pub(crate) fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}
