//! The where clauses of the impls.
//!
//! As serde infers them, from the type parameters that the fields use: `T: Serialize` for unmarked fields,
//! `T: TensorSerialize` for marked ones. `#[serde(bound)]` replaces the first kind, `#[tensor(bound)]` the second.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Generics, Lifetime, WherePredicate};

use super::borrow;
use crate::direction::Direction;
use crate::model::{Container, Data, Field};
use crate::types::Used;

/// The type's own where clause and everything the impls need besides, for the impls and for the mirror alike.
pub(crate) fn predicates(container: &Container<'_>) -> Vec<TokenStream> {
    let mut all = Predicates {
        container,
        lifetime: borrow::de_lifetime(container),
        list: Vec::new(),
    };
    all.own_where_clause();
    if let Some(bound) = container.serde.bound(container.direction) {
        all.extend(&bound);
    } else {
        all.infer_serde();
        all.infer_default();
    }
    match &container.bound {
        Some(bound) => all.extend(bound),
        None => all.infer_tensor(),
    }
    all.on_fields_and_variants();
    all.list
}

struct Predicates<'a> {
    container: &'a Container<'a>,
    lifetime: Lifetime,
    list: Vec<TokenStream>,
}

impl Predicates<'_> {
    fn own_where_clause(&mut self) {
        if let Some(clause) = &self.container.generics.where_clause {
            self.list
                .extend(clause.predicates.iter().map(ToTokens::to_token_stream));
        }
    }

    fn extend(&mut self, bound: &[WherePredicate]) {
        self.list.extend(bound.iter().map(ToTokens::to_token_stream));
    }

    fn infer_serde(&mut self) {
        let needs = |field: &Field| !field.marked() && !field.skipped && !field.by_function && !self.says_own(field);
        for used in self.used(needs, false) {
            let serde = self.serde_trait();
            self.list.extend(used.by_value.iter().map(|ty| quote!(#ty: #serde)));
        }
    }

    fn infer_tensor(&mut self) {
        let needs = |field: &Field| field.marked() && !self.says_own(field);
        for used in self.used(needs, true) {
            let (serde, tensor) = (self.serde_trait(), self.tensor_trait());
            self.list.extend(used.as_key.iter().map(|ty| quote!(#ty: #serde)));
            self.list.extend(used.by_value.iter().map(|ty| quote!(#ty: #tensor)));
        }
    }

    /// `T: Default` for what is filled in, and the type's own `Default` for `#[serde(default)]` on it.
    fn infer_default(&mut self) {
        let container = self.container;
        if container.direction != Direction::Deserialize {
            return;
        }
        let plain = |item: Option<&crate::parse::Item>| item.is_some_and(|item| item.text().is_none());
        let private = container.private();
        let on_type = container.serde.find("default");
        if plain(on_type) {
            let ident = &container.input.ident;
            let (_, arguments, _) = container.generics.split_for_impl();
            self.list
                .push(quote!(#ident #arguments: #private::core::default::Default));
        }
        let needs = |field: &Field| match field.serde.find("default") {
            Some(item) => item.text().is_none(),
            None => field.serde.skips(Direction::Deserialize) && on_type.is_none(),
        };
        for used in self.used(needs, false) {
            self.list.extend(
                used.by_value
                    .iter()
                    .map(|ty| quote!(#ty: #private::core::default::Default)),
            );
        }
    }

    /// `bound` on fields and variants adds to all of these.
    fn on_fields_and_variants(&mut self) {
        let direction = self.container.direction;
        for field in self.container.fields() {
            self.extend(&field.serde.bound(direction).unwrap_or_default());
        }
        if let Data::Enum(variants) = &self.container.data {
            for variant in variants {
                self.extend(&variant.serde.bound(direction).unwrap_or_default());
            }
        }
    }

    fn used(&self, needs: impl Fn(&Field) -> bool, marked: bool) -> Vec<Used> {
        let generics = &self.container.generics;
        let fields = self.container.fields();
        let fields = fields.into_iter().filter(|field| needs(field));
        fields.map(|field| Used::find(&field.ty, generics, marked)).collect()
    }

    /// Whether the field or its variant states its bound itself.
    fn says_own(&self, field: &Field) -> bool {
        let direction = self.container.direction;
        let of_variant = match &self.container.data {
            Data::Enum(variants) => variants.iter().any(|variant| {
                variant.fields.list.iter().any(|own| own.index == field.index)
                    && variant.serde.bound(direction).is_some()
            }),
            Data::Struct(_) | Data::Union => false,
        };
        of_variant || field.serde.bound(direction).is_some()
    }

    fn serde_trait(&self) -> TokenStream {
        let (private, lifetime) = (self.container.private(), &self.lifetime);
        match self.container.direction {
            Direction::Serialize => quote!(#private::serde::Serialize),
            Direction::Deserialize => quote!(#private::serde::Deserialize<#lifetime>),
        }
    }

    fn tensor_trait(&self) -> TokenStream {
        let (krate, lifetime) = (self.container.krate(), &self.lifetime);
        match self.container.direction {
            Direction::Serialize => quote!(#krate::TensorSerialize),
            Direction::Deserialize => quote!(#krate::TensorDeserialize<#lifetime>),
        }
    }
}

/// The parameters of an impl for the type, the deserializer's lifetime first.
pub(crate) fn impl_params(container: &Container<'_>) -> TokenStream {
    let mut generics: Generics = container.generics.clone();
    if container.direction == Direction::Deserialize
        && let Some(lifetime) = borrow::de_param(container)
    {
        generics.params.insert(0, syn::GenericParam::Lifetime(lifetime));
    }
    generics.split_for_impl().0.to_token_stream()
}
