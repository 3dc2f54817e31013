//! Encoding with options.

use serde::Serialize;

use crate::TensorSerialize;
use crate::backend::Unmodified;
use crate::device::DeviceCopies;
use crate::error::{Error, Result};
use crate::plan::Plan;
use crate::ser::{Options, Serializer, State};
use crate::wire::frame::ALIGN_RANGE;

/// Encoding with options.
///
/// ```
/// use serde_tensor::{Encoder, Tensor};
///
/// let tensor = Tensor::from_elements(&[1.0f32; 8], &[8])?;
/// let message = Encoder::new().inline_limit(0).align(4096).checksums(true).to_vec(&tensor)?;
/// assert_eq!(serde_tensor::from_slice::<Tensor>(&message)?, tensor);
/// # Ok::<(), serde_tensor::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Encoder {
    options: Options,
    /// An alignment that no frame can state, for the call to refuse.
    bad_align: Option<usize>,
    /// Checksums were asked for, or not to be made.
    checksums: Option<bool>,
}

impl Encoder {
    /// The options of [`to_vec`](crate::to_vec): named fields, plain where it can be, segments above 512 bytes aligned to 64, no
    /// checksums, and a warning when a tensor is copied off its device.
    pub fn new() -> Self {
        Self::default()
    }

    /// Structs as arrays in field order, and variants as numbers. Smaller and faster; but reader and writer must then have the
    /// same fields in the same order, and a skipped field is an error where it can be seen, while
    /// `#[serde(skip_serializing)]` on one side alone cannot be.
    pub fn compact(mut self, compact: bool) -> Self {
        self.options.compact = compact;
        self
    }

    /// A frame also where no tensor needs one, so that the message says its own length.
    pub fn framed(mut self, framed: bool) -> Self {
        self.options.framed = framed;
        self
    }

    /// The alignment of segments in bytes: a power of two from 16 to 65536, or the call fails. Default 64.
    pub fn align(mut self, bytes: usize) -> Self {
        let log2 = bytes.is_power_of_two().then(|| bytes.trailing_zeros());
        match log2
            .and_then(|log2| u8::try_from(log2).ok())
            .filter(|log2| ALIGN_RANGE.contains(log2))
        {
            Some(log2) => {
                self.options.align = log2;
                self.bad_align = None;
            }
            None => self.bad_align = Some(bytes),
        }
        self
    }

    /// Tensors of up to this many bytes travel inside the body. Default 512; `usize::MAX` for all.
    pub fn inline_limit(mut self, bytes: usize) -> Self {
        self.options.inline_limit = bytes;
        self
    }

    /// Checksums (CRC-32C) of the header, the body and each segment. Default off, but on in [`save`](Self::save). They exist in
    /// frames alone.
    pub fn checksums(mut self, checksums: bool) -> Self {
        self.options.checksums = checksums;
        self.checksums = Some(checksums);
        self
    }

    /// What happens when a tensor is copied off its device to be encoded. Default: a warning.
    pub fn device_copies(mut self, copies: DeviceCopies) -> Self {
        self.options.device_copies = copies;
        self
    }

    /// A [`Plan`] copies every tensor when it is made, instead of borrowing.
    pub fn snapshot(mut self, snapshot: bool) -> Self {
        self.options.snapshot = snapshot;
        self
    }

    /// Lends the bytes of tensors that others could write to, libtorch's on the CPU, where they would be copied: `to_vec` copies them once and
    /// not twice, and [`Plan::write_to`] not at all. Those that have gaps, or are on a device, are copied as ever.
    ///
    /// The message is the same. [`Plan::write_to_fd`] needs no such promise, and copies nothing either.
    ///
    /// ```
    /// use serde_tensor::{Encoder, Tensor};
    ///
    /// let tensor = Tensor::from_elements(&[1.0f32; 8], &[8])?;
    /// // SAFETY: no other handle to the tensor's memory exists.
    /// let encoder = unsafe { Encoder::new().assume_unmodified() };
    /// assert_eq!(encoder.to_vec(&tensor)?, serde_tensor::to_vec(&tensor)?);
    /// # Ok::<(), serde_tensor::Error>(())
    /// ```
    ///
    /// # Safety
    ///
    /// Of every value that is encoded with this encoder or a clone of it: from the call on until it returns, and for [`plan`](Self::plan) until the
    /// plan is dropped, nobody writes to the memory of the value's tensors, frees it or moves it, or gives one of the tensors other memory, shape or strides: not through
    /// another handle to the same storage, on no thread, in no code that serializing or writing runs (the value's own, a writer's,
    /// a log's), and not on a device on behalf of such code.
    #[expect(unsafe_code, reason = "the caller promises what nothing can check")]
    pub unsafe fn assume_unmodified(mut self) -> Self {
        // SAFETY: the caller's promise is the same.
        self.options.unmodified = Some(unsafe { Unmodified::promised() });
        self
    }

    /// How deep arrays and maps may nest. Default 128, which is also the default of decoding.
    pub fn depth(mut self, depth: usize) -> Self {
        self.options.depth = depth;
        self
    }

    /// Encodes a value.
    ///
    /// # Errors
    ///
    /// `Data` for an error of the value's own, `Backend` for a tensor that cannot travel, `Device` for a copy that is denied, `Limit`
    /// for too deep a value.
    pub fn to_vec<T: ?Sized + Serialize>(&self, value: &T) -> Result<Vec<u8>> {
        self.encode(Vec::new(), value)
    }

    /// Encodes a value into a buffer, whose content is lost and whose memory is used again.
    ///
    /// # Errors
    ///
    /// As [`to_vec`](Self::to_vec); the buffer is then empty.
    pub fn to_vec_into<T: ?Sized + Serialize>(&self, value: &T, out: &mut Vec<u8>) -> Result<()> {
        *out = self.encode(std::mem::take(out), value)?;
        Ok(())
    }

    /// Plans a value: see [`Plan`].
    ///
    /// # Errors
    ///
    /// As [`to_vec`](Self::to_vec).
    pub fn plan<'a, T: ?Sized + TensorSerialize>(&self, value: &'a T) -> Result<Plan<'a>> {
        self.check()?;
        Plan::with_options(value, &self.options)
    }

    /// Plans a value to be kept: with checksums, unless it was said otherwise.
    pub(crate) fn plan_to_keep<'a, T: ?Sized + TensorSerialize>(&self, value: &'a T) -> Result<Plan<'a>> {
        self.check()?;
        let checksums = self.checksums.unwrap_or(true);
        let options = Options {
            checksums,
            // They exist in frames alone.
            framed: self.options.framed || checksums,
            ..self.options.clone()
        };
        Plan::with_options(value, &options)
    }

    /// A serializer with these options.
    ///
    /// # Errors
    ///
    /// If the [alignment](Self::align) is not one that a frame can have.
    pub fn serializer(&self) -> Result<Serializer<'static>> {
        self.check()?;
        Ok(Serializer::over(State::single(self.options.clone(), Vec::new())))
    }

    fn encode<T: ?Sized + Serialize>(&self, out: Vec<u8>, value: &T) -> Result<Vec<u8>> {
        self.check()?;
        State::single(self.options.clone(), out).write(value)?.into_vec()
    }

    fn check(&self) -> Result<()> {
        match self.bad_align {
            None => Ok(()),
            Some(bytes) => Err(Error::data(format!(
                "an alignment of {bytes} bytes is not a power of two from 16 to 65536"
            ))),
        }
    }
}
