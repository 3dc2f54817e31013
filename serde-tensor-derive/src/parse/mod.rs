//! Reading attributes: ours strictly, serde's leniently.

mod serde;
mod tensor;

pub(crate) use serde::{Attributes, Item};
pub(crate) use tensor::{ContainerMark, FieldMark, refuse_on_variant};
