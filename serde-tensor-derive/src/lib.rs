//! Derive macros of [`serde-tensor`](https://docs.rs/serde-tensor), which re-exports and documents them.
//!
//! The pipeline, a module each: [`parse`] reads the attributes, [`model`] says what the type is for one direction,
//! [`check`] finds the mistakes, [`expand`] writes the code. Mistakes are collected and reported together.

mod check;
mod direction;
mod errors;
mod expand;
mod model;
mod parse;
mod receiver;
mod types;

use direction::Direction;
use errors::Errors;
use proc_macro::TokenStream;

/// Implements `serde_tensor::TensorSerialize` and `serde::Serialize`.
#[proc_macro_derive(TensorSerialize, attributes(tensor, serde))]
pub fn derive_tensor_serialize(input: TokenStream) -> TokenStream {
    derive(input.into(), Direction::Serialize).into()
}

/// Implements `serde_tensor::TensorDeserialize` and `serde::Deserialize`.
#[proc_macro_derive(TensorDeserialize, attributes(tensor, serde))]
pub fn derive_tensor_deserialize(input: TokenStream) -> TokenStream {
    derive(input.into(), Direction::Deserialize).into()
}

fn derive(input: proc_macro2::TokenStream, direction: Direction) -> proc_macro2::TokenStream {
    let input = match syn::parse2(input).and_then(receiver::replace_self) {
        Ok(input) => input,
        Err(error) => return error.into_compile_error(),
    };
    let mut errors = Errors::default();
    let container = model::Container::new(&input, direction, &mut errors);
    check::check(&container, &mut errors);
    match errors.finish() {
        Ok(()) => expand::expand(&container),
        Err(errors) => expand::stub(&container, &errors),
    }
}
