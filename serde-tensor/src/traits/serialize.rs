//! The sending side: types that may be marked with `#[tensor]`.

use serde::{Serialize, Serializer};

use super::presence::{Claim, Facts, Presence};
use crate::leaf::TensorVisitor;

/// A type that a field marked with `#[tensor]` may have: a tensor, a type that derives this trait, or a container of
/// them.
///
/// Derive it: `#[derive(TensorSerialize)]` also implements [`serde::Serialize`]. Tensor types get it from their
/// backend; primitives and strings have it with presence [`Never`](Presence::Never), so that `(Tensor, u8)` works.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tensor, and not a type that can hold tensors",
    label = "cannot be marked with `#[tensor]`",
    note = "derive `TensorSerialize` for it; or remove the `#[tensor]`, and serde alone writes the field"
)]
pub trait TensorSerialize {
    /// Whether values of this type hold tensors, as far as the type tells.
    const PRESENCE: Presence;

    // The facts folded from that many levels of derived types; `levels.rs` says why there are nine.
    #[doc(hidden)]
    const I8: Facts = Facts::both(Claim::of(Self::PRESENCE));
    #[doc(hidden)]
    const I7: Facts = Facts::both(Claim::of(Self::PRESENCE));
    #[doc(hidden)]
    const I6: Facts = Facts::both(Claim::of(Self::PRESENCE));
    #[doc(hidden)]
    const I5: Facts = Facts::both(Claim::of(Self::PRESENCE));
    #[doc(hidden)]
    const I4: Facts = Facts::both(Claim::of(Self::PRESENCE));
    #[doc(hidden)]
    const I3: Facts = Facts::both(Claim::of(Self::PRESENCE));
    #[doc(hidden)]
    const I2: Facts = Facts::both(Claim::of(Self::PRESENCE));
    #[doc(hidden)]
    const I1: Facts = Facts::both(Claim::of(Self::PRESENCE));
    #[doc(hidden)]
    const I0: Facts = Facts::both(Claim::of(Self::PRESENCE));

    /// Whether a row of these is one tensor, copied in bulk.
    #[doc(hidden)]
    const BULK: bool = false;

    /// Whether this value holds a tensor. [`contains_tensor`](crate::contains_tensor) asks it only where
    /// [`PRESENCE`](Self::PRESENCE) leaves it open.
    fn contains_tensor(&self) -> bool;

    /// Serializes the value, its tensors as tensors.
    ///
    /// # Errors
    /// What the serializer reports, or a tensor that its backend cannot read.
    fn serialize_tensors<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;

    /// Shows the visitor every tensor inside that can be borrowed for as long as the value.
    ///
    /// Those that cannot (behind a `RefCell` or a `Mutex`, or in a field that is not marked) are found while
    /// serializing.
    ///
    /// # Errors
    /// What the visitor reports.
    fn visit_tensors<'a>(&'a self, visitor: &mut TensorVisitor<'a, '_>) -> crate::Result<()>;

    /// Serializes a row of these values.
    #[doc(hidden)]
    fn serialize_row<S: Serializer>(row: &[Self], serializer: S) -> Result<S::Ok, S::Error>
    where
        Self: Sized,
    {
        serializer.collect_seq(row.iter().map(Marked))
    }

    /// Serializes an array of these values.
    #[doc(hidden)]
    fn serialize_array<S: Serializer>(array: &[Self], serializer: S) -> Result<S::Ok, S::Error>
    where
        Self: Sized,
    {
        use serde::ser::SerializeTuple;
        let mut tuple = serializer.serialize_tuple(array.len())?;
        for element in array {
            tuple.serialize_element(&Marked(element))?;
        }
        tuple.end()
    }

    /// Shows the visitor the tensors of a row of these values.
    #[doc(hidden)]
    fn visit_row<'a>(row: &'a [Self], visitor: &mut TensorVisitor<'a, '_>) -> crate::Result<()>
    where
        Self: Sized,
    {
        visit_each(row, visitor)
    }
}

/// Whether `value` holds a tensor; at once where its type tells, else by looking only at the fields that can hold one.
///
/// [`scan::contains_tensor_dyn`](crate::scan::contains_tensor_dyn) answers the same for types without the derive.
///
/// ```
/// assert!(serde_tensor::contains_tensor(&Some(vec![1.0_f32])));
/// assert!(!serde_tensor::contains_tensor(&("no", "tensor", 1)));
/// ```
pub fn contains_tensor<T: TensorSerialize + ?Sized>(value: &T) -> bool {
    match T::PRESENCE {
        Presence::Never => false,
        Presence::Always => true,
        Presence::Maybe => value.contains_tensor(),
    }
}

/// Borrows a value for serde to serialize it with its tensors.
pub(crate) struct Marked<'a, T: ?Sized>(pub(crate) &'a T);

impl<T: TensorSerialize + ?Sized> Serialize for Marked<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize_tensors(serializer)
    }
}

/// Visits the tensors of a collection's elements.
pub(super) fn visit_each<'a, T: TensorSerialize + 'a>(
    elements: impl IntoIterator<Item = &'a T>,
    visitor: &mut TensorVisitor<'a, '_>,
) -> crate::Result<()> {
    if T::PRESENCE == Presence::Never {
        return Ok(());
    }
    elements
        .into_iter()
        .try_for_each(|element| element.visit_tensors(visitor))
}

/// Whether any element holds a tensor.
pub(super) fn any_contains<'a, T: TensorSerialize + 'a>(elements: impl IntoIterator<Item = &'a T>) -> bool {
    T::PRESENCE != Presence::Never && elements.into_iter().any(contains_tensor)
}
