//! A layer of a real language model, sent to another process, computes the same there, to the last bit.
//!
//! ```text
//! cargo xtask example minilm
//! ```
//!
//! `xtask` provides libtorch. The weights stand in a derived struct as `tch` tensors; the message goes through a pipe, and the
//! answer comes back through another.

mod layer;

use std::collections::HashMap;
use std::error::Error;
use std::io::{self, Write};
use std::process::{Command, Stdio};

use layer::{HIDDEN, Layer};
use serde_tensor::{Plan, TensorDeserialize, TensorSerialize};
use tch::{Device, Kind, Tensor};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What is asked of the other process.
#[derive(TensorSerialize, TensorDeserialize)]
struct Task {
    name: String,
    #[tensor]
    layer: Layer,
    #[tensor]
    tokens: Tensor,
}

/// What it answers.
#[derive(TensorSerialize, TensorDeserialize)]
struct Answer {
    #[tensor]
    output: Tensor,
}

fn main() -> Result<()> {
    // The same sums in the same order.
    tch::set_num_threads(1);
    let _without_gradients = tch::no_grad_guard();
    match std::env::args().nth(1).as_deref() {
        None => send(),
        Some("worker") => work(),
        Some(other) => Err(format!("no argument is needed, and `{other}` is none").into()),
    }
}

/// The first process: reads the weights from a file, sends them, and compares.
fn send() -> Result<()> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/data/minilm-layer0.safetensors");
    let tensors: HashMap<_, _> = Tensor::read_safetensors(file)?.into_iter().collect();
    let count = tensors.len();
    let task = Task {
        name: "MiniLM, layer 0".to_owned(),
        layer: Layer::from_tensors(tensors)?,
        tokens: Tensor::arange(2 * 7 * HIDDEN, (Kind::Float, Device::Cpu))
            .sin()
            .view([2, 7, HIDDEN]),
    };
    let expected = task.layer.forward(&task.tokens);

    let plan = Plan::new(&task)?;
    println!(
        "{}: {count} tensors of weights, a message of {} bytes.",
        task.name,
        plan.len()
    );
    let mut worker = Command::new(std::env::current_exe()?)
        .arg("worker")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (Some(mut to), Some(from)) = (worker.stdin.take(), worker.stdout.take()) else {
        return Err("the worker has no pipes".into());
    };
    plan.write_to(&mut to)?;
    // It reads to the end.
    drop(to);
    let answer: Answer = serde_tensor::from_reader(from)?;
    if !worker.wait()?.success() {
        return Err("the worker failed".into());
    }

    if bits(&answer.output)? != bits(&expected)? {
        return Err("the other process computed something else".into());
    }
    println!(
        "The other process computed {:?}, the same to the last bit.",
        answer.output.size()
    );
    Ok(())
}

/// The second process.
fn work() -> Result<()> {
    let task: Task = serde_tensor::from_reader(io::stdin().lock())?;
    let output = task.layer.forward(&task.tokens);
    let message = serde_tensor::to_vec(&Answer { output })?;
    let mut stdout = io::stdout().lock();
    stdout.write_all(&message)?;
    stdout.flush()?;
    Ok(())
}

fn bits(tensor: &Tensor) -> Result<Vec<u32>> {
    let values = Vec::<f32>::try_from(tensor.contiguous().view(-1))?;
    Ok(values.into_iter().map(f32::to_bits).collect())
}
