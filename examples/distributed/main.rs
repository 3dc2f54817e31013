//! Mean images of the handwritten digits and a linear classifier, computed by any number of processes with timely dataflow, which sends
//! tensors in this crate's format.
//!
//! `README.md` beside this file says how to run it, on one machine or several.

mod all_reduce;
mod classifier;
mod digits;
mod messages;
mod picture;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use timely::worker::Worker;

use all_reduce::{AllReduce, Part};
use classifier::Classifier;
use digits::{CLASSES, Digits, SHARDS};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

const STEPS: usize = 25;
const RATE: f64 = 2.0;

fn main() -> Result<()> {
    let workers = timely::execute_from_args(std::env::args(), run)?;
    for result in workers.join() {
        println!("{}", result??);
    }
    Ok(())
}

/// What each worker does. All of them end with the same results, of which the first tells.
fn run(worker: &mut Worker) -> Result<String> {
    let digits = Digits::load()?;
    let mine: Vec<usize> = (0..SHARDS)
        .filter(|shard| shard % worker.peers() == worker.index())
        .collect();
    let mut all_reduce = AllReduce::new(worker);
    let tells = worker.index() == 0;

    let sums = all_reduce.sum(worker, parts(&mine, |shard| digits.image_sums(shard))?);
    let means = means(&sums)?;
    if tells {
        println!("Mean images of {} digits:\n{}", digits.len(), picture::row(&means));
    }

    let mut classifier = Classifier::new();
    for step in 0..STEPS {
        let gradients = parts(&mine, |shard| classifier.gradients(&digits, shard))?;
        let loss = classifier.step(&all_reduce.sum(worker, gradients), RATE)?;
        if tells && step % 5 == 0 {
            println!("step {step:2}: loss {loss:.12}");
        }
    }
    let right = classifier.right(&digits);
    if tells {
        println!("{right} of {} digits are named rightly", digits.len());
    }
    Ok(format!(
        "worker {} of {}: {} of {SHARDS} shards; fingerprint of all results {:016x}",
        worker.index(),
        worker.peers(),
        mine.len(),
        fingerprint(means.iter().flatten().chain(classifier.weights())),
    ))
}

/// The parts of some shards.
fn parts(shards: &[usize], of: impl Fn(usize) -> Result<Vec<Part>>) -> Result<Vec<Part>> {
    let parts: Vec<_> = shards.iter().map(|shard| of(*shard)).collect::<Result<_>>()?;
    Ok(parts.concat())
}

fn means(sums: &[Part]) -> Result<Vec<Vec<f64>>> {
    if sums.len() != CLASSES {
        return Err(format!("sums of {} classes arrived, not of {CLASSES}", sums.len()).into());
    }
    sums.iter()
        .map(|sum| {
            Ok(sum
                .values
                .elements::<f64>()?
                .iter()
                .map(|value| value / f64::from(sum.count))
                .collect())
        })
        .collect()
}

/// Differs when a single bit of the numbers does.
fn fingerprint<'a>(numbers: impl Iterator<Item = &'a f64>) -> u64 {
    let mut hasher = DefaultHasher::new();
    numbers.for_each(|number| number.to_bits().hash(&mut hasher));
    hasher.finish()
}
