//! The visitor of a tensor, which puts it where it lands.

use std::fmt;

use serde::Deserializer;
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};

use super::raw::{content, rest_of_tuple};
use super::{ByteString, failed, map_form, place};
use crate::backend::{Import, Imported, Plain};
use crate::device::Present;
use crate::error::Result;

/// Reads a tensor in whichever form it comes, and makes one of it on the device that the rules choose.
///
/// It is made in here, where its parts are still in registers, and not from a value that is returned through the format.
pub(super) struct Placing<'p, P, Q, F> {
    pub(super) devices: &'p P,
    /// The short way of a type that has one.
    pub(super) arrive: Q,
    pub(super) import: F,
}

impl<'de, T, P, Q, F> Visitor<'de> for Placing<'_, P, Q, F>
where
    P: Present,
    Q: FnOnce(&Plain<'de>) -> Option<Result<T>>,
    F: FnOnce(Import<'de>) -> Result<Imported<T>>,
{
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a tensor")
    }

    #[inline(always)]
    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        content(deserializer, self)
    }

    #[inline(always)]
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<T, A::Error> {
        let fields = seq
            .next_element::<ByteString<'de>>()?
            .ok_or_else(|| A::Error::invalid_length(0, &self))?;
        let raw = rest_of_tuple(fields.0, seq)?;
        if self.devices.host_only()
            && let Some(plain) = Plain::of(&raw)
            && let Some(arrived) = (self.arrive)(&plain)
        {
            return arrived.map_err(|error| failed(error, Some(plain.at)));
        }
        place(raw, self.devices, self.import)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        place(map_form::visit(map)?, self.devices, self.import)
    }
}
