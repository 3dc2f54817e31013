//! Two processes on one machine over `ipc-channel`, which encodes with postcard: the same types travel in that.
//!
//! `cargo run -p serde-tensor-examples --features ipc-channel --example ipc_channel` starts the second process, gives it a job for each of
//! some batches of digits, and checks the answers.
//!
//! postcard knows no tensors, so each is a pair of byte strings there, and is copied on both sides. For large tensors send bytes
//! instead: `ipc::bytes_channel` and `serde_tensor::to_vec`, or [`IpcSharedMemory`](ipc_channel::ipc::IpcSharedMemory), which is read in place.

use std::process::{Child, Command};

use ipc_channel::ipc::{self, IpcOneShotServer, IpcSender};
use safetensors::SafeTensors;
use serde_tensor::{DType, Tensor, TensorDeserialize, TensorSerialize};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Ordinary fields keep their meaning: the way back travels beside the tensor.
#[derive(TensorSerialize, TensorDeserialize)]
struct Job {
    batch: usize,
    /// u8 [n, 8, 8].
    #[tensor]
    images: Tensor,
    #[tensor(none)]
    answer: IpcSender<Answer>,
}

#[derive(Debug, PartialEq, TensorSerialize, TensorDeserialize)]
enum Answer {
    Mean {
        batch: usize,
        /// f32 [8, 8].
        #[tensor]
        image: Tensor,
    },
    Empty {
        batch: usize,
    },
}

const IMAGE: usize = 8 * 8;

fn main() -> Result<()> {
    match std::env::args().nth(1) {
        Some(server) => work(server),
        None => give_jobs(),
    }
}

/// The first process: starts the second, sends it jobs, takes its answers.
fn give_jobs() -> Result<()> {
    let (server, name) = IpcOneShotServer::<IpcSender<Job>>::new()?;
    let mut worker = Worker(Command::new(std::env::current_exe()?).arg(name).spawn()?);
    let (_, jobs) = server.accept()?;

    let images = images()?;
    // The last batch is empty.
    for (batch, pixels) in images.chunks(500 * IMAGE).chain([&[][..]]).enumerate() {
        // The only sender is given away: if the worker dies with it, receiving ends with an error.
        let (answer, answers) = ipc::channel()?;
        jobs.send(Job {
            batch,
            images: Tensor::from_elements(pixels, &[pixels.len() / IMAGE, 8, 8])?,
            answer,
        })?;
        let answered = answers.recv()?;
        println!("batch {batch}: {} images, {}", pixels.len() / IMAGE, told(&answered)?);
        if answered != mean(batch, pixels)? {
            return Err(format!("another answer than expected: {answered:?}").into());
        }
    }
    // Nothing more can be sent, which ends the worker.
    drop(jobs);
    let status = worker.0.wait()?;
    if !status.success() {
        return Err(format!("the worker: {status}").into());
    }
    println!("Every answer is what this process computes itself.");
    Ok(())
}

/// The second process: answers jobs until there can be no more.
fn work(server: String) -> Result<()> {
    let (sender, jobs) = ipc::channel::<Job>()?;
    IpcSender::connect(server)?.send(sender)?;
    while let Ok(job) = jobs.recv() {
        if (job.images.dtype(), job.images.shape().get(1..)) != (DType::U8, Some(&[8, 8])) {
            return Err(format!("images of {:?} {:?}", job.images.dtype(), job.images.shape()).into());
        }
        job.answer.send(mean(job.batch, &job.images.elements::<u8>()?)?)?;
    }
    Ok(())
}

/// The mean of images of 8 x 8 pixels.
fn mean(batch: usize, pixels: &[u8]) -> Result<Answer> {
    let (images, _) = pixels.as_chunks::<IMAGE>();
    if images.is_empty() {
        return Ok(Answer::Empty { batch });
    }
    let count = f32::from(u16::try_from(images.len())?);
    let sum = |at: usize| images.iter().map(|image| f32::from(image[at])).sum::<f32>();
    let mean: Vec<f32> = (0..IMAGE).map(|at| sum(at) / count).collect();
    Ok(Answer::Mean {
        batch,
        image: Tensor::from_vec(mean, &[8, 8])?,
    })
}

fn told(answer: &Answer) -> Result<String> {
    Ok(match answer {
        Answer::Mean { image, .. } => {
            let ink: f32 = image.elements::<f32>()?.iter().sum();
            format!("with {ink:.2} of ink in the mean image")
        }
        Answer::Empty { .. } => "of which there is no mean".to_owned(),
    })
}

/// The handwritten digits; `data/README.md` says whose they are.
fn images() -> Result<Vec<u8>> {
    let file = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../data/digits.safetensors"))?;
    Ok(SafeTensors::deserialize(&file)?.tensor("images")?.data().to_vec())
}

/// The second process; it does not outlive the first.
struct Worker(Child);

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended, which is as well.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
