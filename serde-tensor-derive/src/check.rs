//! The mistakes the derive can see, one function a rule.
//!
//! Mistakes in `#[serde(…)]` itself are reported by serde's own derive on the mirror.

use crate::direction::Direction;
use crate::errors::Errors;
use crate::model::{Container, Data, Field};
use crate::parse::{Attributes, FieldMark};

/// Looks for all of them.
pub(crate) fn check(container: &Container<'_>, errors: &mut Errors) {
    not_a_union(container, errors);
    no_remote(container, errors);
    no_getter(container, errors);
    no_mark_beside_with(container, errors);
    no_mark_that_is_converted_away(container, errors);
    no_lifetime_called_de(container, errors);
}

/// A union has no active field to look at.
fn not_a_union(container: &Container<'_>, errors: &mut Errors) {
    if let syn::Data::Union(data) = &container.input.data {
        errors.at(
            data.union_token,
            "a union cannot derive this: nothing says which of its fields is in use",
        );
    }
}

/// `remote` is what the mirror itself is made with.
fn no_remote(container: &Container<'_>, errors: &mut Errors) {
    if let Some(item) = container.serde.find("remote") {
        errors.at(
            item,
            "`remote` is not supported: derive with serde for a type of another crate, and name it with `#[serde(with)]`",
        );
    }
}

/// `getter` goes with `remote`.
fn no_getter(container: &Container<'_>, errors: &mut Errors) {
    for field in container.fields() {
        if let Some(item) = field.serde.find("getter") {
            errors.at(item, "`getter` is not supported: it belongs to `#[serde(remote)]`");
        }
    }
}

/// A field that a function writes is not written by its type.
fn no_mark_beside_with(container: &Container<'_>, errors: &mut Errors) {
    let mut refuse = |field: &Field, attributes: &Attributes, place: &str| {
        if !matches!(field.mark, FieldMark::Tensor(_)) {
            return;
        }
        for key in ["with", "serialize_with", "deserialize_with"] {
            if let Some(item) = attributes.find(key) {
                errors.at(
                    item,
                    format_args!(
                        "`{key}` and `#[tensor]` exclude each other: the function decides how the {place} travels, and \
                         tensors it writes are found without the mark"
                    ),
                );
            }
        }
    };
    for field in container.fields() {
        refuse(field, &field.serde, "field");
    }
    if let Data::Enum(variants) = &container.data {
        for variant in variants {
            for field in &variant.fields.list {
                refuse(field, &variant.serde, "variant");
            }
        }
    }
}

/// With `into` on one side and `from` on the other, no field is ever looked at.
fn no_mark_that_is_converted_away(container: &Container<'_>, errors: &mut Errors) {
    let serde = &container.serde;
    if !serde.has("into") || !(serde.has("from") || serde.has("try_from")) {
        return;
    }
    for field in container.fields() {
        if matches!(field.mark, FieldMark::Tensor(_)) {
            errors.at(
                &field.ty,
                "`#[tensor]` has no effect here: the whole type is converted by `into` and `from`; mark the fields of \
                 the type it is converted to",
            );
        }
    }
}

/// `'de` is the deserializer's.
fn no_lifetime_called_de(container: &Container<'_>, errors: &mut Errors) {
    if container.direction == Direction::Deserialize {
        for param in container.generics.lifetimes() {
            if param.lifetime.ident == "de" {
                errors.at(
                    &param.lifetime,
                    "the lifetime `'de` is the deserializer's; give this one another name",
                );
            }
        }
    }
}
