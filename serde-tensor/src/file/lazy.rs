//! A tensor whose data is read when it is asked for.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::backend::{Description, DevicesOf, HostBytes, KeepAlive, Storage, TensorBackend};
use crate::call::decode::held::{Held, Spot};
use crate::call::decode::{Check, Context, DeferredPlace, Remembered, addresses, context, ended, take_deferred};
use crate::device::{Device, Pin};
use crate::error::{Error, Result};
use crate::leaf::{self, LATER_TOKEN, Raw, RawVisitor, TensorVisitor};
use crate::tensor::{DType, MAX_ALIGN, Shape};
use crate::wire::descriptor::Descriptor;
use crate::wire::store::Store;
use crate::wire::to_u64;
use crate::{Presence, TensorDeserialize, TensorSerialize};

/// How many bytes are read at once when a tensor that was not read is written.
const PIECE: usize = 128 * 1024;

/// A tensor whose data is read when it is asked for; its dtype, shape and length are known before.
///
/// | decoded from | the data |
/// |---|---|
/// | [`MessageFile`](crate::MessageFile) | stays in the file |
/// | [`from_bytes`](crate::from_bytes), [`from_reader`](crate::from_reader), a mapped file | stays in the shared buffer |
/// | [`from_slice`](crate::from_slice), another format | is copied |
///
/// A small tensor, which travels inside the body, is always at hand; and inside of a part that serde buffers (`untagged`, internally tagged,
/// `flatten`ed) the data is read from the file with the value. Asking makes the tensor as decoding would have: its
/// checksum is compared, and it lands where the field, the sender and the call of that time say, under the guards of the thread that asks.
/// Tensors that overlap in the message have memory of their own when they are read so.
///
/// It is written like the tensor. One that was not read is then copied from the file in pieces, so a large file can be rewritten
/// with little memory; its checksum is compared before.
pub struct Lazy<T> {
    descriptor: Descriptor,
    /// The length of its data in bytes.
    len: usize,
    data: Data,
    remembered: Remembered,
    tensor: OnceLock<T>,
}

enum Data {
    /// In the tensor, which is there.
    Tensor,
    /// At hand, and a part of a segment that has yet to be held against its checksum.
    Memory {
        bytes: Bytes,
        check: Option<(Bytes, Arc<Check>)>,
    },
    /// At an offset of a segment elsewhere.
    Store {
        store: Arc<dyn Store>,
        index: u64,
        offset: usize,
    },
}

impl<T: TensorBackend> Lazy<T> {
    /// A tensor that is there already, to be written.
    ///
    /// # Errors
    ///
    /// If the tensor cannot be described.
    pub fn new(tensor: T) -> Result<Self> {
        let description = tensor.describe()?;
        Ok(Self {
            len: description.data_len()?,
            descriptor: Descriptor {
                dtype: description.dtype(),
                requires_grad: description.requires_grad,
                pin: Pin::None,
                device: description.device,
                shape: Shape::from_slice(&description.shape),
                strides: description.strides.clone(),
            },
            data: Data::Tensor,
            remembered: Remembered::default(),
            tensor: OnceLock::from(tensor),
        })
    }

    /// The tensor, read when this is first called and then kept.
    ///
    /// # Errors
    ///
    /// What decoding the tensor would give; `Io` when the file was changed after it was opened, `Eof` when it was cut off. A later call tries
    /// again.
    pub fn get(&self) -> Result<&T> {
        match self.tensor.get() {
            Some(tensor) => Ok(tensor),
            None => {
                let tensor = self.load()?;
                Ok(self.tensor.get_or_init(|| tensor))
            }
        }
    }

    /// The tensor, read anew and not kept here.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    pub fn load(&self) -> Result<T> {
        let bytes = self.read().map_err(|error| self.remembered.name(error))?;
        let descriptor = self.descriptor.clone();
        self.remembered.call(&bytes, |context| {
            let raw = Raw::of(descriptor, Cow::Borrowed(&bytes));
            leaf::place_in(context, raw, &DevicesOf::<T>::new(), T::import)
        })
    }

    /// The tensor, read if it was not before.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    pub fn into_inner(mut self) -> Result<T> {
        match self.tensor.take() {
            Some(tensor) => Ok(tensor),
            None => self.load(),
        }
    }

    /// The data, held against its checksum.
    fn read(&self) -> Result<Bytes> {
        match &self.data {
            Data::Memory { bytes, check } => {
                check.iter().try_for_each(|(segment, check)| check.run(segment))?;
                Ok(bytes.clone())
            }
            Data::Store { store, index, offset } => store.part(*index, *offset, self.len),
            Data::Tensor => match self.tensor.get() {
                Some(tensor) => Ok(tensor.host_bytes()?.to_contiguous(self.len)?.into_owned().into()),
                None => Err(Error::data("a tensor that was taken out")),
            },
        }
    }
}

impl<T> Lazy<T> {
    /// The element type.
    pub fn dtype(&self) -> DType {
        self.descriptor.dtype
    }

    /// The dims; empty for a scalar.
    pub fn shape(&self) -> &[usize] {
        &self.descriptor.shape
    }

    /// The strides in elements, where the data is not row-major.
    pub fn strides(&self) -> Option<&[usize]> {
        self.descriptor.strides.as_deref()
    }

    /// The device that the tensor was on when it was written.
    pub fn device(&self) -> Device {
        self.descriptor.device
    }

    /// Whether a gradient is to be accumulated for it.
    pub fn requires_grad(&self) -> bool {
        self.descriptor.requires_grad
    }

    /// The length of its data in bytes.
    pub fn bytes(&self) -> usize {
        self.len
    }

    /// Whether the tensor is there.
    pub fn is_loaded(&self) -> bool {
        self.tensor.get().is_some()
    }

    fn of(raw: Raw<'_>) -> Result<Self> {
        let at = raw.fields.map(|fields| addresses(fields).start);
        let deferred = take_deferred(at);
        let context = context(at).ok_or_else(ended)?;
        let descriptor = raw.descriptor(context.max_rank)?;
        let len = descriptor.data_len()?;
        let data = match deferred.map(|deferred| deferred.place) {
            Some(DeferredPlace::Store(store, index, offset)) => Data::Store { store, index, offset },
            Some(DeferredPlace::Memory(check)) => Data::in_memory(&context, raw, Some(check))?,
            None => match &raw.spot {
                Some(spot) => Data::in_library(&context, spot, len)?,
                None => Data::in_memory(&context, raw, None)?,
            },
        };
        if let Data::Memory { bytes, .. } = &data
            && bytes.len() != len
        {
            let found = bytes.len();
            return Err(Error::data(format!(
                "a tensor's dtype, shape and strides ask for {len} bytes, its data has {found}"
            )));
        }
        Ok(Self {
            descriptor,
            len,
            data,
            remembered: Remembered::of(at),
            tensor: OnceLock::new(),
        })
    }
}

impl Data {
    /// A copy of data in memory of a tensor library's own, which nobody may borrow.
    fn in_library(context: &Context, spot: &Spot, len: usize) -> Result<Self> {
        let held = context.held().ok_or_else(|| Error::data("the message is gone"))?;
        let part = Held::range(spot, len)?;
        let bytes = context.copy_held(&held, part, spot.segment.clone())?;
        Ok(Self::Memory { bytes, check: None })
    }

    /// Data that was read, shared with the message where it can be.
    fn in_memory(context: &Context, raw: Raw<'_>, check: Option<Arc<Check>>) -> Result<Self> {
        let data = match raw.data {
            Cow::Borrowed(data) => data,
            Cow::Owned(data) => {
                let bytes = Bytes::from(data);
                return Ok(Self::Memory { bytes, check: None });
            }
        };
        let whole = raw.segment.unwrap_or(data);
        let start = addresses(data).start - addresses(whole).start;
        if let Some(segment) = context.share(whole) {
            let bytes = segment.slice(start..start + data.len());
            let check = check.map(|check| (segment, check));
            return Ok(Self::Memory { bytes, check });
        }
        check.iter().try_for_each(|check| check.run(whole))?;
        let bytes = context.copy(data, raw.segment, MAX_ALIGN)?;
        Ok(Self::Memory { bytes, check: None })
    }
}

/// The data of one that was not read.
impl<T> leaf::Source for Lazy<T> {
    fn describe(&self) -> Result<Description<'_>> {
        let descriptor = &self.descriptor;
        let mut description = Description::borrowed(descriptor.dtype, &descriptor.shape)
            .device(descriptor.device)
            .requires_grad(descriptor.requires_grad);
        description.strides.clone_from(&descriptor.strides);
        description.on_host = true;
        description.storage = match &self.data {
            Data::Tensor => None,
            Data::Memory { bytes, .. } => Some(Storage {
                space: 0,
                address: to_u64(addresses(bytes).start),
            }),
            // The file's own space: no other is at this address while it is open.
            Data::Store { store, index, offset } => Some(Storage {
                space: to_u64(Arc::as_ptr(store).addr()),
                address: store.entry(*index)?.offset + to_u64(*offset),
            }),
        };
        Ok(description)
    }

    fn host_bytes(&self) -> Result<HostBytes<'_>> {
        match &self.data {
            Data::Tensor => Err(Error::data("a tensor that was taken out")),
            Data::Memory { bytes, check } => {
                check.iter().try_for_each(|(segment, check)| check.run(segment))?;
                Ok(HostBytes::shared(bytes))
            }
            Data::Store { store, index, offset } => Ok(HostBytes::copied(move |sink| {
                store.check(*index)?;
                let mut piece = vec![0; PIECE.min(self.len)];
                for start in (0..self.len).step_by(PIECE) {
                    let piece = &mut piece[..PIECE.min(self.len - start)];
                    store.copy(*index, *offset + start, piece)?;
                    sink(piece)?;
                }
                Ok(())
            })),
        }
    }

    fn keep_alive(&self) -> Option<Box<dyn KeepAlive>> {
        match &self.data {
            Data::Tensor => None,
            Data::Memory { bytes, .. } => Some(Box::new(bytes.clone())),
            Data::Store { store, .. } => Some(Box::new(Arc::clone(store))),
        }
    }
}

impl<T: TensorBackend> Serialize for Lazy<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.tensor.get() {
            Some(tensor) => leaf::serialize(tensor, serializer),
            None => leaf::serialize_source(self, serializer),
        }
    }
}

impl<T: TensorBackend> TensorSerialize for Lazy<T> {
    const PRESENCE: Presence = Presence::Always;

    fn contains_tensor(&self) -> bool {
        true
    }

    fn serialize_tensors<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.serialize(serializer)
    }

    fn visit_tensors<'a>(&'a self, visitor: &mut TensorVisitor<'a, '_>) -> Result<()> {
        match self.tensor.get() {
            Some(tensor) => visitor.leaf(tensor),
            None => visitor.source(self),
        }
    }
}

impl<'de, T: TensorBackend> Deserialize<'de> for Lazy<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = deserializer.deserialize_newtype_struct(LATER_TOKEN, RawVisitor)?;
        let at = raw.fields.map(|fields| addresses(fields).start);
        Self::of(raw).map_err(|error| match context(at) {
            Some(context) => context.fail(error),
            None => D::Error::custom(error),
        })
    }
}

impl<'de, T: TensorBackend> TensorDeserialize<'de> for Lazy<T> {
    fn deserialize_tensors<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}

impl<T> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.data {
            _ if self.is_loaded() => "loaded",
            Data::Memory { .. } => "in memory",
            Data::Tensor | Data::Store { .. } => "not read",
        };
        write!(f, "Lazy({}{:?}, {state})", self.dtype(), self.shape())
    }
}
