//! A tensor as it was read, before it is placed.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Error as _, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::ByteString;
use crate::call::decode::held::Spot;
use crate::call::decode::{self, addresses};
use crate::error::{Error, Result};
use crate::wire::descriptor::Descriptor;

/// A description and data, not yet held against each other.
pub(crate) struct Raw<'de> {
    /// The description's bytes, where they are borrowed from the message: their address tells the call and the place.
    pub(crate) fields: Option<&'de [u8]>,
    description: Description<'de>,
    pub(crate) data: Cow<'de, [u8]>,
    /// The segment of a frame that the data is a part of, where that is known.
    pub(crate) segment: Option<&'de [u8]>,
    /// The whole frame, where that is known.
    pub(crate) frame: Option<&'de [u8]>,
    /// Where the data is, if it is in memory of a tensor library's own; `data` is then empty.
    pub(crate) spot: Option<Spot>,
}

enum Description<'de> {
    Bytes(Cow<'de, [u8]>),
    Parsed(Box<Descriptor>),
}

impl<'de> Raw<'de> {
    pub(crate) fn of(descriptor: Descriptor, data: Cow<'de, [u8]>) -> Self {
        Self {
            fields: None,
            description: Description::Parsed(Box::new(descriptor)),
            data,
            segment: None,
            frame: None,
            spot: None,
        }
    }

    #[inline(always)]
    fn from_bytes(fields: Cow<'de, [u8]>, data: Cow<'de, [u8]>, segment: Option<&'de [u8]>) -> Self {
        Self {
            fields: match fields {
                Cow::Borrowed(fields) => Some(fields),
                Cow::Owned(_) => None,
            },
            description: Description::Bytes(fields),
            data,
            segment,
            frame: None,
            spot: None,
        }
    }

    pub(crate) fn descriptor(&self, max_rank: usize) -> Result<Descriptor> {
        let fields = match &self.description {
            Description::Bytes(fields) => fields,
            Description::Parsed(descriptor) => return parsed(descriptor, max_rank),
        };
        let mut rest = &**fields;
        let descriptor = Descriptor::read(&mut rest, max_rank)?;
        if rest.is_empty() {
            return Ok(descriptor);
        }
        Err(Error::syntax(format!(
            "{} bytes follow a tensor's description",
            rest.len()
        )))
    }
}

fn parsed(descriptor: &Descriptor, max_rank: usize) -> Result<Descriptor> {
    let rank = descriptor.shape.len();
    if rank > max_rank {
        return Err(Error::limit(format!(
            "a tensor of rank {rank}, above the limit of {max_rank}"
        )));
    }
    Ok(descriptor.clone())
}

/// Reads what is inside the newtype. Formats that tell their types are asked what is there; others hold the tuple.
#[inline(always)]
pub(super) fn content<'de, D: Deserializer<'de>, V: Visitor<'de>>(
    deserializer: D,
    visitor: V,
) -> Result<V::Value, D::Error> {
    if deserializer.is_human_readable() {
        deserializer.deserialize_any(visitor)
    } else {
        deserializer.deserialize_tuple(2, visitor)
    }
}

/// The data that follows a description in a tuple, and from this crate's deserializer the segment and the frame that it is a part of.
#[inline(always)]
pub(super) fn rest_of_tuple<'de, A: SeqAccess<'de>>(fields: Cow<'de, [u8]>, mut seq: A) -> Result<Raw<'de>, A::Error> {
    if let Cow::Borrowed(borrowed) = fields
        && let Some(spot) = decode::held(borrowed)
    {
        let spot = spot.map_err(A::Error::custom)?;
        // Passed over, not asked for, so that it is not copied.
        seq.next_element::<IgnoredAny>()?;
        let mut raw = Raw::from_bytes(fields, Cow::Borrowed(&[]), None);
        raw.spot = Some(spot);
        return Ok(raw);
    }
    let data = seq
        .next_element::<ByteString<'de>>()?
        .ok_or_else(|| A::Error::invalid_length(1, &"a tensor's description and data"))?;
    let segment = match seq.next_element::<ByteString<'de>>()? {
        None => return Ok(Raw::from_bytes(fields, data.0, None)),
        Some(ByteString(Cow::Borrowed(segment))) if is_part(&data.0, segment) => segment,
        Some(_) => return Err(A::Error::invalid_length(3, &"a tensor's description and data")),
    };
    let mut raw = Raw::from_bytes(fields, data.0, Some(segment));
    if let Some(ByteString(Cow::Borrowed(frame))) = seq.next_element()? {
        raw.frame = Some(frame);
    }
    Ok(raw)
}

/// Whether bytes lie inside others.
#[inline]
fn is_part(part: &[u8], whole: &[u8]) -> bool {
    let (part, whole) = (addresses(part), addresses(whole));
    whole.start <= part.start && part.end <= whole.end
}

/// Collects a sequence; the memory reserved in advance is bounded whatever the sequence says of its length.
pub(super) fn collect<'de, T: Deserialize<'de>, A: SeqAccess<'de>>(seq: A) -> Result<Vec<T>, A::Error> {
    collect_seeds(seq, || PhantomData::<T>)
}

/// [`collect`] with a seed for each element.
pub(super) fn collect_seeds<'de, S: DeserializeSeed<'de>, A: SeqAccess<'de>>(
    mut seq: A,
    seed: impl Fn() -> S,
) -> Result<Vec<S::Value>, A::Error> {
    const RESERVED: usize = 4096;
    let mut elements = Vec::with_capacity(seq.size_hint().unwrap_or(0).min(RESERVED));
    while let Some(element) = seq.next_element_seed(seed())? {
        elements.push(element);
    }
    Ok(elements)
}
