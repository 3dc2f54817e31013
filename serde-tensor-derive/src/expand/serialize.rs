//! `Serialize` and `TensorSerialize`.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

use super::{bounds, presence};
use crate::model::{Container, Data, Field, Variant};

/// ```text
/// impl serde::Serialize for Rollout {
///     fn serialize<__S: Serializer>(&self, serializer: __S) -> Result<__S::Ok, __S::Error> {
///         use __tensor::MirrorFailed as _;    // has a `serialize` too, if serde's derive has reported an error
///         __tensor::announce(self);           // how much memory its tensors take
///         <__Mirror>::serialize(self, serializer)
///     }
/// }
///
/// impl TensorSerialize for Rollout {
///     const PRESENCE: Presence = …;           // presence.rs
///     fn contains_tensor(&self) -> bool { … } // below
///     fn serialize_tensors<…>(&self, serializer: __S) -> … { Serialize::serialize(self, serializer) }
///     fn visit_tensors(…) -> … { … }          // below
/// }
/// ```
pub(crate) fn expand(container: &Container<'_>) -> TokenStream {
    let (_, arguments, _) = container.generics.split_for_impl();
    let constants = presence::constants(container);
    let contains = contains(container);
    let visits = visits(container);
    impls(
        container,
        &bounds::predicates(container),
        &quote! {
            use __tensor::MirrorFailed as _;
            __tensor::announce(self);
            <__Mirror #arguments>::serialize(self, serializer)
        },
        &quote! {
            #constants

            fn contains_tensor(&self) -> __tensor::core::primitive::bool {
                #contains
            }
        },
        &visits,
    )
}

/// The same without content, for a type with mistakes.
pub(crate) fn stub(container: &Container<'_>) -> TokenStream {
    let stub = quote!(__tensor::not_derived());
    let presence = quote! {
        const PRESENCE: __tensor::Presence = __tensor::Presence::Never;

        fn contains_tensor(&self) -> __tensor::core::primitive::bool {
            #stub
        }
    };
    let clause = container.generics.where_clause.iter();
    let predicates: Vec<_> = clause
        .flat_map(|clause| &clause.predicates)
        .map(ToTokens::to_token_stream)
        .collect();
    impls(container, &predicates, &stub, &presence, &stub)
}

fn impls(
    container: &Container<'_>,
    predicates: &[TokenStream],
    serialize: &TokenStream,
    presence: &TokenStream,
    visits: &TokenStream,
) -> TokenStream {
    let ident = &container.input.ident;
    let krate = container.krate();
    let (_, arguments, _) = container.generics.split_for_impl();
    let params = bounds::impl_params(container);
    quote! {
        #[automatically_derived]
        impl #params __tensor::serde::Serialize for #ident #arguments where #(#predicates,)* {
            fn serialize<__S>(&self, serializer: __S) -> __tensor::core::result::Result<__S::Ok, __S::Error>
            where
                __S: __tensor::serde::Serializer,
            {
                #serialize
            }
        }

        #[automatically_derived]
        impl #params #krate::TensorSerialize for #ident #arguments where #(#predicates,)* {
            #presence

            fn serialize_tensors<__S>(&self, serializer: __S) -> __tensor::core::result::Result<__S::Ok, __S::Error>
            where
                __S: __tensor::serde::Serializer,
            {
                __tensor::serde::Serialize::serialize(self, serializer)
            }

            fn visit_tensors<'__value>(
                &'__value self,
                visitor: &mut __tensor::TensorVisitor<'__value, '_>,
            ) -> #krate::Result<()> {
                visitor.nested(|visitor| #visits)
            }
        }
    }
}

/// Whether a value holds a tensor: marked fields first, then those one cannot see into.
///
/// ```text
/// false || __tensor::Probe::<Tensor>::contains(&self.rewards)
///     || (!Option::is_none(&self.hidden) && __tensor::Probe::<…>::contains(&self.hidden))   // skip_serializing_if
///     || __tensor::contains_unmarked(__tensor::Probe::<BTreeMap<String, f64>>::I8.unmarked, &self.info)
/// ```
fn contains(container: &Container<'_>) -> TokenStream {
    if container.converts() {
        return quote!(__tensor::contains_unmarked(__tensor::Claim::UNKNOWN, self));
    }
    each_variant(container, &quote!(false), |fields| {
        let marked = fields.iter().filter(|(field, _)| field.marked()).map(|(field, value)| {
            let (ty, skip) = (&field.ty, not_skipped(field, value));
            quote!(|| (#skip __tensor::Probe::<#ty>::contains(#value)))
        });
        let others = fields
            .iter()
            .filter(|(field, _)| !field.marked())
            .filter_map(|(field, value)| {
                let claim = presence::claim_of_field(field, 8)?;
                // What a function writes shows only in the whole value.
                let (skip, value) = if field.by_function {
                    (TokenStream::new(), quote!(self))
                } else {
                    (not_skipped(field, value), value.clone())
                };
                Some(quote!(|| (#skip __tensor::contains_unmarked(#claim, #value))))
            });
        quote!(false #(#marked)* #(#others)*)
    })
}

/// Shows the visitor the marked fields.
///
/// ```text
/// __tensor::Probe::<Tensor>::visit(&self.rewards, visitor)?;
/// if !Option::is_none(&self.hidden) {
///     __tensor::Probe::<Option<Vec<Tensor>>>::visit(&self.hidden, visitor)?;
/// }
/// Ok(())
/// ```
fn visits(container: &Container<'_>) -> TokenStream {
    let done = quote!(__tensor::core::result::Result::Ok(()));
    // A packed field cannot be borrowed; its tensors are found while serializing.
    if container.converts() || container.packed {
        return done;
    }
    each_variant(container, &done, |fields| {
        let visits = fields.iter().filter(|(field, _)| field.marked()).map(|(field, value)| {
            let (ty, skip) = (&field.ty, not_skipped(field, value));
            quote! {
                if #skip true {
                    __tensor::Probe::<#ty>::visit(#value, visitor)?;
                }
            }
        });
        quote!({ #(#visits)* #done })
    })
}

/// `!path(&self.hidden) &&` for a field with `skip_serializing_if`.
fn not_skipped(field: &Field, value: &TokenStream) -> TokenStream {
    match &field.skip_if {
        Some(path) => quote!(!#path(#value) &&),
        None => TokenStream::new(),
    }
}

/// An expression over the fields of the value at hand, each with an expression that borrows it; `empty` where no
/// field matters.
fn each_variant(
    container: &Container<'_>,
    empty: &TokenStream,
    of_fields: impl Fn(&[(&Field, TokenStream)]) -> TokenStream,
) -> TokenStream {
    match &container.data {
        Data::Struct(fields) => {
            let fields: Vec<_> = fields
                .list
                .iter()
                .map(|field| (field, borrow(container, field)))
                .collect();
            of_fields(&fields)
        }
        Data::Enum(variants) => {
            let arms: Vec<_> = variants
                .iter()
                .filter(|variant| matters(variant))
                .map(|variant| {
                    let ident = &variant.ident;
                    let members = variant.fields.list.iter().map(|field| &field.member);
                    let bindings: Vec<_> = variant.fields.list.iter().map(Field::binding).collect();
                    let fields: Vec<_> = variant
                        .fields
                        .list
                        .iter()
                        .zip(&bindings)
                        .map(|(f, b)| (f, quote!(#b)))
                        .collect();
                    let body = of_fields(&fields);
                    quote!(Self::#ident { #(#members: #bindings,)* } => #body,)
                })
                .collect();
            let rest = (arms.len() < variants.len() || arms.is_empty()).then(|| quote!(_ => #empty,));
            quote!(match self { #(#arms)* #rest })
        }
        Data::Union => empty.clone(),
    }
}

fn matters(variant: &Variant) -> bool {
    !variant.skipped && !variant.fields.list.is_empty()
}

fn borrow(container: &Container<'_>, field: &Field) -> TokenStream {
    let member = &field.member;
    if container.packed {
        quote!(&{ self.#member })
    } else {
        quote!(&self.#member)
    }
}
