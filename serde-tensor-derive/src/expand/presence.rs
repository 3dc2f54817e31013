//! What is known of the fields: the presence constants, and the compile error for a forgotten mark.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use crate::model::{Container, Data, Field, Fields};
use crate::parse::FieldMark;
use crate::types;

/// For each unmarked field of a concrete type:
///
/// ```text
/// const _: () = __tensor::check_unmarked(
///     __tensor::Probe::<Vec<Tensor>>::I8.unmarked,
///     "the field `hidden` of `Rollout` holds tensors: mark it with `#[tensor]`",
/// );
/// ```
pub(crate) fn checks(container: &Container<'_>) -> TokenStream {
    if container.converts() {
        return TokenStream::new();
    }
    let fields = container.fields();
    fields
        .into_iter()
        .filter(|field| field.unmarked())
        .filter_map(|field| {
            let ty = types::concrete(&field.ty, &container.generics)?;
            let message = format!(
                "the field `{}` of `{}` holds tensors: mark it with `#[tensor]`",
                field.name(),
                field.owner
            );
            let span = field.ty.span();
            Some(quote_spanned! {span=>
                const _: () = __tensor::check_unmarked(__tensor::Probe::<#ty>::I8.unmarked, #message);
            })
        })
        .collect()
}

/// The level constants and the presence, each level from the fields' level below:
///
/// ```text
/// const PRESENCE: Presence = <Self as TensorSerialize>::I8.marked.presence;
/// const I8: Facts = Facts::both(Claim::all(&[
///     __tensor::Probe::<Tensor>::I7.marked,
///     __tensor::Probe::<BTreeMap<String, f64>>::I7.unmarked,
/// ]));
/// …
/// const I0: Facts = Facts::UNKNOWN;
/// ```
pub(crate) fn constants(container: &Container<'_>) -> TokenStream {
    let krate = container.krate();
    let levels = (1_u8..=8).rev().map(|level| {
        let claim = claim(container, level - 1);
        let level = level_ident(level);
        quote!(const #level: __tensor::Facts = __tensor::Facts::both(#claim);)
    });
    quote! {
        const PRESENCE: __tensor::Presence = <Self as #krate::TensorSerialize>::I8.marked.presence;
        #(#levels)*
        const I0: __tensor::Facts = __tensor::Facts::UNKNOWN;
    }
}

fn claim(container: &Container<'_>, level: u8) -> TokenStream {
    if container.converts() {
        return quote!(__tensor::Claim::UNKNOWN);
    }
    match &container.data {
        Data::Struct(fields) => claim_of_all(fields, level),
        Data::Enum(variants) => {
            let variants = variants.iter().filter(|variant| !variant.skipped);
            let claims = variants.map(|variant| claim_of_all(&variant.fields, level));
            quote!(__tensor::Claim::either(&[#(#claims),*]))
        }
        Data::Union => TokenStream::new(),
    }
}

fn claim_of_all(fields: &Fields, level: u8) -> TokenStream {
    let claims = fields.list.iter().filter_map(|field| {
        let claim = claim_of_field(field, level)?;
        let optional = field.skip_if.as_ref().map(|_| quote!(.optional()));
        Some(quote!(#claim #optional))
    });
    quote!(__tensor::Claim::all(&[#(#claims),*]))
}

/// What one field claims on a level; nothing if it is left out or said to hold none.
pub(crate) fn claim_of_field(field: &Field, level: u8) -> Option<TokenStream> {
    let ty = &field.ty;
    let level = level_ident(level);
    match field.mark {
        _ if field.skipped => None,
        FieldMark::None => None,
        FieldMark::Tensor(_) => Some(quote!(__tensor::Probe::<#ty>::#level.marked)),
        FieldMark::Unmarked if field.by_function => Some(quote!(__tensor::Probe::<#ty>::#level.by_function())),
        FieldMark::Unmarked => Some(quote!(__tensor::Probe::<#ty>::#level.unmarked)),
    }
}

fn level_ident(level: u8) -> Ident {
    Ident::new(&format!("I{level}"), Span::call_site())
}
