//! The examples, run as their reader runs them. Without this they could print something else than what they promise, or nothing:
//! that they compile says little.

mod common;

use std::process::Output;

use common::process::example;

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The words of the table's line for a tensor; the columns' widths are not what is tested.
fn row(text: &str, path: &str) -> String {
    let line = text.lines().find(|line| line.split_whitespace().next() == Some(path));
    let words: Vec<&str> = line
        .unwrap_or_else(|| panic!("no {path} in:\n{text}"))
        .split_whitespace()
        .collect();
    words.join(" ")
}

#[test]
fn quickstart_sends_real_data_to_processes_and_each_tensor_lands_where_it_should() {
    let output = stdout(&example("quickstart").output().unwrap());
    assert!(output.contains("Devices other than the CPU are simulated"), "{output}");
    assert!(
        output.contains("The sender has 1797 digits of [8, 8] pixels, on cuda:1."),
        "{output}"
    );
    assert!(
        output.ends_with("Every tensor of every message landed where it should, every pixel as it was sent.\n"),
        "{output}"
    );

    let parts: Vec<&str> = output.split("\n== ").collect();
    let [sender, two_gpus, no_gpu, no_gpu_strict, one_gpu, one_gpu_strict] = parts[..] else {
        panic!("not a sender and five receivers:\n{output}")
    };
    let warnings = |part: &str| part.matches("WARN ").count();

    // Encoding copies the images and their means off the device: one warning a field.
    assert_eq!(warnings(sender), 2, "{sender}");

    assert!(two_gpus.starts_with("A receiver with two GPUs, under DeviceGuard::enter(cuda:0)"));
    let lines = [
        (
            "digits.images",
            "u8 [1797, 8, 8] 115008 cuda:1 cuda:0 the innermost guard host to device",
        ),
        ("digits.labels", "i64 [1797] 14376 cpu cpu the host-only type shared"),
        ("means", "f32 [10, 8, 8] 2560 cuda:1 cpu the field's attribute shared"),
        ("samples[2]", "u8 [8, 8] 64 cpu cpu the host-only type shared"),
    ];
    for (path, line) in lines {
        assert_eq!(row(two_gpus, path), format!("{path} {line}"));
    }
    // Inline, and so aligned by chance.
    assert!(
        row(two_gpus, "task.class_weights").starts_with("task.class_weights f32 [10] 40 cpu cpu the host-only type")
    );
    assert_eq!(warnings(two_gpus), 0, "{two_gpus}");

    let fallbacks = [
        (no_gpu, "cpu (not cuda:1) the recorded source shared", "lands on cpu"),
        (
            one_gpu,
            "cuda:0 (not cuda:1) the recorded source host to device",
            "lands on cuda:0",
        ),
    ];
    for (part, landed, warned) in fallbacks {
        let line = format!("digits.images u8 [1797, 8, 8] 115008 cuda:1 {landed}");
        assert_eq!(row(part, "digits.images"), line);
        assert_eq!(row(part, "means"), row(two_gpus, "means"), "keep_cpu holds");
        assert_eq!(warnings(part), 1, "{part}");
        assert!(
            part.contains(&format!(
                "WARN receiver: device cuda:1 is not there, so the tensor {warned}"
            )),
            "{part}"
        );
    }
    for part in [two_gpus, no_gpu, one_gpu] {
        assert!(
            part.contains("All 115008 pixels, and all else, are as they were sent."),
            "{part}"
        );
    }

    for (part, available) in [(no_gpu_strict, "cpu"), (one_gpu_strict, "cpu, cuda:0")] {
        let refused = format!(
            "Refused, as asked: digits.images: device cuda:1, chosen by the recorded source, is not there; available: {available}"
        );
        assert!(part.contains(&refused), "{part}");
        assert_eq!(warnings(part), 0, "{part}");
    }
}

#[test]
fn quickstart_fails_when_a_receiver_does() {
    for (case, why) in [
        ("no-gpu", "the message is empty"),
        ("no-such", "there is no case `no-such`"),
    ] {
        let output = example("quickstart").arg(case).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn custom_backend_routes_a_third_partys_tensors() {
    let output = stdout(&example("custom_backend").output().unwrap());
    assert!(output.contains("The GPUs of this example are simulated."), "{output}");
    assert_eq!(
        row(&output, "weight"),
        "weight f32 [3, 2] 24 cuda:1 cuda:0 the innermost guard host to device"
    );
    assert_eq!(
        row(&output, "bias"),
        "bias f32 [2] 8 cpu cpu the field's attribute copied"
    );
    assert!(
        output.contains(
            "weight: device cuda:7, chosen by the innermost guard, is not there; available: cpu, cuda:0, cuda:1"
        ),
        "{output}"
    );
}
