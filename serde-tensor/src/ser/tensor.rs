//! Tensors and extension values being written.

use std::borrow::Cow;

use serde::Serialize;

use super::narrow::{Append, Narrow, NoRow, Parts, Row, unexpected};
use super::single::no_memory;
use super::{Segments, State};
use crate::call::encode::{self, Ask, Identity, Offer};
use crate::device::{Device, DeviceCopies, warn};
use crate::error::{Error, Result};
use crate::leaf::ByteString;
use crate::wire::descriptor::{self, Descriptor, Fields, Short};
use crate::wire::{self, path, to_u64, write};

impl State<'_> {
    /// Writes the content of a newtype struct with a tensor's name.
    #[inline]
    pub(super) fn tensor<T: ?Sized + Serialize>(&mut self, payload: &T) -> Result<()> {
        let start = self.body.len();
        let limit = self.options.inline_limit;
        let (ask, limit) = match &self.segments {
            Segments::Single(single) if single.ties_nothing() => (Ask::Little, limit),
            Segments::Single(_) => (Ask::All, limit),
            // A plan's tensors are borrowed: nothing needs to keep them.
            Segments::Plan(_) => (Ask::All, usize::MAX),
        };
        let unmodified = self.options.unmodified;
        let offer = Offer { ask, limit, unmodified };
        let offer = offer.make();
        let written = payload.serialize(Narrow(Payload(self)));
        offer.withdraw();
        match written {
            Ok(()) => Ok(()),
            Err(error) => Err(self.withdraw(start, error)),
        }
    }

    /// Takes back what was written of a tensor, and says where it is.
    #[cold]
    fn withdraw(&mut self, start: usize, error: Error) -> Error {
        self.body.truncate(start);
        self.locate(error)
    }

    /// Writes the content of a newtype struct with an extension value's name.
    pub(super) fn ext<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<()> {
        value.serialize(Narrow(ExtParts {
            serializer: self,
            tag: None,
            done: false,
        }))
    }

    /// Writes a tensor whose bytes are at hand.
    #[inline(always)]
    fn write_lent(&mut self, data: &[u8]) -> Result<()> {
        let Some(short) = encode::take_short() else {
            return self.write_identified(data);
        };
        // A slice takes at most half of the address space, so this does not overflow.
        let room = self.body.try_reserve(Short::MOST + data.len());
        room.ok_or_else(|| no_memory(data.len()))?;
        descriptor::write_short(&mut self.body, short, data)
    }

    #[inline(never)]
    fn write_identified(&mut self, data: &[u8]) -> Result<()> {
        let identity = encode::take_identity().ok_or_else(incomplete)?;
        let short = identity.short.ok_or_else(incomplete)?;
        let data = ByteString(Cow::Borrowed(data));
        self.write_tensor(Some(&identity), &short.fields(), &data)
    }

    /// Writes a tensor. Its data is read only if it is not borrowed by a plan.
    #[inline(never)]
    fn write_tensor<D: ?Sized + Serialize>(
        &mut self,
        identity: Option<&Identity>,
        fields: &[u8],
        data: &D,
    ) -> Result<()> {
        let (len, device) = match identity {
            Some(identity) => (identity.len, identity.device),
            None => measured(fields)?,
        };
        self.note_copy(device, len)?;
        let known = match &mut self.segments {
            Segments::Single(single) => single.find(identity, len),
            Segments::Plan(numbering) => numbering.find(identity, len, self.body.len())?,
        };
        if let Some((index, offset)) = known {
            return descriptor::write_segment(&mut self.body, fields, index, offset);
        }
        if len <= self.options.inline_limit {
            descriptor::write_inline(&mut self.body, fields, len)?;
            let start = self.body.len();
            self.body.try_reserve(len).ok_or_else(|| no_memory(len))?;
            data.serialize(Narrow(Append(&mut self.body)))?;
            return check_written(self.body.len() - start, len);
        }
        let index = self.new_segment(identity, data, len)?;
        descriptor::write_segment(&mut self.body, fields, index, 0)
    }

    fn new_segment<D: ?Sized + Serialize>(&mut self, identity: Option<&Identity>, data: &D, len: usize) -> Result<u64> {
        match &mut self.segments {
            Segments::Single(single) => {
                // Taken before the data is asked for, which may run any code.
                let owner = encode::take_owner();
                let out = single.open(&mut self.body, len)?;
                append(out, data, len)?;
                let index = single.close(len);
                if let Some(owner) = owner
                    && let Some(identity) = identity
                    && let Some(storage) = identity.place
                {
                    single.tie(index, identity.device, storage, len, owner);
                }
                Ok(index)
            }
            Segments::Plan(numbering) => {
                let mut copy = Vec::new();
                append(&mut copy, data, len)?;
                Ok(numbering.push_copy(copy))
            }
        }
    }

    /// Warns of a tensor that is copied off its device to be written, or refuses it.
    #[inline]
    fn note_copy(&mut self, device: Device, len: usize) -> Result<()> {
        if device.is_cpu() {
            return Ok(());
        }
        let site = encode::site();
        match self.options.device_copies {
            DeviceCopies::Allow => {}
            DeviceCopies::Deny => {
                return Err(Error::device(format!(
                    "a tensor of {len} bytes on {device} would be copied to the host, which the call denies"
                )));
            }
            DeviceCopies::Warn => {
                let first = match site {
                    Some(site) => site.first_copy(device),
                    None => self.last_copy.first(device),
                };
                if first {
                    let path = warn::enabled().then(|| path::of_next(&self.body));
                    warn::device_copy(path.as_deref(), site, device, len);
                }
            }
        }
        Ok(())
    }
}

/// A tensor: its data alone, or a row of two parts.
struct Payload<'s, 'p>(&'s mut State<'p>);

/// A description, then data.
struct TensorRow<'s, 'p> {
    serializer: &'s mut State<'p>,
    fields: Fields,
    part: u8,
}

impl<'s, 'p> Parts for Payload<'s, 'p> {
    type Row = TensorRow<'s, 'p>;

    /// Data alone: the tensor is this crate's, and took up the offer.
    #[inline(always)]
    fn bytes(self, data: &[u8]) -> Result<()> {
        self.0.write_lent(data)
    }

    fn row(self) -> Result<TensorRow<'s, 'p>> {
        Ok(TensorRow {
            serializer: self.0,
            fields: Fields::new(),
            part: 0,
        })
    }
}

impl Row for TensorRow<'_, '_> {
    fn element<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<()> {
        self.part = self.part.saturating_add(1);
        match self.part {
            1 => {
                self.fields.clear();
                value.serialize(Narrow(Append(&mut self.fields)))
            }
            2 => self
                .serializer
                .write_tensor(encode::take_identity().as_ref(), &self.fields, value),
            _ => Err(incomplete()),
        }
    }

    fn end(self) -> Result<()> {
        if self.part != 2 {
            return Err(incomplete());
        }
        Ok(())
    }
}

/// A tag, then bytes.
struct ExtParts<'s, 'p> {
    serializer: &'s mut State<'p>,
    tag: Option<u8>,
    done: bool,
}

impl Parts for ExtParts<'_, '_> {
    type Row = Self;

    fn row(self) -> Result<Self> {
        Ok(self)
    }
}

impl Row for ExtParts<'_, '_> {
    fn element<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<()> {
        match self.tag {
            None => {
                let mut tag = 0;
                value.serialize(Narrow(Tag(&mut tag)))?;
                self.tag = Some(free_tag(tag)?);
                Ok(())
            }
            Some(tag) if !self.done => {
                let mut bytes = Vec::new();
                value.serialize(Narrow(Append(&mut bytes)))?;
                self.done = true;
                write::ext(&mut self.serializer.body, tag, bytes.len())?;
                self.serializer.body.extend_from_slice(&bytes);
                Ok(())
            }
            Some(_) => Err(incomplete()),
        }
    }

    fn end(self) -> Result<()> {
        if self.done { Ok(()) } else { Err(incomplete()) }
    }
}

struct Tag<'t>(&'t mut i8);

impl Parts for Tag<'_> {
    type Row = NoRow;

    fn row(self) -> Result<NoRow> {
        Err(unexpected())
    }

    fn integer(self, n: i8) -> Result<()> {
        *self.0 = n;
        Ok(())
    }
}

fn free_tag(tag: i8) -> Result<u8> {
    let byte = tag.cast_unsigned();
    if wire::ext::is_own(byte) {
        return Err(Error::data(format!(
            "extension type {tag} ({byte:#04x}) is this format's own"
        )));
    }
    Ok(byte)
}

/// The length and device that a description states.
fn measured(fields: &[u8]) -> Result<(usize, Device)> {
    let descriptor = Descriptor::read(&mut &*fields, usize::MAX)?;
    Ok((descriptor.data_len()?, descriptor.device))
}

fn append<D: ?Sized + Serialize>(out: &mut Vec<u8>, data: &D, len: usize) -> Result<()> {
    let start = out.len();
    out.try_reserve(len).map_err(|_| no_memory(len))?;
    data.serialize(Narrow(Append(out)))?;
    check_written(out.len() - start, len)
}

#[inline]
fn check_written(written: usize, len: usize) -> Result<()> {
    if written == len {
        return Ok(());
    }
    Err(Error::data(format!(
        "a tensor's data has {written} bytes, its description asks for {}",
        to_u64(len)
    )))
}

#[cold]
fn incomplete() -> Error {
    Error::data("a tensor or extension value has two parts")
}
