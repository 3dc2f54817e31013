//! How one tensor passes through serde, under this format and every other.
//!
//! A tensor is a newtype struct of the name [`TOKEN`] around a payload. This crate's serializer knows the name; for others, who
//! pass over the names of newtypes, there is only the payload: in human-readable formats a map, in binary ones a tuple of
//! the description and the data as byte strings. Decoding accepts all forms, whatever the format claims to be,
//! since serde's own buffers forget which format they buffer.

mod bulk;
mod byte_string;
mod forecast;
mod later;
mod map_form;
mod payload;
mod placing;
mod raw;
mod source;
mod visit;

use std::borrow::Cow;
use std::ops::Range;
use std::rc::Rc;

use serde::{Deserializer, Serializer};

use crate::backend::{Data, DevicesOf, Import, Imported, Plain, TensorBackend};
use crate::call::decode::held::{Held, Spot};
use crate::call::decode::{self, Context, Landed, addresses};
use crate::device::{Present, Request, Transfer, decide};
use crate::error::{Error, Result};
use crate::tensor::DType;

pub(crate) use bulk::{deserialize_vec, serialize_slice};
pub use forecast::announce;
pub use visit::TensorVisitor;

use placing::Placing;

pub(crate) use byte_string::ByteString;
pub(crate) use later::RawVisitor;
pub(crate) use payload::Payload;
pub(crate) use raw::Raw;
pub(crate) use source::{Backend, Slice, Source};
pub(crate) use visit::{Lending, Visited};

/// The name of the newtype struct that a tensor is.
pub(crate) const TOKEN: &str = "$serde_tensor::Tensor";

/// [`TOKEN`] for a type that reads the tensor's data later. Only read, never written.
pub(crate) const LATER_TOKEN: &str = "$serde_tensor::Lazy";

/// The name of the newtype struct around the first value of a tensor's map form. In a variant of an internally tagged enum serde passes
/// over [`TOKEN`], and a scan for tensors knows them there by this.
pub(crate) const MAP_TOKEN: &str = "$serde_tensor::Map";

/// Serializes a tensor.
#[inline]
pub fn serialize<T: TensorBackend, S: Serializer>(tensor: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serialize_source(&Backend(tensor), serializer)
}

/// Serializes whatever is like a tensor.
#[inline]
pub(crate) fn serialize_source<T: Source, S: Serializer>(source: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_newtype_struct(TOKEN, &Payload(source))
}

/// Deserializes a tensor, onto the device that the rules choose.
#[inline]
pub fn deserialize<'de, T: TensorBackend, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserialize_with(deserializer, &DevicesOf::<T>::new(), T::arrive, T::import)
}

/// Deserializes a tensor of a type with the given devices by the given import.
#[inline]
pub(crate) fn deserialize_with<'de, T, D: Deserializer<'de>>(
    deserializer: D,
    devices: &impl Present,
    arrive: impl FnOnce(&Plain<'de>) -> Option<Result<T>>,
    import: impl FnOnce(Import<'de>) -> Result<Imported<T>>,
) -> Result<T, D::Error> {
    let placing = Placing {
        devices,
        arrive,
        import,
    };
    deserializer.deserialize_newtype_struct(TOKEN, placing)
}

/// Decides where a tensor lands, and puts it there.
#[inline(never)]
pub(crate) fn place<'de, T, E: serde::de::Error>(
    raw: Raw<'de>,
    devices: &impl Present,
    import: impl FnOnce(Import<'de>) -> Result<Imported<T>>,
) -> Result<T, E> {
    let at = raw.fields.map(|fields| addresses(fields).start);
    let context = decode::context(at).ok_or_else(decode::ended);
    match context.and_then(|context| place_in(context, raw, devices, import)) {
        Ok(tensor) => Ok(tensor),
        Err(error) => Err(failed(error, at)),
    }
}

#[cold]
fn failed<E: serde::de::Error>(error: Error, at: Option<usize>) -> E {
    match decode::context(at) {
        Some(context) => context.fail(error),
        None => E::custom(error),
    }
}

/// [`place`], in a context that is known.
#[inline(never)]
pub(crate) fn place_in<'de, T>(
    context: Context,
    raw: Raw<'de>,
    devices: &impl Present,
    import: impl FnOnce(Import<'de>) -> Result<Imported<T>>,
) -> Result<T> {
    let descriptor = raw.descriptor(context.max_rank)?;
    let len = descriptor.data_len()?;
    let (data, held) = match raw.spot {
        None => {
            check_data(&context, descriptor.dtype, len, &raw.data)?;
            (raw.data, None)
        }
        Some(spot) => (
            Cow::Borrowed(&[][..]),
            Some(held_data(&context, descriptor.dtype, len, spot)?),
        ),
    };
    let decision = decide(
        &Request {
            recorded: descriptor.device,
            pin: descriptor.pin,
            field: context.field,
            placement: context.placement,
            device_map: context.device_map(),
            on_missing: context.on_missing,
        },
        devices,
    )?;
    if decision.is_fallback() {
        context.fell_back(&decision, len, || devices.why_missing(decision.wanted));
    }
    let report = context.recorder().map(|recorder| {
        let landed = Landed {
            at: context.at(),
            site: context.site,
            dtype: descriptor.dtype,
            shape: descriptor.shape.clone(),
            recorded: descriptor.device,
            decision,
            bytes: len,
            // Known when the tensor is there.
            transfer: Transfer::Copied,
        };
        (recorder, landed)
    });
    let mut parts = Import {
        data: Data::Message(data),
        segment: raw.segment,
        frame: raw.frame,
        fields: raw.fields,
        descriptor,
        device: decision.device,
        rule: decision.rule,
        context,
    };
    if let Some((held, part, segment)) = held {
        parts.data = if devices.shares(held.memory()) {
            Data::Held { held, part, segment }
        } else {
            Data::Copied(parts.context.copy_held(&held, part, segment)?)
        };
    }
    let imported = import(parts)?;
    if let Some((recorder, landed)) = report {
        recorder.landed(Landed {
            transfer: imported.transfer,
            ..landed
        });
    }
    Ok(imported.tensor)
}

/// Where the data of a tensor lies in a library's memory: the memory, the data, and its segment.
type HeldData = (Rc<Held>, Range<usize>, Range<usize>);

/// [`check_data`] of data in a library's memory.
fn held_data(context: &Context, dtype: DType, len: usize, spot: Spot) -> Result<HeldData> {
    let held = context.held().ok_or_else(|| Error::data("the message is gone"))?;
    let part = Held::range(&spot, len)?;
    if dtype == DType::Bool {
        context.check_held_bool(&held, &part)?;
    }
    Ok((held, part, spot.segment))
}

/// Descriptor and data may come from different places, so here is where they are held against each other.
#[inline]
fn check_data(context: &Context, dtype: DType, len: usize, data: &[u8]) -> Result<()> {
    if data.len() != len {
        return Err(wrong_length(len, data.len()));
    }
    if dtype == DType::Bool {
        context.check_bool(data)?;
    }
    Ok(())
}

#[cold]
fn wrong_length(asked: usize, given: usize) -> Error {
    Error::data(format!(
        "a tensor's dtype, shape and strides ask for {asked} bytes, its data has {given}"
    ))
}
