//! Programs that a test starts, and that never outlive it.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long a program may take for anything before the test fails.
const PATIENCE: Duration = Duration::from_mins(2);

/// The program of an example: beside this test's own folder, where `cargo test` puts it before any test runs.
///
/// `cargo test --test NAME` builds no examples, so there they are built here.
pub(crate) fn example(name: &str) -> Command {
    let test = std::env::current_exe().unwrap();
    let profile = test.ancestors().nth(2).unwrap();
    let program: PathBuf = profile
        .join("examples")
        .join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    if !program.exists() {
        let mut build = Command::new(env!("CARGO"));
        build
            .args(["build", "--quiet", "--example", name, "--target-dir"])
            .arg(profile.parent().unwrap());
        if cfg!(feature = "transports") {
            build.args(["--features", "transports"]);
        }
        if profile.ends_with("release") {
            build.arg("--release");
        }
        let status = build.current_dir(env!("CARGO_MANIFEST_DIR")).status().unwrap();
        assert!(status.success(), "{name} does not build: {status}");
    }
    let mut command = Command::new(program);
    command.stdin(Stdio::null());
    command
}

/// Ports on which nothing listens.
pub(crate) fn free_ports<const N: usize>() -> [u16; N] {
    // All bound at once, or they might be the same.
    let listeners = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

/// Waits until something is so.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "it never came about that {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A new folder, removed with all that is in it when this is dropped.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("serde-tensor-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A running program. It is stopped when this is dropped.
pub(crate) struct Process {
    child: Child,
    lines: Receiver<String>,
    errors: Option<JoinHandle<String>>,
}

impl Process {
    pub(crate) fn start(command: &mut Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let (sender, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        // Read to the end, or a full pipe would stop the program.
        thread::spawn(move || {
            stdout
                .lines()
                .map_while(Result::ok)
                .for_each(|line| drop(sender.send(line)));
        });
        let mut stderr = child.stderr.take().unwrap();
        let errors = thread::spawn(move || {
            let mut text = Vec::new();
            let _ = stderr.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        });
        Self {
            child,
            lines,
            errors: Some(errors),
        }
    }

    /// The next line of its standard output.
    pub(crate) fn line(&mut self) -> String {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => line,
            Err(error) => panic!("no further line: {error}; {}", self.stop()),
        }
    }

    /// Waits for its successful end and returns the lines of its standard output that were not taken.
    pub(crate) fn finish(mut self) -> Vec<String> {
        let start = Instant::now();
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None if start.elapsed() > PATIENCE => panic!("it does not end; {}", self.stop()),
                None => thread::sleep(Duration::from_millis(5)),
            }
        };
        let lines = self.lines.iter().collect();
        assert!(status.success(), "{status}: {lines:#?}\n{}", self.stop());
        lines
    }

    /// Stops it as a crash would, and returns what it wrote to its standard error.
    pub(crate) fn stop(&mut self) -> String {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let errors = self.errors.take().map(JoinHandle::join);
        errors.and_then(Result::ok).unwrap_or_default()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop();
    }
}
