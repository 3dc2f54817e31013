//! What is borrowed from the deserializer: the bounds on `'de`.
//!
//! Serde's own rules, and every lifetime of a marked field; more than that would cost a type its `DeserializeOwned`.

use std::collections::BTreeSet;

use proc_macro2::Span;
use syn::punctuated::Punctuated;
use syn::{Lifetime, LifetimeParam, Token};

use crate::model::{Container, Data, Field};
use crate::parse::Attributes;
use crate::types;

/// `'de`, or `'static` where a field borrows for that long.
pub(crate) fn de_lifetime(container: &Container<'_>) -> Lifetime {
    let name = if borrows_static(container) { "'static" } else { "'de" };
    Lifetime::new(name, Span::call_site())
}

/// `'de: 'a + 'b`, unless it is `'static`.
pub(crate) fn de_param(container: &Container<'_>) -> Option<LifetimeParam> {
    (!borrows_static(container)).then(|| {
        let mut param = LifetimeParam::new(de_lifetime(container));
        param.bounds = all(container).into_iter().collect();
        param
    })
}

/// The lifetimes that the mirror must be told of: those of a marked field, where neither the user nor serde says so.
pub(crate) fn to_mirror(field: &Field, variant: Option<&Attributes>) -> BTreeSet<Lifetime> {
    if field.marked() && explicit(field, variant).is_none() {
        of_marked(field)
    } else {
        BTreeSet::new()
    }
}

fn borrows_static(container: &Container<'_>) -> bool {
    all(container).iter().any(|lifetime| lifetime.ident == "static")
}

fn all(container: &Container<'_>) -> BTreeSet<Lifetime> {
    let of = |fields: &[Field], variant: Option<&Attributes>| -> BTreeSet<Lifetime> {
        let read = fields.iter().filter(|field| !field.skipped);
        read.flat_map(|field| of_field(field, variant)).collect()
    };
    match &container.data {
        Data::Struct(fields) => of(&fields.list, None),
        Data::Enum(variants) => {
            let variants = variants.iter();
            variants
                .flat_map(|variant| of(&variant.fields.list, Some(&variant.serde)))
                .collect()
        }
        Data::Union => BTreeSet::new(),
    }
}

fn of_field(field: &Field, variant: Option<&Attributes>) -> BTreeSet<Lifetime> {
    match explicit(field, variant) {
        Some(lifetimes) => lifetimes,
        None if field.marked() => of_marked(field),
        None if types::is_implicitly_borrowed(&field.ty) => types::lifetimes(&field.ty),
        None => BTreeSet::new(),
    }
}

/// Containers that own what they hold exist for `'static` too, so that alone is no reason to borrow.
fn of_marked(field: &Field) -> BTreeSet<Lifetime> {
    let mut lifetimes = types::lifetimes(&field.ty);
    lifetimes.retain(|lifetime| lifetime.ident != "static");
    lifetimes
}

/// `#[serde(borrow)]` or `#[serde(borrow = "'a + 'b")]`, on the field or on its newtype variant.
fn explicit(field: &Field, variant: Option<&Attributes>) -> Option<BTreeSet<Lifetime>> {
    let item = field.serde.find("borrow").or_else(|| variant?.find("borrow"))?;
    let parse = Punctuated::<Lifetime, Token![+]>::parse_terminated;
    Some(match item.text() {
        Some(text) => text
            .parse_with(parse)
            .map(|list| list.into_iter().collect())
            .unwrap_or_default(),
        None => types::lifetimes(&field.ty),
    })
}
