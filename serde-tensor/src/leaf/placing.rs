//! The visitor of a tensor, which puts it where it lands.

use std::fmt;

use serde::Deserializer;
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};

use super::raw::{content, rest_of_tuple};
use super::{ByteString, map_form, place};
use crate::backend::{Import, Imported};
use crate::device::Present;
use crate::error::Result;

/// Reads a tensor in whichever form it comes, and makes one of it on the device that the rules choose.
///
/// It is made in here, where its parts are still in registers, and not from a value that is returned through the format.
pub(super) struct Placing<'p, P, F> {
    pub(super) devices: &'p P,
    pub(super) import: F,
}

impl<'de, T, P, F> Visitor<'de> for Placing<'_, P, F>
where
    P: Present,
    F: FnOnce(Import<'de>) -> Result<Imported<T>>,
{
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a tensor")
    }

    #[inline]
    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        content(deserializer, self)
    }

    #[inline]
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<T, A::Error> {
        let fields = seq
            .next_element::<ByteString<'de>>()?
            .ok_or_else(|| A::Error::invalid_length(0, &self))?;
        place(rest_of_tuple(fields.0, seq)?, self.devices, self.import)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        place(map_form::visit(map)?, self.devices, self.import)
    }
}
