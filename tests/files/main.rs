//! Messages in files.

mod save;

use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_tensor::{DType, Tensor};

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
