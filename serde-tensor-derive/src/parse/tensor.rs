//! `#[tensor(…)]`, read strictly.

use quote::{ToTokens, quote};
use syn::meta::ParseNestedMeta;
use syn::punctuated::Punctuated;
use syn::{Attribute, LitStr, Meta, Path, Token, WherePredicate};

use crate::direction::Direction;
use crate::errors::Errors;

/// What `#[tensor]` says of a field.
pub(crate) enum FieldMark {
    /// It is not marked.
    Unmarked,
    /// `#[tensor(none)]`: there is no tensor in it.
    None,
    /// `#[tensor]`, with a device or without.
    Tensor(FieldDevice),
}

/// The values of `device = "…"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldDevice {
    Auto,
    KeepCpu,
    Source,
    Cpu,
    Cuda(usize),
    Mps,
    Vulkan,
}

/// What `#[tensor(…)]` says of a type.
#[derive(Default)]
pub(crate) struct ContainerMark {
    /// `crate = "…"`: where the library is.
    pub(crate) krate: Option<Path>,
    /// `bound(serialize = "…", deserialize = "…")`, for the direction at work.
    pub(crate) bound: Option<Vec<WherePredicate>>,
}

fn tensor_attributes(attributes: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("tensor"))
}

impl FieldMark {
    /// Reads the `#[tensor]` among a field's attributes.
    pub(crate) fn new(attributes: &[Attribute], errors: &mut Errors) -> Self {
        let mut attributes = tensor_attributes(attributes);
        let Some(attribute) = attributes.next() else {
            return Self::Unmarked;
        };
        for again in attributes {
            errors.at(again, "`#[tensor]` is given twice for this field");
        }
        let mut none = false;
        let mut device = None;
        let mut read = |meta: ParseNestedMeta<'_>| {
            if meta.path.is_ident("device") {
                let text: LitStr = meta.value()?.parse()?;
                let parsed = FieldDevice::parse(&text);
                if device.is_some() {
                    errors.at(&meta.path, "`device` is given twice");
                }
                device = Some(parsed.unwrap_or_else(|error| {
                    errors.push(error);
                    FieldDevice::Auto
                }));
            } else if meta.path.is_ident("none") {
                none = true;
            } else {
                return Err(unknown(&meta, "a field", "`device = \"…\"` or `none`"));
            }
            Ok(())
        };
        let result = nested(attribute, &mut read);
        if let Err(error) = result {
            errors.push(error);
        }
        if none && device.is_some() {
            errors.at(
                attribute,
                "`none` says that there is no tensor, so there is no device to choose",
            );
        }
        if none {
            Self::None
        } else {
            Self::Tensor(device.unwrap_or(FieldDevice::Auto))
        }
    }
}

impl ContainerMark {
    /// Reads the `#[tensor(…)]` among a type's attributes.
    pub(crate) fn new(attributes: &[Attribute], direction: Direction, errors: &mut Errors) -> Self {
        let mut mark = Self::default();
        for attribute in tensor_attributes(attributes) {
            if let Meta::Path(_) = attribute.meta {
                errors.at(
                    attribute,
                    "`#[tensor]` marks a field; on a type only `crate` and `bound` can be set",
                );
                continue;
            }
            let result = nested(attribute, &mut |meta: ParseNestedMeta<'_>| {
                if meta.path.is_ident("crate") {
                    let text: LitStr = meta.value()?.parse()?;
                    if mark.krate.is_some() {
                        errors.at(&meta.path, "`crate` is given twice");
                    }
                    let path = text.parse_with(Path::parse_mod_style);
                    let message = "expected the path of the crate, such as `crate = \"::serde_tensor\"`";
                    mark.krate = Some(path.map_err(|_| syn::Error::new_spanned(&text, message))?);
                } else if meta.path.is_ident("bound") {
                    mark.read_bound(&meta, direction)?;
                } else {
                    return Err(unknown(
                        &meta,
                        "a type",
                        "`crate = \"…\"` or `bound(serialize = \"…\", deserialize = \"…\")`",
                    ));
                }
                Ok(())
            });
            if let Err(error) = result {
                errors.push(error);
            }
        }
        mark
    }

    fn read_bound(&mut self, bound: &ParseNestedMeta<'_>, direction: Direction) -> syn::Result<()> {
        let expected = "expected `bound(serialize = \"…\", deserialize = \"…\")`";
        if !bound.input.peek(syn::token::Paren) {
            return Err(bound.error(expected));
        }
        bound.parse_nested_meta(|meta| {
            let ours = meta.path.is_ident(direction.key());
            if !ours && !meta.path.is_ident("serialize") && !meta.path.is_ident("deserialize") {
                return Err(meta.error(expected));
            }
            let text: LitStr = meta.value()?.parse()?;
            let predicates = text.parse_with(Punctuated::<WherePredicate, Token![,]>::parse_terminated)?;
            if ours {
                self.bound.get_or_insert_default().extend(predicates);
            }
            Ok(())
        })
    }
}

/// Refuses `#[tensor]` on a variant.
pub(crate) fn refuse_on_variant(attributes: &[Attribute], errors: &mut Errors) {
    for attribute in tensor_attributes(attributes) {
        errors.at(
            attribute,
            "`#[tensor]` marks a field; put it on the fields of this variant",
        );
    }
}

/// Reads `key`s in parentheses; there may be none.
fn nested(attribute: &Attribute, read: &mut dyn FnMut(ParseNestedMeta<'_>) -> syn::Result<()>) -> syn::Result<()> {
    match &attribute.meta {
        Meta::Path(_) => Ok(()),
        Meta::List(list) => list.parse_args_with(syn::meta::parser(read)),
        Meta::NameValue(value) => Err(syn::Error::new_spanned(value, "expected `#[tensor]` or `#[tensor(…)]`")),
    }
}

fn unknown(meta: &ParseNestedMeta<'_>, place: &str, expected: &str) -> syn::Error {
    let key = meta.path.to_token_stream().to_string().replace(' ', "");
    meta.error(format_args!(
        "unknown key `{key}` in `#[tensor(…)]` of {place}, expected {expected}"
    ))
}

impl FieldDevice {
    fn parse(text: &LitStr) -> syn::Result<Self> {
        let value = text.value();
        Ok(match value.as_str() {
            "auto" => Self::Auto,
            "keep_cpu" => Self::KeepCpu,
            "source" => Self::Source,
            "cpu" => Self::Cpu,
            "cuda" => Self::Cuda(0),
            "mps" => Self::Mps,
            "vulkan" => Self::Vulkan,
            other => {
                let index = other
                    .strip_prefix("cuda:")
                    .filter(|index| index.bytes().all(|byte| byte.is_ascii_digit()))
                    .and_then(|index| index.parse().ok());
                Self::Cuda(index.ok_or_else(|| {
                    let valid = "expected one of `auto`, `keep_cpu`, `source`, `cpu`, `cuda`, `cuda:0` (any index), `mps`, `vulkan`";
                    syn::Error::new_spanned(text, format_args!("unknown device \"{value}\", {valid}"))
                })?)
            }
        })
    }

    /// The value as an expression, `private` being the path of the library's private module.
    pub(crate) fn expression(self, private: &proc_macro2::TokenStream) -> proc_macro2::TokenStream {
        let on = |device| quote!(#private::FieldDevice::On(#private::Device::#device));
        match self {
            Self::Auto => quote!(#private::FieldDevice::Auto),
            Self::KeepCpu => quote!(#private::FieldDevice::KeepCpu),
            Self::Source => quote!(#private::FieldDevice::Source),
            Self::Cpu => on(quote!(Cpu)),
            Self::Cuda(index) => on(quote!(Cuda(#index))),
            Self::Mps => on(quote!(Mps)),
            Self::Vulkan => on(quote!(Vulkan)),
        }
    }
}
