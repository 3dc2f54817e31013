//! A file as memory.
#![allow(unsafe_code, reason = "others may write to a file that is mapped")]

use std::fs::File;
use std::path::Path;

use bytes::Bytes;
use memmap2::Mmap;

use super::save::named;
use crate::error::Result;

/// Maps a file into memory: its message can be decoded as any other, and what is not looked at is not read. Feature `mmap`.
///
/// With [`from_bytes`](crate::from_bytes) a [`Tensor`](crate::Tensor) shares the map, and a [`TensorView`](crate::TensorView) shows it; with a
/// [`Lazy`](crate::Lazy) field also the checksum waits until the tensor is asked for. The file stays mapped as long as a part of the result is there.
///
/// [`open`](crate::open) does without the promise below.
///
/// ```
/// use serde_tensor::Tensor;
///
/// # let folder = std::env::temp_dir().join(format!("serde-tensor-map-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let path = folder.join("weights.st");
/// serde_tensor::save(&path, &Tensor::from_vec(vec![0.5f32; 1000], &[1000])?)?;
///
/// // SAFETY: nobody else knows the file, and `save` would put another in its place instead of writing to it.
/// let message = unsafe { serde_tensor::open_mmap(&path)? };
/// let weights: Tensor = serde_tensor::from_bytes(message.clone())?;
/// assert!(message.as_ptr_range().contains(&weights.bytes().as_ptr()));
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), serde_tensor::Error>(())
/// ```
///
/// # Errors
///
/// `Io` when there is no such file, or it cannot be mapped.
///
/// # Safety
///
/// As long as a part of the result is there, nobody, in this process or another, may write to the file or make it shorter. A write would change
/// bytes behind a shared reference, which is undefined behaviour; reading what was cut off ends the process with a signal (SIGBUS). A file that
/// [`save`](crate::save) replaces is neither written to nor made shorter.
pub unsafe fn open_mmap<P: AsRef<Path>>(path: P) -> Result<Bytes> {
    let path = path.as_ref();
    let map = File::open(path).and_then(|file| {
        // SAFETY: the caller promises that the file does not change while it is mapped.
        unsafe { Mmap::map(&file) }
    });
    Ok(Bytes::from_owner(map.map_err(|error| named(&error, path))?))
}
