//! Bytes as serde's byte string.

use std::borrow::Cow;
use std::fmt;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::raw::collect;

/// A byte string, borrowed where they can be; a sequence of integers will do, as some formats write bytes.
pub(crate) struct ByteString<'a>(pub(crate) Cow<'a, [u8]>);

impl Serialize for ByteString<'_> {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for ByteString<'de> {
    #[inline(always)]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // `byte_buf`, since ciborium gives longer byte strings to nobody who asks for `bytes`. It borrows where the format can.
        deserializer.deserialize_byte_buf(ByteStringVisitor)
    }
}

struct ByteStringVisitor;

impl<'de> Visitor<'de> for ByteStringVisitor {
    type Value = ByteString<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a byte string")
    }

    #[inline(always)]
    fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
        Ok(ByteString(Cow::Borrowed(bytes)))
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        Ok(ByteString(Cow::Owned(bytes.to_vec())))
    }

    fn visit_byte_buf<E>(self, bytes: Vec<u8>) -> Result<Self::Value, E> {
        Ok(ByteString(Cow::Owned(bytes)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        Ok(ByteString(Cow::Owned(collect(seq)?)))
    }
}
