//! The two derives: nearly everything is the same for both, seen from one side.

use proc_macro2::{Ident, Span};

/// Which of the two derives is at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// `TensorSerialize`.
    Serialize,
    /// `TensorDeserialize`.
    Deserialize,
}

impl Direction {
    /// `"serialize"` or `"deserialize"`, as serde's attributes have it.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Serialize => "serialize",
            Self::Deserialize => "deserialize",
        }
    }

    /// The function in question, and the key of attributes such as `bound(serialize = …)`.
    pub(crate) fn ident(self) -> Ident {
        Ident::new(self.key(), Span::call_site())
    }

    /// `skip_serializing` or `skip_deserializing`.
    pub(crate) fn skip_key(self) -> &'static str {
        match self {
            Self::Serialize => "skip_serializing",
            Self::Deserialize => "skip_deserializing",
        }
    }

    /// `serialize_with` or `deserialize_with`.
    pub(crate) fn with_key(self) -> &'static str {
        match self {
            Self::Serialize => "serialize_with",
            Self::Deserialize => "deserialize_with",
        }
    }
}
