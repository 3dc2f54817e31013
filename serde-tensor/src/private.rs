//! What the derive's output calls. Not part of the public interface: it may change in any release.

use serde::{Deserializer, Serialize, Serializer};

use crate::call;
use crate::traits::{TensorDeserialize, TensorSerialize};

pub use core;
pub use serde;

pub use crate::device::{Device, FieldDevice, Site};
pub use crate::leaf::{TensorVisitor, announce};
pub use crate::traits::{Claim, Facts, Presence, Probe, UnknownFacts};

/// What `impl_tensor!` calls.
pub mod leaf {
    pub use crate::leaf::{deserialize, serialize};
}

/// Serializes a marked field, under what its attribute says.
pub fn serialize_field<T, S>(site: &'static Site, value: &T, serializer: S) -> Result<S::Ok, S::Error>
where
    T: TensorSerialize + ?Sized,
    S: Serializer,
{
    call::encode::in_field(site, || value.serialize_tensors(serializer))
}

/// Deserializes a marked field, under what its attribute says.
pub fn deserialize_field<'de, T, D>(site: &'static Site, deserializer: D) -> Result<T, D::Error>
where
    T: TensorDeserialize<'de>,
    D: Deserializer<'de>,
{
    call::decode::in_field(site, || T::deserialize_tensors(deserializer))
}

/// Whether an unmarked field, of which `claim` is known, holds a tensor.
pub fn contains_unmarked<T: Serialize + ?Sized>(claim: Claim, value: &T) -> bool {
    match claim.presence {
        Presence::Never => false,
        Presence::Always => true,
        Presence::Maybe => crate::scan::contains_tensor_dyn(&value),
    }
}

/// Fails to compile when an unmarked field holds a tensor type.
///
/// # Panics
/// Always while compiling, with `message`, if a tensor type is known to be inside.
#[track_caller]
pub const fn check_unmarked(claim: Claim, message: &'static str) {
    assert!(!claim.known, "{}", message);
}

/// The body of the impls that stand in for those of a type with mistakes, which does not compile anyway.
///
/// # Panics
/// Always; it never runs.
pub fn not_derived() -> ! {
    unreachable!("the type's derive reported an error")
}

/// Stands in for the functions that serde's derive writes for a mirror, when it reports an error instead: what is
/// called is there, and the error stays the only one.
///
/// An inherent function goes before these, so they are never called otherwise; if they were, it would not compile.
#[allow(missing_docs)]
pub trait MirrorFailed: Sized {
    fn serialize<T: ?Sized, S: Serializer>(_: &T, _: S) -> Result<S::Ok, S::Error> {
        const { panic!("serde's derive reported an error") }
    }

    fn deserialize<'de, T, D: Deserializer<'de>>(_: D) -> Result<T, D::Error> {
        const { panic!("serde's derive reported an error") }
    }
}

impl<T> MirrorFailed for T {}
