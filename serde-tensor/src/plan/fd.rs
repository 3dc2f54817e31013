//! Writing a plan to a file or socket: the operating system is told where the tensors are.
#![allow(
    unsafe_code,
    reason = "bytes that others may write to meanwhile cannot be lent as the slices that safe functions take"
)]

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};
use std::ptr::NonNull;

use libc::{iovec, pollfd};

use super::segment::{Piece, Segment};
use super::write::BATCH;
use super::{Plan, Source};
use crate::error::{Error, Result};

/// How many bytes are handed over at once: some systems refuse 2 GiB and more.
const MOST: usize = 1 << 30;

impl Plan<'_> {
    /// Writes the message to an open file, pipe or socket. Unix only; elsewhere there is [`write_to`](Self::write_to).
    ///
    /// The operating system is given the addresses of the tensors' bytes. That is what `write_to` does for bytes that can be lent; this does it
    /// also for those that cannot, because others may write to them meanwhile, as libtorch's. If somebody does, the
    /// message has some of the old values and some of the new ones. Bytes on a device are copied to the host piece by piece.
    ///
    /// A descriptor in non-blocking mode is waited for, so this blocks its thread until all is written.
    ///
    /// ```
    /// use std::io::Seek;
    /// use serde_tensor::{Plan, Tensor};
    ///
    /// let tensor = Tensor::from_vec(vec![0.5f32; 1000], &[1000])?;
    /// # let path = std::env::temp_dir().join(format!("serde-tensor-fd-{}", std::process::id()));
    /// # let mut file = std::fs::File::options().read(true).write(true).create_new(true).open(&path)?;
    /// # std::fs::remove_file(&path)?;
    /// Plan::new(&tensor)?.write_to_fd(&file)?;
    /// # file.rewind()?;
    /// # assert_eq!(serde_tensor::from_reader::<_, Tensor>(&file)?, tensor);
    /// # Ok::<(), serde_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `Io` when the descriptor fails or takes nothing, `Backend` when a copy from a device fails or a tensor lost its memory. What was
    /// written until then is a part of a message.
    pub fn write_to_fd(&self, fd: impl AsFd) -> Result<()> {
        self.write_to_kernel(&mut Descriptor(fd.as_fd()))
    }

    /// [`write_to_fd`](Self::write_to_fd) to anything that takes addresses.
    pub(crate) fn write_to_kernel(&self, kernel: &mut dyn Kernel) -> Result<()> {
        let mut batch = Vec::with_capacity(BATCH.min(2 + 2 * self.segments.len()));
        for source in self.sources() {
            match (source.lent(), source) {
                (Some(&[]), _) => {}
                (Some(bytes), _) => batch.push(Part::Lent(bytes)),
                (None, Source::Piece(piece, segment)) if piece.address().is_some() => {
                    batch.push(Part::InPlace(piece, segment));
                }
                (None, _) => {
                    self.write_parts(kernel, &batch)?;
                    batch.clear();
                    self.read(source, &mut |bytes| self.write_parts(kernel, &[Part::Lent(bytes)]))?;
                }
            }
            if batch.len() == BATCH {
                self.write_parts(kernel, &batch)?;
                batch.clear();
            }
        }
        self.write_parts(kernel, &batch)
    }

    fn write_parts(&self, kernel: &mut dyn Kernel, parts: &[Part<'_, '_>]) -> Result<()> {
        let mut vectors = Vec::with_capacity(parts.len());
        let mut parts = parts;
        // Of the first part.
        let mut done = 0;
        while let Some(first) = parts.first() {
            let len = first.len();
            if done >= len {
                parts = &parts[1..];
                done -= len;
                continue;
            }
            self.find(parts, done, &mut vectors)?;
            // SAFETY: the vectors were made just now and no code of another crate ran since. Those of lent bytes are a part of a
            // slice that is borrowed for as long as this call; those of other bytes are in a range that the backend's
            // `address` gave in `find`, behind which only others of these were called: `HostBytes::addressed` has its
            // promise that the range may be read until then.
            match unsafe { kernel.write(&vectors) } {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero).into()),
                Ok(written) => done += written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => kernel.wait()?,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Where the parts are now, without the first `done` bytes of the first.
    fn find(&self, parts: &[Part<'_, '_>], mut done: usize, vectors: &mut Vec<iovec>) -> Result<()> {
        vectors.clear();
        let mut room = MOST;
        for part in parts {
            let range = match part {
                Part::Lent(bytes) => NonNull::from(*bytes),
                Part::InPlace(piece, segment) => piece.address().ok_or_else(|| {
                    let error = Error::backend("a tensor lost its memory while it was being sent");
                    self.name_field(error, segment)
                })?,
            };
            let len = (range.len() - done).min(room);
            // Inside of a range of memory, which does not wrap.
            let start = range.cast().map_addr(|first| first.saturating_add(done));
            vectors.push(iovec {
                iov_base: start.as_ptr(),
                iov_len: len,
            });
            done = 0;
            room -= len;
            if room == 0 {
                break;
            }
        }
        Ok(())
    }
}

/// Bytes that wait to be written together with others.
enum Part<'p, 'a> {
    Lent(&'p [u8]),
    /// Found anew each time they are written.
    InPlace(&'p Piece<'a>, &'p Segment<'a>),
}

impl Part<'_, '_> {
    fn len(&self) -> usize {
        match self {
            Self::Lent(bytes) => bytes.len(),
            Self::InPlace(piece, _) => piece.len(),
        }
    }
}

/// What takes bytes by their address.
pub(crate) trait Kernel {
    /// Takes some bytes, from the first on; returns how many.
    ///
    /// # Safety
    ///
    /// All of the bytes are memory of this process that may be read until the call returns. Others may write to it meanwhile.
    unsafe fn write(&mut self, vectors: &[iovec]) -> io::Result<usize>;

    /// Waits until it takes more.
    fn wait(&mut self) -> io::Result<()>;
}

struct Descriptor<'f>(BorrowedFd<'f>);

impl Kernel for Descriptor<'_> {
    unsafe fn write(&mut self, vectors: &[iovec]) -> io::Result<usize> {
        let count = libc::c_int::try_from(vectors.len()).unwrap_or(libc::c_int::MAX);
        // SAFETY: the descriptor is open while it is borrowed. The array has at least `count` elements, and the memory that they
        // show may be read, as the caller promises; writev(2) writes to none of it.
        let written = unsafe { libc::writev(self.0.as_raw_fd(), vectors.as_ptr(), count) };
        usize::try_from(written).map_err(|_| io::Error::last_os_error())
    }

    fn wait(&mut self) -> io::Result<()> {
        let mut entry = pollfd {
            fd: self.0.as_raw_fd(),
            events: libc::POLLOUT,
            revents: 0,
        };
        // SAFETY: poll(2) is given one entry, which lives here and is written to by nobody else, and its number.
        if unsafe { libc::poll(&raw mut entry, 1, -1) } >= 0 {
            return Ok(());
        }
        match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            error => Err(error),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::{Cell, RefCell};
    use std::collections::VecDeque;
    use std::slice;

    use super::*;
    use crate::backend::{Description, HostBytes, Import, Imported, TensorBackend};
    use crate::{Category, DType, Encoder, Tensor};

    /// Takes some bytes at a time, and keeps them with the addresses they came from.
    pub(crate) struct Recorder {
        pub(crate) message: Vec<u8>,
        pub(crate) ranges: Vec<(usize, usize)>,
        /// How many it takes at once.
        each: usize,
        /// What it says before it takes any.
        trouble: VecDeque<io::ErrorKind>,
        waited: usize,
    }

    impl Recorder {
        pub(crate) fn new(each: usize) -> Self {
            Self {
                message: Vec::new(),
                ranges: Vec::new(),
                each,
                trouble: VecDeque::new(),
                waited: 0,
            }
        }

        /// Whether bytes were taken from where they are.
        #[track_caller]
        pub(crate) fn assert_took(&self, address: usize, len: usize) {
            assert!(
                self.ranges.contains(&(address, len)),
                "{address:#x} + {len} is not in {:x?}",
                self.ranges
            );
        }
    }

    impl Kernel for Recorder {
        unsafe fn write(&mut self, vectors: &[iovec]) -> io::Result<usize> {
            if let Some(kind) = self.trouble.pop_front() {
                return Err(kind.into());
            }
            assert!(vectors.len() <= BATCH);
            let mut taken = 0;
            for vector in vectors {
                let len = vector.iov_len.min(self.each - taken);
                if len == 0 {
                    break;
                }
                self.ranges.push((vector.iov_base.addr(), vector.iov_len));
                // SAFETY: the caller's promise; and no test writes to a tensor meanwhile.
                let bytes = unsafe { slice::from_raw_parts(vector.iov_base.cast::<u8>(), len) };
                self.message.extend_from_slice(bytes);
                taken += len;
            }
            Ok(taken)
        }

        fn wait(&mut self) -> io::Result<()> {
            self.waited += 1;
            Ok(())
        }
    }

    fn written(plan: &Plan<'_>) -> Vec<u8> {
        let mut message = Vec::new();
        plan.write_to(&mut message).unwrap();
        message
    }

    fn ramp(len: usize) -> Tensor {
        let bytes: Vec<u8> = (0..251).cycle().take(len).collect();
        Tensor::from_bytes(DType::U8, &[len], bytes).unwrap()
    }

    /// Bytes that may be written to, and that move each time they are asked for.
    struct Moving {
        bytes: RefCell<Vec<u8>>,
        /// How often it still says where they are.
        said: Cell<usize>,
    }

    impl Moving {
        fn new(len: usize, said: usize) -> Self {
            Self {
                bytes: RefCell::new(ramp(len).bytes().to_vec()),
                said: Cell::new(said),
            }
        }
    }

    impl TensorBackend for Moving {
        fn describe(&self) -> Result<Description<'_>> {
            Ok(Description::new(DType::U8, &[self.bytes.borrow().len()]))
        }

        fn host_bytes(&self) -> Result<HostBytes<'_>> {
            let copy = |sink: &mut dyn FnMut(&[u8]) -> Result<()>| sink(&self.bytes.borrow());
            let address = || {
                self.said.set(self.said.get().checked_sub(1)?);
                let moved = self.bytes.borrow().clone();
                let mut bytes = self.bytes.borrow_mut();
                *bytes = moved;
                Some(NonNull::from(bytes.as_slice()))
            };
            // SAFETY: the bytes move only when this tensor is asked for its address, and copied only in the tests.
            Ok(unsafe { HostBytes::addressed(copy, address) })
        }

        fn import(import: Import<'_>) -> Result<Imported<Self>> {
            let bytes = RefCell::new(import.bytes().to_vec());
            let said = Cell::new(0);
            Ok(Imported::copied(Self { bytes, said }))
        }
    }

    crate::impl_tensor!(Moving);

    #[test]
    fn the_addresses_of_host_tensors_go_to_the_kernel() {
        let (first, second, bulk) = (ramp(10_000), ramp(700), vec![0.5f32; 1000]);
        let part = Tensor::from_bytes(DType::U8, &[9000], first.shared_bytes().slice(500..9500)).unwrap();
        let value = [first, second, part];
        let plan = Plan::new(&value).unwrap();
        let mut kernel = Recorder::new(usize::MAX);
        plan.write_to_kernel(&mut kernel).unwrap();
        kernel.assert_took(value[0].bytes().as_ptr().addr(), 10_000);
        kernel.assert_took(value[1].bytes().as_ptr().addr(), 700);
        assert_eq!(crate::from_slice::<[Tensor; 3]>(&kernel.message).unwrap(), value);

        let plan = Plan::new(&bulk).unwrap();
        let mut kernel = Recorder::new(usize::MAX);
        plan.write_to_kernel(&mut kernel).unwrap();
        kernel.assert_took(bulk.as_ptr().addr(), 4000);
    }

    #[test]
    fn bytes_that_cannot_be_lent_are_found_anew_each_time_and_go_to_the_kernel_too() {
        for each in [1000, 4096, usize::MAX] {
            let value = [Moving::new(10_000, usize::MAX), Moving::new(600, usize::MAX)];
            let plan = Plan::new(&value).unwrap();
            let mut kernel = Recorder::new(each);
            kernel.trouble = [io::ErrorKind::Interrupted, io::ErrorKind::WouldBlock].into();
            plan.write_to_kernel(&mut kernel).unwrap();
            assert_eq!(kernel.waited, 1);
            assert!(kernel.message == written(&plan), "{each} bytes at a time");
            if each == usize::MAX {
                kernel.assert_took(value[1].bytes.borrow().as_ptr().addr(), 600);
            }
        }
    }

    #[test]
    fn bytes_without_an_address_are_copied_and_those_that_lose_it_are_an_error() {
        let copied = [Moving::new(10_000, 0)];
        let plan = Plan::new(&copied).unwrap();
        let mut kernel = Recorder::new(4096);
        plan.write_to_kernel(&mut kernel).unwrap();
        assert!(kernel.message == written(&plan));

        let lost = [Moving::new(10_000, 2)];
        let plan = Plan::new(&lost).unwrap();
        let error = plan.write_to_kernel(&mut Recorder::new(4096)).unwrap_err();
        assert_eq!((error.category(), error.path()), (Category::Backend, Some("[0]")));
    }

    #[test]
    fn kernels_of_any_patience_get_the_whole_message() {
        // More parts than are handed over at once, with gaps between them.
        let value: Vec<Tensor> = (0..300).map(|n| ramp(600 + n)).collect();
        let plan = Encoder::new().align(8192).plan(&value).unwrap();
        for each in [97, 4097, 1 << 20] {
            let mut kernel = Recorder::new(each);
            plan.write_to_kernel(&mut kernel).unwrap();
            assert_eq!(crate::from_slice::<Vec<Tensor>>(&kernel.message).unwrap(), value);
        }
        let error = plan.write_to_kernel(&mut Recorder::new(0)).unwrap_err();
        assert_eq!(io::Error::from(error).kind(), io::ErrorKind::WriteZero);
        let mut kernel = Recorder::new(100);
        kernel.trouble = [io::ErrorKind::BrokenPipe].into();
        let error = plan.write_to_kernel(&mut kernel).unwrap_err();
        assert_eq!(io::Error::from(error).kind(), io::ErrorKind::BrokenPipe);
    }
}
