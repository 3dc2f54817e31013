//! What a tensor is to a serializer.

use std::borrow::Cow;
use std::cell::Cell;
use std::mem;

use serde::ser::{SerializeSeq as _, SerializeTuple as _};
use serde::{Serialize, Serializer};

use super::{ByteString, Source, map_form};
use crate::backend::{Description, HostBytes};
use crate::call::encode::{self, Identity};
use crate::device::warn;
use crate::error::{Error, Result};

/// The content of the newtype struct [`TOKEN`](super::TOKEN).
pub(crate) struct Payload<'a>(pub(crate) &'a dyn Source);

impl Serialize for Payload<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Taken first of all: it is meant for this tensor and no other.
        let offer = encode::take_offer();
        let description = self.0.describe().map_err(encode::fail)?;
        let len = description.data_len().map_err(encode::fail)?;
        if offer.is_none() {
            warn_of_copy(&description, len);
        }
        if serializer.is_human_readable() {
            return map_form::serialize(self.0, &description, len, serializer);
        }
        let bytes = self.0.host_bytes().map_err(encode::fail)?;
        let mut fields = description.fields(encode::pin().map_err(encode::fail)?);
        if let Some(keep_above) = offer {
            // Of a wrong length they take the way of pieces, which says so.
            let lent = bytes.lent(len).unwrap_or_default();
            let keep = description.storage.is_some() && len > keep_above;
            encode::identify(Identity {
                key: self.0.key(),
                device: description.device,
                len,
                place: description.storage,
                owner: if keep { self.0.keep_alive() } else { None },
                fields: lent.map(|_| mem::take(&mut fields)),
            });
            // Bytes at hand are handed over at once, and the description came with the identity.
            if let Some(lent) = lent {
                return serializer.serialize_bytes(lent);
            }
        }
        let mut tuple = serializer.serialize_tuple(2)?;
        tuple.serialize_element(&ByteString(Cow::Borrowed(&fields)))?;
        tuple.serialize_element(&Data {
            bytes: &bytes,
            len,
            pieces: offer.is_some(),
        })?;
        tuple.end()
    }
}

/// Under other formats nobody else warns.
fn warn_of_copy(description: &Description, len: usize) {
    if description.device.is_cpu() {
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
    description: &Description,
    len: usize,
) -> Result<Cow<'a, [u8]>, E> {
    let bytes = source
        .host_bytes()
        .and_then(|bytes| bytes.to_contiguous(len))
        .map_err(encode::fail)?;
    match &description.strides {
        None => Ok(bytes),
        Some(strides) => crate::tensor::compact(description.dtype, &description.shape, strides, &bytes)
            .map(Cow::Owned)
            .map_err(E::custom),
    }
}
