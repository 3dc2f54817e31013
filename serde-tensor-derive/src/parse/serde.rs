//! `#[serde(…)]`, read leniently: serde's own derive, which sees the same attributes, reports what is wrong in them.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, ExprLit, Lit, LitStr, Path, Token, WherePredicate, token};

use crate::direction::Direction;

/// All of serde's attributes on one type, variant or field.
pub(crate) struct Attributes {
    items: Vec<Item>,
    /// Attributes that could not be read, passed on as they are.
    unread: Vec<Attribute>,
}

/// One `key`, `key = "text"` or `key(serialize = "text", …)`.
pub(crate) struct Item {
    path: Path,
    value: Value,
}

enum Value {
    None,
    Text(LitStr),
    List(Vec<Item>),
    Other(Expr),
}

impl Attributes {
    /// Reads the `#[serde(…)]` among `attributes`.
    pub(crate) fn new(attributes: &[Attribute]) -> Self {
        let mut all = Self {
            items: Vec::new(),
            unread: Vec::new(),
        };
        for attribute in attributes {
            if attribute.path().is_ident("serde") {
                match attribute.parse_args_with(Punctuated::<Item, Token![,]>::parse_terminated) {
                    Ok(items) => all.items.extend(items),
                    Err(_) => all.unread.push(attribute.clone()),
                }
            }
        }
        all
    }

    /// The first item with that key.
    pub(crate) fn find(&self, key: &str) -> Option<&Item> {
        self.items.iter().find(|item| item.path.is_ident(key))
    }

    /// Whether there is an item with that key.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.find(key).is_some()
    }

    /// Whether the field or variant is left out.
    pub(crate) fn skips(&self, direction: Direction) -> bool {
        self.has("skip") || self.has(direction.skip_key())
    }

    /// The item that names a function of the user's for this direction.
    pub(crate) fn with(&self, direction: Direction) -> Option<&Item> {
        self.find("with").or_else(|| self.find(direction.with_key()))
    }

    /// Whether the item `key = …` or `key(serialize = …)` says something for this direction.
    pub(crate) fn says(&self, key: &str, direction: Direction) -> bool {
        self.items
            .iter()
            .filter(|item| item.path.is_ident(key))
            .any(|item| match &item.value {
                Value::List(list) => list.iter().any(|item| item.path.is_ident(direction.key())),
                Value::None | Value::Text(_) | Value::Other(_) => true,
            })
    }

    /// The predicates of `bound` for this direction, if it is given.
    pub(crate) fn bound(&self, direction: Direction) -> Option<Vec<WherePredicate>> {
        let texts: Vec<&LitStr> = self
            .items
            .iter()
            .filter(|item| item.path.is_ident("bound"))
            .flat_map(|item| item.texts(direction))
            .collect();
        if texts.is_empty() {
            return None;
        }
        let parse = Punctuated::<WherePredicate, Token![,]>::parse_terminated;
        Some(
            texts
                .iter()
                .filter_map(|text| text.parse_with(parse).ok())
                .flatten()
                .collect(),
        )
    }

    /// The attributes, to stand on the mirror, without the items with those keys.
    pub(crate) fn mirrored_without(&self, keys: &[&str]) -> TokenStream {
        let unread = &self.unread;
        let kept = |item: &&Item| !keys.iter().any(|key| item.path.is_ident(key));
        let items: Vec<&Item> = self.items.iter().filter(kept).collect();
        let items = (!items.is_empty()).then(|| quote!(#[serde(#(#items),*)]));
        quote!(#(#unread)* #items)
    }
}

impl Item {
    /// The text of `key = "text"`.
    pub(crate) fn text(&self) -> Option<&LitStr> {
        match &self.value {
            Value::Text(text) => Some(text),
            Value::None | Value::List(_) | Value::Other(_) => None,
        }
    }

    /// The texts of `key = "text"` and of `key(serialize = "text")` for this direction.
    fn texts(&self, direction: Direction) -> Vec<&LitStr> {
        match &self.value {
            Value::Text(text) => vec![text],
            Value::List(list) => list
                .iter()
                .filter(|item| item.path.is_ident(direction.key()))
                .filter_map(Item::text)
                .collect(),
            Value::None | Value::Other(_) => Vec::new(),
        }
    }
}

impl Parse for Item {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let path = input.call(Path::parse_mod_style)?;
        let value = if input.parse::<Option<Token![=]>>()?.is_some() {
            match input.parse()? {
                Expr::Lit(ExprLit {
                    lit: Lit::Str(text), ..
                }) => Value::Text(text),
                other => Value::Other(other),
            }
        } else if input.peek(token::Paren) {
            let content;
            syn::parenthesized!(content in input);
            let list = Punctuated::<Self, Token![,]>::parse_terminated(&content)?;
            Value::List(list.into_iter().collect())
        } else {
            Value::None
        };
        Ok(Self { path, value })
    }
}

impl ToTokens for Item {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let path = &self.path;
        tokens.extend(match &self.value {
            Value::None => quote!(#path),
            Value::Text(text) => quote!(#path = #text),
            Value::List(list) => quote!(#path(#(#list),*)),
            Value::Other(expr) => quote!(#path = #expr),
        });
    }
}
