//! Shared memory through iceoryx2: `examples/shared_memory`.

use std::fs;
use std::path::PathBuf;

use crate::common::process::{Process, example};

/// A domain of its own: its processes see each other and no others.
struct Domain {
    name: String,
}

impl Domain {
    fn new(name: &str) -> Self {
        Self {
            name: format!("serde-tensor-{}-{name}", std::process::id()),
        }
    }

    fn start(&self, role: &str) -> Process {
        Process::start(example("shared_memory").args([role, &self.name]))
    }

    /// Everything there is of it: its shared memory, and iceoryx2's folder.
    fn left(&self) -> Vec<PathBuf> {
        let shared = fs::read_dir("/dev/shm").into_iter().flatten();
        let mut left: Vec<PathBuf> = shared.map(|entry| entry.unwrap().path()).collect();
        left.retain(|path| path.file_name().unwrap().to_string_lossy().starts_with(&self.name));
        left.extend(Some(self.folder()).filter(|folder| folder.exists()));
        left
    }

    fn folder(&self) -> PathBuf {
        std::env::temp_dir().join(&self.name)
    }
}

/// For a test that fails, or kills a process and starts no other.
impl Drop for Domain {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(self.folder());
        for path in self.left() {
            let _ = fs::remove_file(path);
        }
    }
}

const ARRIVED: &str = "31 tensors, 248000000 bytes, used where they are";

#[test]
fn a_message_of_248_mb_is_used_where_another_process_wrote_it_and_the_memory_goes() {
    let domain = Domain::new("whole");
    let mut receiver = domain.start("receive");
    assert_eq!(receiver.line(), "waiting");
    let sender = domain.start("send");
    assert_eq!(receiver.finish(), [ARRIVED]);
    let [sent] = &sender.finish()[..] else {
        panic!("one line")
    };
    assert!(sent.ends_with(" bytes sent"), "{sent}");
    assert_eq!(domain.left(), [""; 0].map(PathBuf::from), "nothing is left");
}

#[test]
fn what_a_killed_process_left_does_not_stop_the_next() {
    let domain = Domain::new("killed");
    let mut receiver = domain.start("receive");
    assert_eq!(receiver.line(), "waiting");
    assert!(!domain.left().is_empty(), "the test looks in the right place");
    receiver.stop();

    let mut receiver = domain.start("receive");
    assert_eq!(receiver.line(), "waiting");
    let sender = domain.start("send");
    assert_eq!(receiver.finish(), [ARRIVED]);
    sender.finish();
    assert_eq!(
        domain.left(),
        [""; 0].map(PathBuf::from),
        "what the dead left is removed too"
    );
}

#[test]
fn a_receiver_that_is_killed_with_the_message_does_not_keep_the_sender() {
    let domain = Domain::new("receiver");
    let mut receiver = domain.start("receive");
    assert_eq!(receiver.line(), "waiting");
    let mut sender = domain.start("send");
    // The receiver has it now, and compares it with what it should be.
    assert!(sender.line().ends_with(" bytes sent"));
    receiver.stop();
    sender.finish();
    assert_eq!(domain.left(), [""; 0].map(PathBuf::from), "nothing is left");
}
