//! Messages in files.

mod lazy;
mod map;
mod open;
mod save;

#[path = "../common/mod.rs"]
mod common;

use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Serialize, Serializer};
use serde_tensor::{DType, Encoder, Tensor, TensorSerialize};

/// A folder of a test's own, gone when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "serde-tensor-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    /// The names of what is in it, in order.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A tensor of bytes, each different from its neighbours.
fn ramp(len: usize) -> Tensor {
    let bytes: Vec<u8> = (0..251).cycle().take(len).collect();
    Tensor::from_bytes(DType::U8, &[len], bytes).unwrap()
}

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> serde_tensor::Result<T> {
    serde_tensor::from_reader(fs::File::open(path)?)
}

/// The message of both writers, with and without checksums.
fn messages<T: TensorSerialize>(value: &T) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    for checksums in [false, true] {
        let encoder = Encoder::new().checksums(checksums);
        let mut planned = Vec::new();
        encoder.plan(value).unwrap().write_to(&mut planned).unwrap();
        messages.push(planned);
        messages.push(encoder.to_vec(&Marked(value)).unwrap());
    }
    messages
}

/// A value of a type of which nothing is known but where its tensors are.
struct Marked<'a, T>(&'a T);

impl<T: TensorSerialize> Serialize for Marked<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize_tensors(serializer)
    }
}

/// How many bytes this thread has read from files and the like, where the system counts them.
fn bytes_read() -> Option<u64> {
    let counts = fs::read_to_string("/proc/thread-self/io").ok()?;
    counts.lines().next()?.strip_prefix("rchar: ")?.parse().ok()
}

/// How many bytes this thread reads in `body`, beside those of counting them; 0 where the system does not count.
fn reads<R>(body: impl FnOnce() -> R) -> (R, u64) {
    let before = bytes_read();
    let result = body();
    let read = bytes_read().zip(before).map_or(0, |(after, before)| after - before);
    (result, read.saturating_sub(200))
}
