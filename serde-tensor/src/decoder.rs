//! Decoding with options.

use std::rc::Rc;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::backend::Memory;
use crate::call::decode::held::Held;
use crate::call::decode::{Options, SharedOptions};
use crate::de::Deserializer;
use crate::device::{Device, OnMissing, Placement, Report};
use crate::error::Result;
use crate::limits::Limits;

/// Decoding with options.
///
/// ```
/// use serde_tensor::{Decoder, Placement, Tensor};
///
/// let bytes = serde_tensor::to_vec(&Tensor::scalar(7u8))?;
/// let (tensor, report) = Decoder::new()
///     .placement(Placement::KeepCpu)
///     .from_slice_with_report::<Tensor>(&bytes)?;
/// assert_eq!(tensor.elements::<u8>()?, [7].as_slice());
/// assert_eq!(report.tensors()[0].bytes(), 1);
/// # Ok::<(), serde_tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Decoder {
    options: SharedOptions,
}

impl Decoder {
    /// The options of [`from_slice`](crate::from_slice).
    pub fn new() -> Self {
        Self {
            options: SharedOptions::default(),
        }
    }

    /// Where this call puts tensors, over what fields, senders and guards say. Default [`Placement::Auto`]: over nothing.
    pub fn placement(self, placement: Placement) -> Self {
        self.with(|options| options.placement = placement)
    }

    /// Puts tensors that any rule would put on `from` on `to`, except those that are to be kept on the CPU. May be
    /// called for several devices; it is applied once, so devices can be swapped.
    pub fn map_device(self, from: Device, to: Device) -> Self {
        self.with(|options| options.device_map.push((from, to)))
    }

    /// What happens when a device is not there. Default [`OnMissing::Fallback`].
    pub fn on_missing(self, on_missing: OnMissing) -> Self {
        self.with(|options| options.on_missing = on_missing)
    }

    /// How much a message may ask. Default [`Limits::new`].
    pub fn limits(self, limits: Limits) -> Self {
        self.with(|options| options.limits = limits)
    }

    /// Gives each tensor memory of its own: it shares neither the message's buffer nor that of another tensor.
    pub fn detach(self, detach: bool) -> Self {
        self.with(|options| options.detach = detach)
    }

    /// Whether tensors that land on a device share one transfer there, and one piece of its memory. Default true.
    ///
    /// The first tensor bound for a device takes with it the segments that the call and the message put there, as far as can be told before
    /// the fields that hold them are known. What a field's attribute then keeps on the CPU was moved for nothing, and takes memory
    /// of the device as long as one of the others lives; `coalesce(false)` moves each tensor by itself. Which tensor types do so is
    /// theirs to say: libtorch's do.
    pub fn coalesce(self, coalesce: bool) -> Self {
        self.with(|options| options.coalesce = coalesce)
    }

    /// Decodes a value from a whole message.
    ///
    /// # Errors
    ///
    /// See [`Category`](crate::Category).
    pub fn from_slice<'de, T: Deserialize<'de>>(&self, bytes: &'de [u8]) -> Result<T> {
        read_value(Deserializer::open(bytes, self.options.clone(), None, false)?)
    }

    /// Decodes a value from a whole message, whose buffer its tensors share.
    ///
    /// # Errors
    ///
    /// See [`Category`](crate::Category).
    #[expect(clippy::needless_pass_by_value, reason = "the tensors keep the buffer")]
    pub fn from_bytes<T: DeserializeOwned>(&self, bytes: Bytes) -> Result<T> {
        read_value(Deserializer::open(
            &bytes,
            self.options.clone(),
            Some(bytes.clone()),
            false,
        )?)
    }

    /// [`from_slice`](Self::from_slice), and what was decided for each tensor.
    ///
    /// # Errors
    ///
    /// See [`Category`](crate::Category).
    pub fn from_slice_with_report<'de, T: Deserialize<'de>>(&self, bytes: &'de [u8]) -> Result<(T, Report)> {
        self.decode(bytes, None, true)
    }

    /// [`from_bytes`](Self::from_bytes), and what was decided for each tensor.
    ///
    /// # Errors
    ///
    /// See [`Category`](crate::Category).
    #[expect(clippy::needless_pass_by_value, reason = "the tensors keep the buffer")]
    pub fn from_bytes_with_report<T: DeserializeOwned>(&self, bytes: Bytes) -> Result<(T, Report)> {
        self.decode(&bytes, Some(bytes.clone()), true)
    }

    /// Decodes a value from a whole message in memory of a tensor library's own, such as `serde_tensor::tch::Arena`:
    /// that library's tensors share the memory, all others are copied out of it.
    ///
    /// Where serde buffers a part of the value (`flatten`, `untagged` and tagged enums), the bytes of its tensors are copied into the buffer, though
    /// the tensors are then made of the memory as all others are.
    ///
    /// # Errors
    ///
    /// See [`Category`](crate::Category).
    pub fn from_memory<T: DeserializeOwned>(&self, memory: impl Memory) -> Result<T> {
        Ok(self.decode_held(Box::new(memory), false)?.0)
    }

    /// [`from_memory`](Self::from_memory), and what was decided for each tensor.
    ///
    /// # Errors
    ///
    /// See [`Category`](crate::Category).
    pub fn from_memory_with_report<T: DeserializeOwned>(&self, memory: impl Memory) -> Result<(T, Report)> {
        self.decode_held(Box::new(memory), true)
    }

    /// Decodes a value from the message at the front of `bytes`, and returns what follows it.
    ///
    /// # Errors
    ///
    /// See [`Category`](crate::Category).
    pub fn take_from_slice<'de, T: Deserialize<'de>>(&self, bytes: &'de [u8]) -> Result<(T, &'de [u8])> {
        let mut deserializer = Deserializer::open(bytes, self.options.clone(), None, false)?;
        let value = T::deserialize(&mut deserializer).map_err(|error| deserializer.locate(error, 0));
        let rest = deserializer.rest();
        deserializer.finish()?;
        Ok((value?, rest?))
    }

    /// A deserializer with these options.
    ///
    /// # Errors
    ///
    /// If the bytes start like a frame and are none.
    pub fn deserializer<'de>(&self, bytes: &'de [u8]) -> Result<Deserializer<'de>> {
        Deserializer::open(bytes, self.options.clone(), None, false)
    }

    pub(crate) fn shared_options(&self) -> SharedOptions {
        self.options.clone()
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    fn decode<'de, T: Deserialize<'de>>(
        &self,
        bytes: &'de [u8],
        owner: Option<Bytes>,
        record: bool,
    ) -> Result<(T, Report)> {
        read(Deserializer::open(bytes, self.options.clone(), owner, record)?)
    }

    fn decode_held<T: DeserializeOwned>(&self, memory: Box<dyn Memory>, record: bool) -> Result<(T, Report)> {
        let held = Rc::new(Held::open(memory, &self.options.limits)?);
        read(Deserializer::held(&held, self.options.clone(), record))
    }

    fn with(mut self, change: impl FnOnce(&mut Options)) -> Self {
        change(self.options.make_mut());
        self
    }
}

/// Reads a whole message, and says what was decided for each tensor.
pub(crate) fn read<'de, T: Deserialize<'de>>(mut deserializer: Deserializer<'de>) -> Result<(T, Report)> {
    let value = T::deserialize(&mut deserializer).map_err(|error| deserializer.locate(error, 0));
    let ended = deserializer.check_end();
    // A tensor's own error comes first: serde may have hidden it and gone on.
    let report = deserializer.finish()?;
    let value = value?;
    ended?;
    Ok((value, report))
}

/// [`read`] without the report. A value may be large, so it stays in the place in which it is returned.
fn read_value<'de, T: Deserialize<'de>>(mut deserializer: Deserializer<'de>) -> Result<T> {
    let mut value = T::deserialize(&mut deserializer);
    if value.is_err() {
        value = value.map_err(|error| deserializer.locate(error, 0));
    }
    if let Err(error) = deserializer.conclude(value.is_ok()) {
        value = Err(error);
    }
    value
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}
