//! A struct with tensors goes to other processes, comes out whole, and each tensor lands where it should.
//!
//! ```text
//! cargo run --example quickstart
//! ```
//!
//! This process stands for a trainer with two GPUs. It loads real handwritten digits, puts them into a derived struct and sends
//! that, once each, to receivers on machines with two GPUs, one and none. The receivers are processes of their own: this program
//! runs itself again with the name of a case, and the message goes through a pipe to its standard input. Each checks every pixel,
//! prints where its tensors landed, and fails on any difference from what its case expects.
//!
//! The GPUs are simulated, by the tensor type in `simulated.rs`: all that a message can show of them is real, their memory is not.

mod cases;
mod lesson;
mod receiver;
mod simulated;
mod warnings;

use std::error::Error;
use std::process::{Command, ExitCode, Stdio};

use cases::{CASES, Case};
use lesson::Lesson;
use serde_tensor::{Device, Plan, inspect};

/// Any error, for `?`.
type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let done = match std::env::args().nth(1) {
        None => send_to_all(),
        Some(name) => receiver::run(&name),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("quickstart failed: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The sender: one value, one plan, as many processes as there are cases.
fn send_to_all() -> Result<()> {
    let warned = warnings::listen("sender")?;
    simulated::set_gpus(2);
    println!("Devices other than the CPU are simulated in this example.\n");

    let lesson = Lesson::load(Device::Cuda(1))?;
    println!(
        "The sender has {} digits of {:?} pixels, on {}.",
        lesson.digits.images.shape()[0],
        &lesson.digits.images.shape()[1..],
        lesson.digits.images.device()
    );
    // Nothing is copied here but the small tensors, which become a part of the body: `write_to` takes the others from where they are.
    let plan = Plan::new(&lesson)?;
    println!("The message takes {} bytes.", plan.len());

    let mut message = Vec::new();
    plan.write_to(&mut message)?;
    println!("It can be looked into without any GPU, or even the type:");
    for tensor in inspect(&message)?.tensors().iter().take(3) {
        println!("  {tensor}");
    }
    if warned.count() != 2 {
        return Err(format!("expected a warning for each of two fields, not {}", warned.count()).into());
    }

    for case in CASES {
        println!("\n== {}", case.title);
        send(&plan, case)?;
    }
    println!("\nEvery tensor of every message landed where it should, every pixel as it was sent.");
    Ok(())
}

/// Starts a receiver and writes the message to its standard input.
fn send(plan: &Plan<'_>, case: &Case) -> Result<()> {
    let mut receiver = Command::new(std::env::current_exe()?)
        .arg(case.name)
        .stdin(Stdio::piped())
        .spawn()?;
    let pipe = receiver.stdin.take().ok_or("the receiver has no standard input")?;
    let written = plan.write_to(pipe);
    // Its own account of a failure comes before that of the broken pipe.
    let status = receiver.wait()?;
    if !status.success() {
        return Err(format!("the receiver `{}`: {status}", case.name).into());
    }
    Ok(written?)
}
