//! kameo: `examples/kameo.rs`, whose messages are MessagePack.

use crate::common::process::{Process, example};

#[test]
fn an_actor_in_another_process_takes_and_returns_tensors_in_messagepack() {
    let mut server = Process::start(example("kameo").args(["serve", "/ip4/127.0.0.1/tcp/0"]));
    let line = server.line();
    let address = line.strip_prefix("serving at ").unwrap_or_else(|| panic!("{line}"));
    // One after another, the second on a connection of its own.
    for _ in 0..2 {
        let lines = Process::start(example("kameo").args(["ask", address])).finish();
        let expected = [
            "batch 1: 188662 of ink",
            "batch 2: 187759 of ink",
            "batch 3: 185297 of ink",
            "refused: images of []",
            "too large",
            "small: 16320 of ink",
        ];
        assert_eq!(lines, expected);
    }
}
