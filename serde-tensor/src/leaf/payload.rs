//! What a tensor is to a serializer.

use std::borrow::Cow;
use std::cell::Cell;

use serde::ser::{SerializeSeq as _, SerializeTuple as _};
use serde::{Serialize, Serializer};
use smallvec::SmallVec;

use super::{ByteString, Source, map_form};
use crate::backend::{AtHand, Description, HostBytes};
use crate::call::encode::{self, Ask, Identity, Offer};
use crate::device::{Device, warn};
use crate::error::{Error, Result};
use crate::wire::descriptor::Short;

/// The content of the newtype struct [`TOKEN`](super::TOKEN).
pub(crate) struct Payload<'a, T>(pub(crate) &'a T);

impl<T: Source> Serialize for Payload<'_, T> {
    #[inline(always)]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Taken first of all: it is meant for this tensor and no other.
        match encode::take_offer() {
            Some(offer) => match at_hand(self.0, &offer) {
                Some((short, bytes)) => {
                    encode::describe_short(short);
                    serializer.serialize_bytes(bytes)
                }
                None => offered(self.0, offer, serializer),
            },
            None => elsewhere(self.0, serializer),
        }
    }
}

/// A tensor that is known without a call to its backend, and was asked for no more than that.
#[inline(always)]
fn at_hand<'a, T: Source>(source: &'a T, offer: &Offer) -> Option<(Short, &'a [u8])> {
    let AtHand { dtype, shape, bytes } = source.at_hand()?;
    if bytes.len() > offer.limit || !matches!(offer.ask, Ask::Little) {
        return None;
    }
    let short = Short::of(dtype.pair(), false, encode::pin().ok()?, Device::Cpu, shape)?;
    Some((short, bytes))
}

/// Writes a tensor to this crate's serializer, which gets the description beside it.
#[inline(never)]
fn offered<T: Source, S: Serializer>(source: &T, offer: Offer, serializer: S) -> Result<S::Ok, S::Error> {
    // Until the bytes are read, no code runs but the backend's and this crate's.
    let (description, bytes) = source.export().map_err(encode::fail)?;
    let len = description.data_len().map_err(encode::fail)?;
    let pin = encode::pin().map_err(encode::fail)?;
    // Of a wrong length they take the way of pieces, which says so.
    let lent = bytes.lent(len, offer.unmodified).unwrap_or_default();
    let short = description.short(pin);
    if let Some(short) = short
        && description.device.is_cpu()
        && matches!(offer.ask, Ask::Little)
        && len <= offer.limit
    {
        if let Some(lent) = lent {
            encode::describe_short(short);
            return serializer.serialize_bytes(lent);
        }
        if len <= SMALL {
            return small(&bytes, len, short, serializer);
        }
    }
    let short = short.filter(|_| lent.is_some());
    identified(source, &description, len, offer, short);
    match lent.filter(|_| short.is_some()) {
        // Bytes at hand are handed over at once: the description came with the identity.
        Some(lent) => serializer.serialize_bytes(lent),
        None => in_two(&description.fields(pin), &bytes, len, true, serializer),
    }
}

/// Up to this many bytes are put together on the stack, where they are not at hand.
const SMALL: usize = 512;

#[inline(never)]
fn small<S: Serializer>(bytes: &HostBytes<'_>, len: usize, short: Short, serializer: S) -> Result<S::Ok, S::Error> {
    let mut whole = SmallVec::<[u8; SMALL]>::new();
    let read = bytes.read(len, &mut |piece| {
        whole.extend_from_slice(piece);
        Ok(())
    });
    read.map_err(encode::fail)?;
    encode::describe_short(short);
    serializer.serialize_bytes(&whole)
}

/// Tells the serializer which tensor comes.
#[inline(never)]
fn identified(source: &dyn Source, description: &Description<'_>, len: usize, offer: Offer, short: Option<Short>) {
    if len > offer.limit
        && description.storage.is_some()
        && let Some(owner) = source.keep_alive()
    {
        encode::keep(owner);
    }
    encode::identify(Identity {
        key: source.key(),
        device: description.bytes_on(),
        len,
        place: description.storage,
        short,
    });
}

/// Writes a tensor to any other format.
#[inline(never)]
fn elsewhere<S: Serializer>(source: &dyn Source, serializer: S) -> Result<S::Ok, S::Error> {
    let description = source.describe().map_err(encode::fail)?;
    let len = description.data_len().map_err(encode::fail)?;
    warn_of_copy(&description, len);
    if serializer.is_human_readable() {
        return map_form::serialize(source, &description, len, serializer);
    }
    let bytes = source.host_bytes().map_err(encode::fail)?;
    let fields = description.fields(encode::pin().map_err(encode::fail)?);
    in_two(&fields, &bytes, len, false, serializer)
}

/// Writes a tensor as a tuple of its description and its data.
#[inline(never)]
fn in_two<S: Serializer>(
    fields: &[u8],
    bytes: &HostBytes<'_>,
    len: usize,
    pieces: bool,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut tuple = serializer.serialize_tuple(2)?;
    tuple.serialize_element(&ByteString(Cow::Borrowed(fields)))?;
    tuple.serialize_element(&Data { bytes, len, pieces })?;
    tuple.end()
}

/// Under other formats nobody else warns.
fn warn_of_copy(description: &Description<'_>, len: usize) {
    if description.bytes_on().is_cpu() {
        return;
    }
    let site = encode::site();
    if encode::first_copy_elsewhere(site, description.device) {
        warn::device_copy(None, site, description.device, len);
    }
}

/// A tensor's data, which is not read before it is asked for: a plan does not ask.
struct Data<'a> {
    bytes: &'a HostBytes<'a>,
    len: usize,
    /// The serializer is this crate's, which takes a sequence of byte strings for their concatenation.
    pieces: bool,
}

impl Serialize for Data<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.pieces {
            let bytes = self.bytes.to_contiguous(self.len).map_err(encode::fail)?;
            return serializer.serialize_bytes(&bytes);
        }
        let mut seq = serializer.serialize_seq(None)?;
        // The serializer's own error has no place in this crate's, so it waits outside.
        let refused: Cell<Option<S::Error>> = Cell::new(None);
        let read = self.bytes.read(self.len, &mut |piece| {
            seq.serialize_element(&ByteString(Cow::Borrowed(piece)))
                .map_err(|error| {
                    refused.set(Some(error));
                    Error::data("the data was refused")
                })
        });
        match (refused.take(), read) {
            (Some(error), _) => Err(error),
            (None, Err(error)) => Err(encode::fail(error)),
            (None, Ok(())) => seq.end(),
        }
    }
}

/// The data in row-major order, in one piece, for formats that know no strides.
pub(super) fn row_major<'a, E: serde::ser::Error>(
    source: &'a dyn Source,
    description: &Description<'_>,
    len: usize,
) -> Result<Cow<'a, [u8]>, E> {
    let bytes = source
        .host_bytes()
        .and_then(|bytes| bytes.to_contiguous(len))
        .map_err(encode::fail)?;
    match &description.strides {
        None => Ok(bytes),
        Some(strides) => crate::tensor::compact(description.dtype(), &description.shape, strides, &bytes)
            .map(Cow::Owned)
            .map_err(E::custom),
    }
}
