//! Derive macros of [`serde-tensor`](https://docs.rs/serde-tensor), which re-exports and documents them.
//!
//! The pipeline, a module each: `parse` reads the attributes, `model` says what the type is for one direction,
//! `check` finds the mistakes, `expand` writes the code. Mistakes are collected and reported together.

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
///
/// A field marked with `#[tensor]` holds tensors: a tensor, a type that derives this too, or a container of them. Every
/// other field is serde's alone, and every `#[serde(…)]` attribute keeps its meaning, beside `#[tensor]` as well. A
/// field that is known to hold a tensor type and is not marked does not compile.
///
/// # Attributes of a field
///
/// * `#[tensor]`: it holds tensors. `Vec<f32>`, `Box<[f32]>` and `[f32; N]`, of any element type, are tensors of one
///   dim when they are marked.
/// * `#[tensor(device = "…")]`: where its tensors land, on the receiving type: `auto` (as without), `keep_cpu`,
///   `source`, `cpu`, `cuda`, `cuda:1`, `mps`, `vulkan`. On the sending type `keep_cpu` and `source` go along as a wish.
/// * `#[tensor(none)]`: it holds no tensor, whatever its type; it is not looked at when a value is scanned.
///
/// # Attributes of a type
///
/// * `#[tensor(crate = "…")]`: the path of `serde_tensor`, if it is not `::serde_tensor`.
/// * `#[tensor(bound(serialize = "…", deserialize = "…"))]`: the bounds that marked fields need, in place of
///   `T: TensorSerialize` and `T: TensorDeserialize<'de>` for each type parameter `T` in them. (`#[serde(bound)]` is
///   for the other fields, as always.)
#[proc_macro_derive(TensorSerialize, attributes(tensor, serde))]
pub fn derive_tensor_serialize(input: TokenStream) -> TokenStream {
    derive(input.into(), Direction::Serialize).into()
}

/// Implements `serde_tensor::TensorDeserialize` and `serde::Deserialize`.
///
/// The attributes are those of the derive macro `TensorSerialize`.
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
