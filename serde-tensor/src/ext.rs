//! MessagePack extension values of applications.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::leaf::ByteString;

/// The name of the newtype struct that an [`Ext`] is, as [`TOKEN`](crate::leaf::TOKEN) is a tensor's.
pub(crate) const TOKEN: &str = "$serde_tensor::Ext";

/// A MessagePack extension value: a type of the application's choice, and bytes.
///
/// Types `0x49`, `0x53`, `0x54` and `0x55` (73, 83, 84 and 85) are this format's own and cannot be written. Under other
/// formats it is a tuple of the tag and the bytes.
///
/// ```
/// use serde_tensor::Ext;
///
/// let sent = Ext::new(5, &b"payload"[..]);
/// let bytes = serde_tensor::to_vec(&sent)?;
/// assert_eq!(bytes[..3], [0xc7, 7, 5]);
/// assert_eq!(serde_tensor::from_slice::<Ext>(&bytes)?, sent);
/// # Ok::<(), serde_tensor::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ext<'a> {
    /// The type. MessagePack keeps −128 to −1 for itself; −1 is its timestamp.
    pub tag: i8,
    /// The payload.
    pub bytes: Cow<'a, [u8]>,
}

impl<'a> Ext<'a> {
    /// An extension value.
    pub fn new(tag: i8, bytes: impl Into<Cow<'a, [u8]>>) -> Self {
        Self {
            tag,
            bytes: bytes.into(),
        }
    }
}

impl Serialize for Ext<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(TOKEN, &(self.tag, ByteString(Cow::Borrowed(&*self.bytes))))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Ext<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(TOKEN, ExtVisitor)
    }
}

struct ExtVisitor;

impl<'de> Visitor<'de> for ExtVisitor {
    type Value = Ext<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an extension value")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_tuple(2, self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let tag = seq.next_element()?.ok_or_else(|| A::Error::invalid_length(0, &self))?;
        let bytes: ByteString<'de> = seq.next_element()?.ok_or_else(|| A::Error::invalid_length(1, &self))?;
        Ok(Ext { tag, bytes: bytes.0 })
    }
}
