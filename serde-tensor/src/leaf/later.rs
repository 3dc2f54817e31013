//! The visitor of a tensor that is placed later, if at all.

use std::fmt;

use serde::Deserializer;
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};

use super::raw::{content, rest_of_tuple};
use super::{ByteString, Raw, map_form};
use crate::error::Result;

/// Reads a tensor in whichever form it comes, and leaves it at that.
pub(crate) struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a tensor")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw<'de>, D::Error> {
        content(deserializer, self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Raw<'de>, A::Error> {
        let fields = seq
            .next_element::<ByteString<'de>>()?
            .ok_or_else(|| A::Error::invalid_length(0, &self))?;
        rest_of_tuple(fields.0, seq)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Raw<'de>, A::Error> {
        map_form::visit(map)
    }
}
