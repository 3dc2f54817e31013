//! What a tensor is made from.

use std::any::Any;
use std::borrow::Cow;
use std::ops::Range;
use std::rc::Rc;

use bytes::Bytes;

use super::{DevicesOf, Memory, TensorBackend};
use crate::call::decode::held::Held;
use crate::call::decode::{Context, addresses};
use crate::device::{Device, Pin, Request, Rule, Transfer, decide};
use crate::error::{Error, Result};
use crate::tensor::{self, DType, Element};
use crate::wire::descriptor::{self, Descriptor, Place};
use crate::wire::frame::Frame;
use crate::wire::tensors;

/// A tensor that arrived: its description, the device it is to land on, and its bytes.
///
/// The bytes are as many as the description asks for, and a bool's are 0 or 1: both were checked.
pub struct Import<'de> {
    pub(crate) descriptor: Descriptor,
    pub(crate) data: Data<'de>,
    /// The segment of a frame that the data is a part of, and the frame, where they are known.
    pub(crate) segment: Option<&'de [u8]>,
    pub(crate) frame: Option<&'de [u8]>,
    /// The description's bytes, where they are a part of the message.
    pub(crate) fields: Option<&'de [u8]>,
    pub(crate) device: Device,
    pub(crate) rule: Rule,
    pub(crate) context: Context,
}

/// A tensor's bytes.
pub(crate) enum Data<'de> {
    /// As they came.
    Message(Cow<'de, [u8]>),
    /// A copy of bytes in a library's memory, which tensors of the same segment share.
    Copied(Bytes),
    /// In memory that the tensor's library knows: their place in the message, and that of their segment.
    Held {
        held: Rc<Held>,
        part: Range<usize>,
        segment: Range<usize>,
    },
}

/// A segment of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'de> {
    start: usize,
    len: usize,
    bytes: Option<&'de [u8]>,
}

impl<'de> Segment<'de> {
    /// Where it begins in the message, in bytes. No two segments begin in one place unless one is empty.
    pub fn start(&self) -> usize {
        self.start
    }

    /// Its length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Its bytes; `None` where they are in [memory](Import::memory) of a library's own.
    pub fn bytes(&self) -> Option<&'de [u8]> {
        self.bytes
    }
}

/// A tensor, and how its bytes got there.
pub struct Imported<T> {
    pub(crate) tensor: T,
    pub(crate) transfer: Transfer,
}

impl<T> Imported<T> {
    /// A tensor and how its bytes got there.
    #[inline]
    pub fn new(tensor: T, transfer: Transfer) -> Self {
        Self { tensor, transfer }
    }

    /// A tensor with a copy of the bytes in memory of its own.
    pub fn copied(tensor: T) -> Self {
        Self::new(tensor, Transfer::Copied)
    }
}

impl<'de> Import<'de> {
    /// The element type.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.descriptor.dtype
    }

    /// The dims; none for a scalar.
    #[inline]
    pub fn shape(&self) -> &[usize] {
        &self.descriptor.shape
    }

    /// The strides in elements, where the bytes are not row-major.
    #[inline]
    pub fn strides(&self) -> Option<&[usize]> {
        self.descriptor.strides.as_deref()
    }

    /// The device that the tensor is to be made on. It is there, or it is the CPU.
    pub fn device(&self) -> Device {
        self.device
    }

    /// The device that the message recorded.
    pub fn recorded(&self) -> Device {
        self.descriptor.device
    }

    /// Whether a gradient is to be accumulated for it.
    pub fn requires_grad(&self) -> bool {
        self.descriptor.requires_grad
    }

    /// The bytes as they arrived, at any address. Empty where they are in [memory](Self::memory) that the type [shares](TensorBackend::shares).
    pub fn bytes(&self) -> &[u8] {
        match &self.data {
            Data::Message(data) => data,
            Data::Copied(copy) => copy,
            Data::Held { .. } => &[],
        }
    }

    /// How many bytes there are, wherever they are.
    #[expect(clippy::len_without_is_empty, reason = "of a tensor it is `shape` that says so")]
    pub fn len(&self) -> usize {
        match &self.data {
            Data::Held { part, .. } => part.len(),
            Data::Message(_) | Data::Copied(_) => self.bytes().len(),
        }
    }

    /// The message's memory, of a type that the tensor type said it [shares](TensorBackend::shares), and the offset in bytes of the
    /// tensor's first byte in it. `None` where the message is elsewhere, and for inline tensors.
    pub fn memory<M: Memory>(&self) -> Option<(&M, usize)> {
        match &self.data {
            Data::Held { held, part, .. } => {
                let memory: &dyn Any = held.memory();
                Some((memory.downcast_ref()?, part.start))
            }
            Data::Message(_) | Data::Copied(_) => None,
        }
    }

    /// The bytes in row-major order: as they arrived, or compacted where they are strided.
    pub fn row_major(&self) -> Result<Cow<'_, [u8]>> {
        match self.strides() {
            None => Ok(Cow::Borrowed(self.bytes())),
            Some(_) => {
                self.charge()?;
                self.compacted()
            }
        }
    }

    /// The bytes as elements, in row-major order; another dtype is an error that names both.
    pub fn to_vec<E: Element>(&self) -> Result<Vec<E>> {
        if self.dtype() != E::DTYPE {
            return Err(wrong_dtype::<E>(self.dtype()));
        }
        self.charge()?;
        tensor::elements_to_vec(&self.compacted()?)
    }

    /// The bytes, in row-major order, in memory that may be kept: the message's own buffer where the call shares it and they
    /// lie there at a multiple of `align` bytes (at most 16), else a copy that is.
    ///
    /// Tensors that name the same or overlapping bytes of a message get the same or overlapping memory (a segment is copied
    /// once, and whole), unless [`Decoder::detach`](crate::Decoder::detach) is on.
    pub fn to_bytes(&self, align: usize) -> Result<(Bytes, Transfer)> {
        if self.strides().is_some() {
            let compact = self.row_major()?.into_owned();
            return Ok((tensor::aligned(compact, align), Transfer::Copied));
        }
        let data = match &self.data {
            Data::Message(Cow::Borrowed(data)) => *data,
            Data::Copied(copy) if copy.as_ptr().addr().is_multiple_of(align) => {
                return Ok((copy.clone(), Transfer::Copied));
            }
            Data::Copied(_) => {
                self.charge()?;
                return Ok((tensor::aligned_copy(self.bytes(), align), Transfer::Copied));
            }
            Data::Message(_) | Data::Held { .. } => {
                return Ok((tensor::aligned_copy(self.bytes(), align), Transfer::Copied));
            }
        };
        if tensor::is_aligned(data, align)
            && let Some(shared) = self.context.share(data)
        {
            return Ok((shared, Transfer::Shared));
        }
        let copy = self.context.copy(data, self.segment, align)?;
        Ok((copy, Transfer::Copied))
    }

    /// The segment of the message that the bytes are a part of, and where in it they begin.
    ///
    /// Tensors that name one segment share memory where their bytes overlap: a type that can do that copies a segment once, and
    /// makes its tensors views of the copy. `None` where a tensor is to have memory of its own: its bytes are inline or come
    /// from another format, no other tensor of the message names its segment, or the call [detaches](crate::Decoder::detach).
    pub fn segment(&self) -> Option<(Segment<'de>, usize)> {
        if self.context.detaches() || !self.is_shared() {
            return None;
        }
        self.whole_segment()
    }

    /// The segment that the bytes are a part of, and where in it they begin, whether other tensors name it or not.
    ///
    /// `None` where they are inline or come from another format.
    pub fn place(&self) -> Option<(Segment<'de>, usize)> {
        self.whole_segment()
    }

    /// Whether the tensor is to have memory of its own: the call [detaches](crate::Decoder::detach).
    pub fn is_detached(&self) -> bool {
        self.context.detaches()
    }

    /// The segments that share this tensor's transfer to its device, in order, this tensor's among them; none where it is to move by
    /// itself: it is inline or comes from another format, or the call [detaches](crate::Decoder::detach) or does not
    /// [coalesce](crate::Decoder::coalesce).
    ///
    /// They are those of tensors that the rules put on the device, as far as that is known before their fields are: if it was a field's
    /// attribute that put this one there, those that the sender did not pin to the CPU; and if the sender pinned this one too, it alone.
    pub fn transfer<T: TensorBackend>(&self) -> Vec<Segment<'de>> {
        if self.context.detaches() || !self.context.coalesces() {
            return Vec::new();
        }
        let Some((own, _)) = self.whole_segment() else {
            return Vec::new();
        };
        // The sender's pin keeps the others of its kind on the CPU, so there is nothing to look for.
        if self.rule == Rule::Field && self.descriptor.pin == Pin::KeepCpu {
            return vec![own];
        }
        let segments = self.bound::<T>();
        if segments.contains(&own) { segments } else { vec![own] }
    }

    /// Uses what a tensor type keeps for as long as one decoding call lasts, such as its copies of [segments](Self::segment);
    /// it starts as the default. `None` under another format, where there is no call.
    pub fn with_state<S: Default + 'static, R>(&self, use_it: impl FnOnce(&mut S) -> R) -> Option<R> {
        self.context.with_state(use_it)
    }

    /// Accounts for a copy of `len` bytes that a tensor type makes of [`bytes`](Self::bytes) itself; the other functions here
    /// do so for theirs. Many tensors may name the same bytes, and [`Limits::copies`](crate::Limits::copies) bounds what they take
    /// together.
    pub fn account(&self, len: usize) -> Result<()> {
        match self.data {
            Data::Message(Cow::Borrowed(data)) => self.context.charge(data, len),
            Data::Message(Cow::Owned(_)) => Ok(()),
            Data::Copied(_) | Data::Held { .. } => self.context.charge_segment(len),
        }
    }

    /// Whether another tensor of the message may name the same segment.
    fn is_shared(&self) -> bool {
        let (Some((body, segments)), Some(fields)) = (self.body(), self.fields) else {
            return true;
        };
        match place(body, fields) {
            Some((index, _)) => self.context.is_named_again(index, body, segments),
            None => true,
        }
    }

    /// The segments that tensors are in which the rules put on this one's device.
    fn bound<T: TensorBackend>(&self) -> Vec<Segment<'de>> {
        let Some((body, segments)) = self.body() else {
            return Vec::new();
        };
        let devices = DevicesOf::<T>::new();
        let goes_along = |fields: &[u8]| {
            let descriptor = Descriptor::read(&mut &*fields, self.context.max_rank)?;
            if self.rule == Rule::Field {
                return Ok(descriptor.pin != Pin::KeepCpu);
            }
            let request = Request {
                recorded: descriptor.device,
                pin: descriptor.pin,
                field: crate::device::FieldDevice::Auto,
                placement: self.context.placement,
                device_map: self.context.device_map(),
                on_missing: self.context.on_missing,
            };
            decide(&request, &devices).map(|decision| decision.device == self.device)
        };
        let mut bound = vec![false; segments];
        // What comes before an error is decoded, and must not be looked for again with each tensor.
        let _seen = tensors::each(body, |fields, place| {
            // What cannot be read or placed is an error when it is decoded.
            if let Place::Segment { index, .. } = place
                && let Some(bound) = usize::try_from(index).ok().and_then(|index| bound.get_mut(index))
                && !*bound
            {
                *bound = goes_along(fields).unwrap_or(false);
            }
            Ok(())
        });
        let frame = self.frame.and_then(|frame| Frame::open(frame, usize::MAX).ok());
        let segment = |index: u64| match (&self.data, &frame) {
            (Data::Held { held, .. }, _) => held.spot(index, 0).ok().map(|spot| of_range(&spot.segment)),
            (_, Some(frame)) => frame.segment(index).ok().map(|bytes| of_bytes(frame.bytes(), bytes)),
            _ => None,
        };
        let indices = (0u64..).zip(bound).filter(|&(_, bound)| bound);
        indices.filter_map(|(index, _)| segment(index)).collect()
    }

    fn whole_segment(&self) -> Option<(Segment<'de>, usize)> {
        match &self.data {
            Data::Held { part, segment, .. } => Some((of_range(segment), part.start - segment.start)),
            Data::Message(data) => {
                let (frame, segment) = (self.frame?, self.segment?);
                let offset = data.as_ptr().addr().checked_sub(segment.as_ptr().addr())?;
                Some((of_bytes(frame, segment), offset))
            }
            Data::Copied(_) => None,
        }
    }

    /// The message's body, and how many segments it has.
    fn body(&self) -> Option<(&[u8], usize)> {
        if let Data::Held { held, .. } = &self.data {
            return Some((held.body().0, held.segments()));
        }
        crate::wire::frame::body(self.frame?)
    }

    /// The bytes in row-major order, already accounted for.
    fn compacted(&self) -> Result<Cow<'_, [u8]>> {
        match self.strides() {
            None => Ok(Cow::Borrowed(self.bytes())),
            Some(strides) => tensor::compact(self.dtype(), self.shape(), strides, self.bytes()).map(Cow::Owned),
        }
    }

    /// Accounts for a row-major copy of bytes that are the message's own.
    fn charge(&self) -> Result<()> {
        self.account(tensor::byte_len(self.dtype(), self.shape())?)
    }

    /// The bytes for as long as the message is borrowed; `None` where they came through memory of their own.
    #[inline]
    pub(crate) fn borrowed(&self) -> Option<&'de [u8]> {
        match self.data {
            Data::Message(Cow::Borrowed(data)) => Some(data),
            _ => None,
        }
    }
}

fn of_range<'de>(range: &Range<usize>) -> Segment<'de> {
    Segment {
        start: range.start,
        len: range.len(),
        bytes: None,
    }
}

fn of_bytes<'de>(frame: &[u8], segment: &'de [u8]) -> Segment<'de> {
    Segment {
        start: addresses(segment).start - addresses(frame).start,
        len: segment.len(),
        bytes: Some(segment),
    }
}

/// The segment and the offset in it of a tensor whose fields are a part of the body.
fn place(body: &[u8], fields: &[u8]) -> Option<(u64, u64)> {
    let start = addresses(fields).start.checked_sub(addresses(body).start)?;
    let form = *body.get(start.checked_sub(1)?)?;
    descriptor::place(form, body.get(start + fields.len()..)?).ok()?
}

pub(crate) fn wrong_dtype<E: Element>(found: DType) -> Error {
    Error::data(format!("a tensor of {found} where {} is expected", E::DTYPE))
}
