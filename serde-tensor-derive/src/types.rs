//! Questions about types as they are written.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::visit::{self, Visit};
use syn::visit_mut::VisitMut;
use syn::{GenericArgument, Generics, Ident, Lifetime, PathArguments, PathSegment, Type};

/// The type without the invisible groups and parentheses around it.
pub(crate) fn ungroup(mut ty: &Type) -> &Type {
    loop {
        ty = match ty {
            Type::Group(group) => &group.elem,
            Type::Paren(paren) => &paren.elem,
            _ => return ty,
        };
    }
}

fn last_segment(ty: &Type) -> Option<&PathSegment> {
    match ungroup(ty) {
        Type::Path(path) => path.path.segments.last(),
        _ => None,
    }
}

fn arguments(segment: &PathSegment) -> Vec<&Type> {
    let PathArguments::AngleBracketed(list) = &segment.arguments else {
        return Vec::new();
    };
    list.args
        .iter()
        .filter_map(|argument| match argument {
            GenericArgument::Type(ty) => Some(ty),
            _ => None,
        })
        .collect()
}

/// What is inside of a type written `Option<…>`.
pub(crate) fn option(ty: &Type) -> Option<&Type> {
    let segment = last_segment(ty)?;
    match arguments(segment)[..] {
        [inner] if segment.ident == "Option" => Some(inner),
        _ => None,
    }
}

/// Whether serde borrows the type unasked: `&str`, `&[u8]`, and an `Option` of them.
pub(crate) fn is_implicitly_borrowed(ty: &Type) -> bool {
    let ty = option(ty).unwrap_or(ty);
    let Type::Reference(reference) = ungroup(ty) else {
        return false;
    };
    let named = |ty: &Type, name| matches!(ungroup(ty), Type::Path(path) if path.path.is_ident(name));
    reference.mutability.is_none()
        && match ungroup(&reference.elem) {
            Type::Slice(slice) => named(&slice.elem, "u8"),
            other => named(other, "str"),
        }
}

/// The lifetimes in a type that a deserializer could lend for; not those of function pointers and trait objects.
pub(crate) fn lifetimes(ty: &Type) -> BTreeSet<Lifetime> {
    struct Find(BTreeSet<Lifetime>);
    impl<'ast> Visit<'ast> for Find {
        fn visit_lifetime(&mut self, lifetime: &'ast Lifetime) {
            self.0.insert(lifetime.clone());
        }
        fn visit_type(&mut self, ty: &'ast Type) {
            if !matches!(ty, Type::FnPtr(_) | Type::TraitObject(_) | Type::ImplTrait(_)) {
                visit::visit_type(self, ty);
            }
        }
    }
    let mut find = Find(BTreeSet::new());
    find.visit_type(ty);
    find.0
}

/// The type, if it mentions no type or const parameter of `generics`, with each of its lifetimes made `'static`.
pub(crate) fn concrete(ty: &Type, generics: &Generics) -> Option<Type> {
    struct Static<'a>(&'a Generics);
    impl VisitMut for Static<'_> {
        fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
            if self.0.lifetimes().any(|own| own.lifetime == *lifetime) {
                *lifetime = Lifetime::new("'static", lifetime.span());
            }
        }
    }
    let names = |tokens: TokenStream| {
        let own = generics.type_params().map(|param| &param.ident);
        let own: Vec<&Ident> = own.chain(generics.const_params().map(|param| &param.ident)).collect();
        mentions(tokens, &own)
    };
    if names(ty.to_token_stream()) {
        return None;
    }
    let mut ty = ty.clone();
    Static(generics).visit_type_mut(&mut ty);
    Some(ty)
}

/// A macro may mention any of them.
fn mentions(tokens: TokenStream, names: &[&Ident]) -> bool {
    tokens.into_iter().any(|tree| match tree {
        proc_macro2::TokenTree::Ident(ident) => names.contains(&&ident),
        proc_macro2::TokenTree::Punct(punct) => punct.as_char() == '!' && !names.is_empty(),
        proc_macro2::TokenTree::Group(group) => mentions(group.stream(), names),
        proc_macro2::TokenTree::Literal(_) => false,
    })
}

/// The type parameters that a field's type uses, and so may need a bound.
#[derive(Default)]
pub(crate) struct Used {
    /// Parameters, and types such as `T::Item`, that stand where the field's own trait is needed.
    pub(crate) by_value: Vec<TokenStream>,
    /// Those that are the key of a marked map, which needs serde's trait.
    pub(crate) as_key: Vec<TokenStream>,
}

impl Used {
    /// Finds them; `PhantomData<T>` asks nothing of `T`, and neither do macros.
    pub(crate) fn find(ty: &Type, generics: &Generics, marked: bool) -> Self {
        let mut find = Find {
            params: generics.type_params().map(|param| &param.ident).collect(),
            maps: marked,
            used: Self::default(),
        };
        if let Type::Path(path) = ungroup(ty)
            && path.qself.is_none()
            && path.path.segments.len() > 1
            && path.path.leading_colon.is_none()
            && find.params.contains(&&path.path.segments[0].ident)
        {
            find.used.by_value.push(quote!(#path));
        }
        find.visit_type(ty);
        find.used
    }
}

struct Find<'a> {
    params: Vec<&'a Ident>,
    maps: bool,
    used: Used,
}

impl<'ast> Visit<'ast> for Find<'_> {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        let Some(last) = path.segments.last() else { return };
        if last.ident == "PhantomData" {
            return;
        }
        if let Some(ident) = path.get_ident()
            && self.params.contains(&ident)
        {
            self.used.by_value.push(quote!(#ident));
        }
        if self.maps
            && (last.ident == "HashMap" || last.ident == "BTreeMap")
            && let [key, value, ..] = arguments(last)[..]
        {
            // The third argument, a hasher, needs no bound.
            let mut keys = Find {
                params: self.params.clone(),
                maps: false,
                used: Used::default(),
            };
            keys.visit_type(key);
            self.used.as_key.append(&mut keys.used.by_value);
            self.visit_type(value);
            return;
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, _: &'ast syn::Macro) {}

    fn visit_expr(&mut self, _: &'ast syn::Expr) {}
}
