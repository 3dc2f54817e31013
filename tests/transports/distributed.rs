//! timely dataflow: `examples/distributed`, and the container that it shows.

#[path = "../../examples/distributed/messages.rs"]
mod messages;

use std::fs;

use serde_tensor::{Tensor, TensorDeserialize, TensorSerialize};
use timely::bytes::arc::BytesMut;
use timely::container::{DrainContainer as _, PushInto as _};
use timely::dataflow::channels::ContainerBytes;

use crate::common::process::{Folder, Process, example, free_ports};
use messages::Messages;

/// What each process prints, without what timely says while they wait for each other.
fn run(processes: usize, threads: usize) -> Vec<Vec<String>> {
    let folder = Folder::new();
    let hosts = folder.file("hosts");
    let ports: [u16; 4] = free_ports();
    let addresses: Vec<String> = ports[..processes]
        .iter()
        .map(|port| format!("127.0.0.1:{port}"))
        .collect();
    fs::write(&hosts, addresses.join("\n")).unwrap();
    let start = |process: usize| {
        let mut command = example("distributed");
        command.args([
            "-n",
            &processes.to_string(),
            "-p",
            &process.to_string(),
            "-w",
            &threads.to_string(),
            "-h",
        ]);
        Process::start(command.arg(&hosts))
    };
    let running: Vec<Process> = (0..processes).map(start).collect();
    let said = running.into_iter().map(Process::finish).collect::<Vec<_>>();
    let waits = |line: &String| line.starts_with("awaiting connections") || line.contains("error connecting");
    said.into_iter()
        .map(|lines| lines.into_iter().filter(|line| !waits(line)).collect())
        .collect()
}

fn fingerprint(line: &str) -> &str {
    line.split_once("fingerprint of all results ")
        .unwrap_or_else(|| panic!("{line}"))
        .1
}

#[test]
fn the_same_bits_come_out_of_any_number_of_processes_and_threads() {
    let [alone] = run(1, 1).try_into().unwrap();
    let (last, story) = alone.split_last().unwrap();
    assert!(story[0].starts_with("Mean images of 1797 digits:"), "{story:#?}");
    assert_eq!(
        last,
        &format!(
            "worker 0 of 1: 32 of 32 shards; fingerprint of all results {}",
            fingerprint(last)
        )
    );

    for (processes, threads) in [(1, 2), (2, 1), (4, 1), (2, 2)] {
        let said = run(processes, threads);
        let workers = processes * threads;
        let shards = 32 / workers;
        for (process, lines) in said.iter().enumerate() {
            let (told, own) = lines.split_at(lines.len() - threads);
            let expected = if process == 0 { story } else { &[] };
            assert_eq!(told, expected, "process {process} of {processes}");
            for (thread, line) in own.iter().enumerate() {
                let worker = process * threads + thread;
                let expected = format!(
                    "worker {worker} of {workers}: {shards} of 32 shards; fingerprint of all results {}",
                    fingerprint(last)
                );
                assert_eq!(line, &expected);
            }
        }
    }
}

/// Without this all processes could agree on a wrong result.
#[test]
fn the_classifier_is_what_a_plain_loop_over_all_digits_gives() {
    let [alone] = run(1, 1).try_into().unwrap();
    let losses = alone
        .iter()
        .filter_map(|line| line.strip_prefix("step ")?.split_once(": loss "));
    let losses: Vec<(usize, f64)> = losses
        .map(|(step, loss)| (step.trim().parse().unwrap(), loss.parse().unwrap()))
        .collect();
    assert_eq!(
        losses.iter().map(|(step, _)| *step).collect::<Vec<_>>(),
        [0, 5, 10, 15, 20]
    );

    let digits = digits();
    let mut weights = vec![[0.0; 65]; 10];
    for step in 0..=20 {
        let (mut loss, mut slopes) = (0.0, vec![[0.0; 65]; 10]);
        for (pixels, label) in &digits {
            let scores: Vec<f64> = weights.iter().map(|row| dot(row, pixels)).collect();
            let total: f64 = scores.iter().map(|score| score.exp()).sum();
            loss += total.ln() - scores[*label];
            for (class, slope) in slopes.iter_mut().enumerate() {
                let over = scores[class].exp() / total - f64::from(u8::from(class == *label));
                slope
                    .iter_mut()
                    .zip(pixels)
                    .for_each(|(slope, pixel)| *slope += over * pixel);
            }
        }
        if let Some((_, told)) = losses.iter().find(|(at, _)| *at == step) {
            let loss: f64 = loss / 1797.0;
            assert!((loss - told).abs() < 1e-10, "step {step}: {loss}, not {told}");
        }
        for (row, slope) in weights.iter_mut().zip(&slopes) {
            row.iter_mut()
                .zip(slope)
                .for_each(|(weight, slope)| *weight -= 2.0 * slope / 1797.0);
        }
    }
}

/// 64 pixels from 0 to 1, then a 1 for the bias; and the label.
fn digits() -> Vec<([f64; 65], usize)> {
    let file = fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/data/digits.safetensors")).unwrap();
    let (labels, images) = file[file.len() - 1797 * (8 + 64)..].split_at(1797 * 8);
    let pixels = |image: &[u8]| std::array::from_fn(|at| image.get(at).map_or(1.0, |ink| f64::from(*ink) / 16.0));
    let labels = labels.chunks(8).map(|label| usize::from(label[0]));
    images.chunks(64).map(pixels).zip(labels).collect()
}

fn dot(weights: &[f64; 65], pixels: &[f64; 65]) -> f64 {
    weights.iter().zip(pixels).map(|(weight, pixel)| weight * pixel).sum()
}

#[derive(Clone, Debug, PartialEq, TensorSerialize, TensorDeserialize)]
struct Record {
    name: String,
    #[tensor]
    values: Tensor,
}

fn records(sizes: &[usize]) -> Vec<Record> {
    let record = |(at, size): (usize, &usize)| Record {
        name: "n".repeat(at),
        values: Tensor::from_vec(
            (0..*size)
                .map(|value| f64::from(u32::try_from(value).unwrap()) / 3.0)
                .collect::<Vec<_>>(),
            &[*size],
        )
        .unwrap(),
    };
    sizes.iter().enumerate().map(record).collect()
}

fn container(records: &[Record]) -> Messages<Record> {
    let mut messages = Messages::default();
    for record in records {
        messages.push_into(record.clone());
    }
    messages
}

/// What timely does with a container between two processes, at some distance from the start of its buffer.
fn sent(messages: &Messages<Record>, before: usize) -> (Vec<u8>, Messages<Record>) {
    let len = messages.length_in_bytes();
    let mut buffer = vec![0; before];
    messages.into_bytes(&mut buffer);
    let bytes = buffer[before..].to_vec();
    assert_eq!(
        bytes.len(),
        len,
        "timely made room for what was announced, and hands on all of it"
    );
    let mut slab = BytesMut::from(buffer);
    drop(slab.extract_to(before));
    (bytes, Messages::from_bytes(slab.freeze()))
}

#[test]
fn a_container_has_the_exact_length_that_timely_asks_for_and_keeps_words_aligned() {
    for sizes in [&[][..], &[0], &[1], &[1, 2, 3], &[65; 20], &[100_000, 1, 7]] {
        let records = records(sizes);
        let messages = container(&records);
        for before in [0, 8, 64, 72] {
            let (bytes, mut received) = sent(&messages, before);
            assert_eq!(bytes.len() % 8, 0, "what follows would lie at an odd address");
            assert_eq!(received.drain().collect::<Vec<_>>(), records);
        }
    }
}

#[test]
fn received_tensors_stay_where_timely_received_them() {
    let records = records(&[4, 65, 1000]);
    let messages = container(&records);
    let mut buffer = Vec::new();
    messages.into_bytes(&mut buffer);
    let place = buffer.as_ptr_range();
    let mut received = Messages::<Record>::from_bytes(BytesMut::from(buffer).freeze());
    for (received, sent) in received.drain().zip(records) {
        let elements = received.values.elements::<f64>().unwrap();
        assert!(matches!(elements, std::borrow::Cow::Borrowed(_)), "aligned for use");
        assert!(place.contains(&received.values.bytes().as_ptr()), "not copied");
        assert_eq!(received, sent);
    }
}
