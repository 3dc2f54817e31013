//! Files mapped into memory by libtorch.
#![allow(
    unsafe_code,
    reason = "whoever maps a file has to promise that nobody truncates or writes it meanwhile"
)]

use std::fs::File;

use super::Arena;
use crate::Result;

impl Arena {
    /// Maps a file that is one whole message, privately: nothing is read before it is touched, and what is written to a tensor made
    /// of it stays in this process.
    ///
    /// The file's position does not matter and is not moved. On systems other than Linux the file is read instead.
    ///
    /// Such tensors cannot be given more memory: libtorch's `resize_` to more fails, and leaves the tensor with sizes that it has no memory for.
    /// This crate refuses to send one; libtorch reads it all the same, and what lies behind its memory.
    ///
    /// ```no_run
    /// use serde_tensor::Decoder;
    /// use serde_tensor::tch::{Arena, StateDict};
    ///
    /// let file = std::fs::File::open("weights.stn")?;
    /// // SAFETY: the file is written once, and replaced by renaming, never changed in place.
    /// let arena = unsafe { Arena::map(&file)? };
    /// let weights: StateDict = Decoder::new().from_memory(arena)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Safety
    ///
    /// As long as the arena or a tensor made of it lives, nobody may truncate the file: the process would be ended by SIGBUS when it touches what is
    /// no longer there. Nor may anybody write to it: tensors would change under the hands of code that was told that they do not, and what was checked
    /// of them would no longer hold.
    ///
    /// # Errors
    ///
    /// `Io` where the file's length cannot be asked, `Eof` for an empty one, `Backend` where libtorch cannot map it: it is no
    /// file, or not one that can be read.
    pub unsafe fn map(file: &File) -> Result<Self> {
        map(file)
    }
}

#[cfg(target_os = "linux")]
fn map(file: &File) -> Result<Arena> {
    use std::os::fd::AsRawFd;

    use ::tch::{Device, Kind, Tensor};

    use super::{fault, signed};
    use crate::Error;

    let len =
        usize::try_from(file.metadata()?.len()).map_err(|_| Error::limit("a file that exceeds the address space"))?;
    if len == 0 {
        return Err(Error::eof("the message is empty").at(0));
    }
    // By its descriptor, so that it is this file whatever its name means by now. Not shared: libtorch would lengthen it.
    let name = format!("/proc/self/fd/{}", file.as_raw_fd());
    let memory = Tensor::f_from_file(&name, false, signed(len)?, (Kind::Uint8, Device::Cpu));
    let memory = memory.map_err(|error| fault("libtorch cannot map the file", error))?;
    Ok(Arena::over(memory, len))
}

#[cfg(not(target_os = "linux"))]
fn map(mut file: &File) -> Result<Arena> {
    use std::io::{Seek, SeekFrom};

    let position = file.stream_position()?;
    file.seek(SeekFrom::Start(0))?;
    let arena = Arena::read(file);
    file.seek(SeekFrom::Start(position))?;
    arena
}
