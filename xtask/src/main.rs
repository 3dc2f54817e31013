//! Tasks of this repository, run as `cargo xtask <task>`.

mod bench;
mod bundle;
mod ci;
mod features;
mod libtorch;
mod nats;
mod oldest;
mod python;
mod step;
mod test;

use std::process::ExitCode;

use step::Result;

const HELP: &str = "\
cargo xtask <task>

  test [NAME]   run all tests, documentation examples included, or those with NAME in their names; provides libtorch
  example NAME  run an example that needs libtorch: minilm
  gpu-bundle [--torch VERSION]
                pack libtorch's tests for a machine with a GPU and Python's torch 2.13 (default) or 2.11
  ci            check formatting, lints, documentation, features, benchmarks and packages
  bench-table   measure next to other formats and write docs/benchmarks.md; --only DATA, --quick (prints alone), --tch (libtorch's)
  bench-guard   count instructions with valgrind and fail where they grew; --record writes benches/instructions.toml
";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let task = arguments.next();
    let arguments: Vec<String> = arguments.collect();
    match run(task.as_deref(), &arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Option<&str>, arguments: &[String]) -> Result {
    match task {
        Some("test") => test::run(arguments),
        Some("example") => test::example(arguments),
        Some("bench-table") => bench::table(arguments),
        Some("bench-guard") => bench::guard(arguments),
        Some("gpu-bundle") => bundle::run(arguments),
        Some("ci") if arguments.is_empty() => ci::run(),
        Some("ci") => Err("`ci` takes no arguments".to_owned()),
        None | Some("help" | "--help" | "-h") => {
            print!("{HELP}");
            Ok(())
        }
        Some(other) => Err(format!("no task `{other}`\n\n{HELP}")),
    }
}
