//! `Deserialize` and `TensorDeserialize`.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

use super::{borrow, bounds};
use crate::model::Container;

/// ```text
/// impl<'de> serde::Deserialize<'de> for Rollout {
///     fn deserialize<__D: Deserializer<'de>>(deserializer: __D) -> Result<Self, __D::Error> {
///         use __tensor::MirrorFailed as _;    // has a `deserialize` too, if serde's derive has reported an error
///         <__Mirror>::deserialize(deserializer)
///     }
/// }
///
/// impl<'de> TensorDeserialize<'de> for Rollout {
///     fn deserialize_tensors<__D: Deserializer<'de>>(deserializer: __D) -> Result<Self, __D::Error> {
///         Deserialize::deserialize(deserializer)
///     }
/// }
/// ```
pub(crate) fn expand(container: &Container<'_>) -> TokenStream {
    let (_, arguments, _) = container.generics.split_for_impl();
    let body = quote! {
        use __tensor::MirrorFailed as _;
        <__Mirror #arguments>::deserialize(deserializer)
    };
    impls(container, &bounds::predicates(container), &body)
}

/// The same without content, for a type with mistakes.
pub(crate) fn stub(container: &Container<'_>) -> TokenStream {
    // A type with a lifetime `'de` cannot have these impls at all.
    if container.generics.lifetimes().any(|param| param.lifetime.ident == "de") {
        return TokenStream::new();
    }
    let clause = container.generics.where_clause.iter();
    let predicates: Vec<_> = clause
        .flat_map(|clause| &clause.predicates)
        .map(ToTokens::to_token_stream)
        .collect();
    impls(container, &predicates, &quote!(__tensor::not_derived()))
}

fn impls(container: &Container<'_>, predicates: &[TokenStream], body: &TokenStream) -> TokenStream {
    let ident = &container.input.ident;
    let krate = container.krate();
    let (_, arguments, _) = container.generics.split_for_impl();
    let params = bounds::impl_params(container);
    let lifetime = borrow::de_lifetime(container);
    quote! {
        #[automatically_derived]
        impl #params __tensor::serde::Deserialize<#lifetime> for #ident #arguments where #(#predicates,)* {
            fn deserialize<__D>(deserializer: __D) -> __tensor::core::result::Result<Self, __D::Error>
            where
                __D: __tensor::serde::Deserializer<#lifetime>,
            {
                #body
            }
        }

        #[automatically_derived]
        impl #params #krate::TensorDeserialize<#lifetime> for #ident #arguments where #(#predicates,)* {
            fn deserialize_tensors<__D>(deserializer: __D) -> __tensor::core::result::Result<Self, __D::Error>
            where
                __D: __tensor::serde::Deserializer<#lifetime>,
            {
                __tensor::serde::Deserialize::deserialize(deserializer)
            }
        }
    }
}
