//! Files as memory.

use serde_tensor::{Category, Lazy, Tensor, TensorView, open_mmap, save};

use crate::{Folder, ramp, reads};

#[test]
#[allow(unsafe_code, reason = "the promise that a map asks for")]
fn a_mapped_file_is_read_without_a_copy() {
    let folder = Folder::new();
    let path = folder.join("value.st");
    save(&path, &vec![ramp(1 << 20), ramp(600)]).unwrap();
    let (message, read) = reads(|| {
        // SAFETY: nobody writes to the file; it is replaced and removed below.
        unsafe { open_mmap(&path).unwrap() }
    });
    assert!(read < 1000);
    let shared = message.clone();
    let views: Vec<TensorView<'_>> = serde_tensor::from_slice(&shared).unwrap();
    let tensors: Vec<Tensor> = serde_tensor::from_bytes(message.clone()).unwrap();
    let lazy: Vec<Lazy<Tensor>> = serde_tensor::from_bytes(message.clone()).unwrap();
    save(&path, &1u8).unwrap();
    for (n, expected) in [ramp(1 << 20), ramp(600)].iter().enumerate() {
        for bytes in [views[n].bytes(), tensors[n].bytes(), lazy[n].get().unwrap().bytes()] {
            assert!(message.as_ptr_range().contains(&bytes.as_ptr()));
            assert_eq!(bytes, expected.bytes());
        }
    }
    drop(message);
    drop(shared);
    assert_eq!(tensors[0], ramp(1 << 20), "the map lives as long as they do");
}

#[test]
#[allow(unsafe_code, reason = "the promise that a map asks for")]
fn what_cannot_be_mapped_is_an_error() {
    let folder = Folder::new();
    // SAFETY: there is nothing to write to.
    let error = unsafe { open_mmap(folder.join("missing")) }.unwrap_err();
    assert_eq!(error.category(), Category::Io);
    std::fs::write(folder.join("empty"), "").unwrap();
    // SAFETY: nobody else knows the file.
    let empty = unsafe { open_mmap(folder.join("empty")) };
    assert!(empty.is_err() || empty.unwrap().is_empty());
}
