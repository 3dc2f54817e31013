//! ipc-channel: `examples/ipc_channel.rs`, whose messages are postcard.

use crate::common::process::{Process, example};

#[test]
fn values_with_tensors_travel_in_postcard_to_another_process_and_back() {
    let lines = Process::start(&mut example("ipc_channel")).finish();
    let (last, batches) = lines.split_last().unwrap();
    assert_eq!(last, "Every answer is what this process computes itself.");
    let counts: Vec<&str> = batches.iter().map(|line| line.split(", ").next().unwrap()).collect();
    let expected = [500, 500, 500, 297, 0].iter().enumerate();
    let expected: Vec<String> = expected
        .map(|(batch, count)| format!("batch {batch}: {count} images"))
        .collect();
    assert_eq!(counts, expected);
}
