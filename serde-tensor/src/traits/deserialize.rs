//! The receiving side: types that may be marked with `#[tensor]`.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A type that a field marked with `#[tensor]` may be decoded into.
///
/// Derive it: `#[derive(TensorDeserialize)]` also implements [`serde::Deserialize`]. The counterpart of
/// [`TensorSerialize`](crate::TensorSerialize).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tensor, and not a type that tensors can be decoded into",
    label = "cannot be marked with `#[tensor]`",
    note = "derive `TensorDeserialize` for it; or remove the `#[tensor]`, and serde alone reads the field"
)]
pub trait TensorDeserialize<'de>: Sized {
    /// Deserializes a value, its tensors landing where the routing rules say.
    ///
    /// # Errors
    /// What the deserializer reports, a device that is not there, or bytes that are no tensor of this type.
    fn deserialize_tensors<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;

    /// Deserializes a row of these values.
    #[doc(hidden)]
    fn deserialize_row<D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Self>, D::Error> {
        deserialize_each(deserializer)
    }

    /// Deserializes an array of these values.
    #[doc(hidden)]
    fn deserialize_array<D: Deserializer<'de>, const N: usize>(deserializer: D) -> Result<[Self; N], D::Error> {
        deserializer.deserialize_tuple(N, ArrayVisitor(PhantomData))
    }
}

/// What serde deserializes in place of a marked value.
pub(crate) struct Unmarked<T>(pub(crate) T);

impl<'de, T: TensorDeserialize<'de>> Deserialize<'de> for Unmarked<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize_tensors(deserializer).map(Self)
    }
}

/// Deserializes a sequence element by element.
pub(super) fn deserialize_each<'de, T, D, C>(deserializer: D) -> Result<C, D::Error>
where
    T: TensorDeserialize<'de>,
    D: Deserializer<'de>,
    C: FromIterator<T>,
{
    let row = Vec::<Unmarked<T>>::deserialize(deserializer)?;
    Ok(row.into_iter().map(|element| element.0).collect())
}

/// Turns a row into an array of exactly that length.
pub(super) fn into_array<T, E: Error, const N: usize>(row: Vec<T>) -> Result<[T; N], E> {
    <[T; N]>::try_from(row).map_err(|row| E::invalid_length(row.len(), &ArrayLength(N)))
}

struct ArrayVisitor<T, const N: usize>(PhantomData<T>);

impl<'de, T: TensorDeserialize<'de>, const N: usize> Visitor<'de> for ArrayVisitor<T, N> {
    type Value = [T; N];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&ArrayLength(N), f)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        // The elements of a zero-sized or a short array may be many: nothing is reserved beyond what has arrived.
        let mut row = Vec::with_capacity(seq.size_hint().map_or(0, |hint| hint.min(N).min(4096)));
        while row.len() < N {
            match seq.next_element::<Unmarked<T>>()? {
                Some(element) => row.push(element.0),
                None => return Err(A::Error::invalid_length(row.len(), &self)),
            }
        }
        into_array(row)
    }
}

struct ArrayLength(usize);

impl fmt::Display for ArrayLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an array of length {}", self.0)
    }
}

impl serde::de::Expected for ArrayLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
