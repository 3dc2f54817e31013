//! The hidden type from which serde's own derive writes the code.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{LitStr, Member};

use super::{borrow, bounds};
use crate::direction::Direction;
use crate::model::{Container, Data, Field, Fields, Style, Variant};

/// The mirror: the user's fields and `#[serde(…)]` attributes, with an adapter on each marked field.
///
/// ```text
/// #[derive(__tensor::serde::Serialize)]
/// #[serde(rename_all = "camelCase")]                                   // the user's
/// #[serde(crate = "::serde_tensor::__private::serde", remote = "Rollout", bound(serialize = "T: …"))]
/// #[serde(rename(serialize = "Rollout"))]                              // unless the user renames it
/// struct __Mirror<T> {
///     episode: u64,
///     #[serde(default)]                                                // the user's
///     #[serde(serialize_with = "__Field1::serialize")]
///     rewards: T,
/// }
/// ```
///
/// Under `remote`, serde writes `__Mirror::serialize(&Rollout, serializer)`, which reads the fields of the real type.
pub(crate) fn expand(container: &Container<'_>) -> TokenStream {
    let derive = match container.direction {
        Direction::Serialize => quote!(__tensor::serde::Serialize),
        Direction::Deserialize => quote!(__tensor::serde::Deserialize),
    };
    let attributes = container_attributes(container);
    let packed = container.packed.then(|| quote!(#[repr(packed)]));
    let generics = &container.generics;
    let clause = &generics.where_clause;
    let head = quote! {
        #[derive(#derive)]
        #attributes
        #packed
    };
    match &container.data {
        Data::Struct(fields) => {
            let list = expand_fields(container, fields, None);
            match fields.style {
                Style::Named => quote!(#head struct __Mirror #generics #clause #list),
                Style::Tuple | Style::Unit => quote!(#head struct __Mirror #generics #list #clause;),
            }
        }
        Data::Enum(variants) => {
            let variants = variants.iter().map(|variant| expand_variant(container, variant));
            quote!(#head enum __Mirror #generics #clause { #(#variants,)* })
        }
        Data::Union => TokenStream::new(),
    }
}

fn container_attributes(container: &Container<'_>) -> TokenStream {
    let direction = container.direction.ident();
    let user = container.serde.mirrored_without(&["crate", "bound"]);
    let private = container.private();
    let serde = text(&quote!(#private::serde));
    let remote = text(&container.input.ident);
    let predicates = bounds::predicates(container);
    let bound = text(&quote!(#(#predicates),*));
    // The mirror's own name would be the type's name on the wire.
    let rename = (!container.serde.says("rename", container.direction)).then(|| {
        let name = container.input.ident.unraw().to_string();
        quote!(#[serde(rename(#direction = #name))])
    });
    quote! {
        #user
        #[serde(crate = #serde, remote = #remote, bound(#direction = #bound))]
        #rename
    }
}

fn expand_variant(container: &Container<'_>, variant: &Variant) -> TokenStream {
    let ident = &variant.ident;
    let user = variant.serde.mirrored_without(&[]);
    let adapter = on_variant(container, Some(variant)).map(|field| with(container, field));
    let fields = expand_fields(container, &variant.fields, Some(variant));
    quote!(#user #adapter #ident #fields)
}

fn expand_fields(container: &Container<'_>, fields: &Fields, variant: Option<&Variant>) -> TokenStream {
    let list = fields.list.iter().map(|field| {
        let user = field.serde.mirrored_without(&[]);
        let ours = field_attributes(container, fields, field, variant);
        let name = match &field.member {
            Member::Named(ident) => Some(quote!(#ident:)),
            Member::Unnamed(_) => None,
        };
        let ty = &field.ty;
        quote!(#user #ours #name #ty)
    });
    match fields.style {
        Style::Named => quote!({ #(#list,)* }),
        Style::Tuple => quote!((#(#list,)*)),
        Style::Unit => TokenStream::new(),
    }
}

fn field_attributes(
    container: &Container<'_>,
    fields: &Fields,
    field: &Field,
    variant: Option<&Variant>,
) -> TokenStream {
    if !field.marked() {
        return TokenStream::new();
    }
    let on_variant = on_variant(container, variant).is_some();
    let with = (!on_variant).then(|| with(container, field));
    if container.direction == Direction::Serialize {
        return with.unwrap_or_default();
    }
    // Serde takes a missing `Option` for `None` only where no function reads it. On a type with a default of its own,
    // a missing field comes from there.
    let named = fields.style == Style::Named;
    let default = (named && field.optional() && !container.serde.has("default") && !container.serde.has("transparent"))
        .then(|| quote!(#[serde(default)]));
    let lifetimes = borrow::to_mirror(field, variant.map(|variant| &variant.serde));
    let borrow = (!lifetimes.is_empty()).then(|| {
        let lifetimes = lifetimes.iter();
        let lifetimes = text(&quote!(#(#lifetimes)+*));
        quote!(#[serde(borrow = #lifetimes)])
    });
    quote!(#with #default #borrow)
}

/// The field whose adapter stands on the variant: serde's code for a newtype variant of an adjacently tagged enum
/// asks for the field's own `Deserialize` otherwise, to let it make something of missing content.
fn on_variant<'a>(container: &Container<'_>, variant: Option<&'a Variant>) -> Option<&'a Field> {
    let variant = variant?;
    if container.direction != Direction::Deserialize || !container.adjacently_tagged() {
        return None;
    }
    match &variant.fields.list[..] {
        [field] if variant.fields.style == Style::Tuple && field.marked() => Some(field),
        _ => None,
    }
}

/// `#[serde(serialize_with = "__Field0::serialize")]`, placed at the field's type, where errors belong.
fn with(container: &Container<'_>, field: &Field) -> TokenStream {
    let key = syn::Ident::new(container.direction.with_key(), proc_macro2::Span::call_site());
    let path = format!("{}::{}", field.adapter(), container.direction.key());
    let path = LitStr::new(&path, field.ty.span());
    quote!(#[serde(#key = #path)])
}

fn text(tokens: &impl ToTokens) -> LitStr {
    LitStr::new(&tokens.to_token_stream().to_string(), proc_macro2::Span::call_site())
}
