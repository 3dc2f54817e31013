//! Writing the code.

mod borrow;
mod bounds;
mod deserialize;
mod fields;
mod mirror;
mod presence;
mod serialize;

use proc_macro2::TokenStream;
use quote::quote;

use crate::direction::Direction;
use crate::model::Container;

/// Everything for one direction of one type.
///
/// ```text
/// const _: () = {
///     use ::serde_tensor::__private as __tensor;
///     use __tensor::UnknownFacts as _;
///
///     static __SITE0: __tensor::Site = …;     // a cell and an adapter for each marked field: fields.rs
///     struct __Field0; …
///     const _: () = __tensor::check_unmarked(…);   // one for each unmarked field: presence.rs
///
///     #[derive(__tensor::serde::Serialize)]   // mirror.rs
///     #[serde(remote = "Rollout", …)]
///     struct __Mirror { … }
///
///     impl serde::Serialize for Rollout { … }  // serialize.rs, deserialize.rs
///     impl TensorSerialize for Rollout { … }
/// };
/// ```
pub(crate) fn expand(container: &Container<'_>) -> TokenStream {
    let fields = fields::expand(container);
    let checks = presence::checks(container);
    let mirror = mirror::expand(container);
    let impls = match container.direction {
        Direction::Serialize => serialize::expand(container),
        Direction::Deserialize => deserialize::expand(container),
    };
    wrap(container, &quote!(#fields #checks #mirror #impls))
}

/// The mistakes, and impls that keep others from following.
pub(crate) fn stub(container: &Container<'_>, errors: &TokenStream) -> TokenStream {
    let impls = match container.direction {
        Direction::Serialize => serialize::stub(container),
        Direction::Deserialize => deserialize::stub(container),
    };
    let code = wrap(container, &impls);
    quote!(#errors #code)
}

/// Hides names, and keeps lints from what the user did not write.
fn wrap(container: &Container<'_>, code: &TokenStream) -> TokenStream {
    let private = container.private();
    quote! {
        #[doc(hidden)]
        #[allow(
            dead_code,
            deprecated,
            non_camel_case_types,
            unused_imports,
            unused_qualifications,
            unreachable_pub,
            single_use_lifetimes,
            explicit_outlives_requirements,
            clippy::all,
            clippy::pedantic,
            clippy::nursery,
            clippy::restriction
        )]
        const _: () = {
            use #private as __tensor;
            use __tensor::UnknownFacts as _;

            #code
        };
    }
}
