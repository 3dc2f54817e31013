//! Shared memory through iceoryx2: `examples/shared_memory`.

use std::fs;
use std::path::Path;

use crate::common::process::{Folder, Process, eventually, example};

/// Two processes that see each other and no others; what they leave is in the folder, or in the system's under the prefix.
struct Processes {
    folder: Folder,
    prefix: String,
}

impl Processes {
    fn new(name: &str) -> Self {
        let folder = Folder::new();
        let prefix = format!("serde-tensor-{}-{name}-", std::process::id());
        // iceoryx2 reads it where it is started.
        fs::create_dir(folder.file("config")).unwrap();
        let root = folder.file("iceoryx2");
        let settings = format!(
            "[global]\nroot-path = {:?}\nprefix = {prefix:?}\n",
            root.display().to_string()
        );
        fs::write(folder.file("config/iceoryx2.toml"), settings).unwrap();
        Self { folder, prefix }
    }

    fn start(&self, role: &str) -> Process {
        Process::start(example("shared_memory").arg(role).current_dir(self.folder.file("")))
    }

    /// The names of what is in the system's shared memory, without the small file that iceoryx2 keeps for all nodes to come.
    fn shared(&self) -> Vec<String> {
        let mut names = self.all_shared();
        names.retain(|name| !name.ends_with(".global_mgmt"));
        names
    }

    fn all_shared(&self) -> Vec<String> {
        let names = fs::read_dir(Path::new("/dev/shm")).into_iter().flatten();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with(&self.prefix)).collect()
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for name in self.all_shared() {
            let _ = fs::remove_file(Path::new("/dev/shm").join(name));
        }
    }
}

const ARRIVED: &str = "31 tensors, 248000000 bytes, used where they are";

#[test]
fn a_message_of_248_mb_is_used_where_another_process_wrote_it_and_the_memory_goes() {
    let processes = Processes::new("whole");
    let mut receiver = processes.start("receive");
    assert_eq!(receiver.line(), "waiting");
    let sender = processes.start("send");
    assert_eq!(receiver.finish(), [ARRIVED]);
    let [sent] = &sender.finish()[..] else {
        panic!("one line")
    };
    assert!(sent.ends_with(" bytes sent"), "{sent}");
    assert_eq!(processes.shared(), [""; 0], "nothing is left");
}

#[test]
fn what_a_killed_process_left_does_not_stop_the_next() {
    let processes = Processes::new("killed");
    let mut receiver = processes.start("receive");
    assert_eq!(receiver.line(), "waiting");
    assert!(!processes.shared().is_empty(), "the test looks in the right place");
    receiver.stop();

    let mut receiver = processes.start("receive");
    assert_eq!(receiver.line(), "waiting");
    let sender = processes.start("send");
    assert_eq!(receiver.finish(), [ARRIVED]);
    sender.finish();
    eventually("the memory of the dead is removed", || processes.shared().is_empty());
}

#[test]
fn a_receiver_that_is_killed_with_the_message_does_not_keep_the_sender() {
    let processes = Processes::new("receiver");
    let mut receiver = processes.start("receive");
    assert_eq!(receiver.line(), "waiting");
    let mut sender = processes.start("send");
    // The receiver has it now, and compares it with what it should be.
    assert!(sender.line().ends_with(" bytes sent"));
    receiver.stop();
    sender.finish();
    assert_eq!(processes.shared(), [""; 0], "nothing is left");
}
