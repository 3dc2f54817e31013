//! `Self` in the type's own definition, written out: in the mirror it would mean the mirror.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::DeriveInput;

/// Replaces `Self` by the type's name and parameters everywhere in the input, strings in `#[serde(…)]` included.
pub(crate) fn replace_self(input: DeriveInput) -> syn::Result<DeriveInput> {
    let tokens = input.to_token_stream();
    if !mentions_self(tokens.clone()) {
        return Ok(input);
    }
    let receiver = Receiver::new(&input);
    syn::parse2(receiver.replace(tokens))
}

fn mentions_self(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|tree| match tree {
        TokenTree::Ident(ident) => ident == "Self",
        TokenTree::Group(group) => mentions_self(group.stream()),
        TokenTree::Literal(literal) => literal.to_string().contains("Self"),
        TokenTree::Punct(_) => false,
    })
}

struct Receiver {
    ident: Ident,
    arguments: TokenStream,
}

impl Receiver {
    fn new(input: &DeriveInput) -> Self {
        let (_, arguments, _) = input.generics.split_for_impl();
        Self {
            ident: input.ident.clone(),
            arguments: arguments.to_token_stream(),
        }
    }

    /// `Self::f` becomes `<Rollout<'a, T>>::f`, any other `Self` becomes `Rollout<'a, T>`.
    fn replace(&self, tokens: TokenStream) -> TokenStream {
        let mut out = TokenStream::new();
        let mut trees = tokens.into_iter().peekable();
        // Only what stands in `serde(…)` may hold code in a string.
        let mut after_serde = false;
        while let Some(tree) = trees.next() {
            let is_key = matches!(&tree, TokenTree::Ident(ident) if ident == "serde");
            match tree {
                TokenTree::Ident(ident) if ident == "Self" => {
                    let path = matches!(trees.peek(), Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
                    out.extend(self.written_out(ident.span(), path));
                }
                TokenTree::Group(group) => {
                    let stream = if after_serde {
                        self.replace_strings(group.stream())
                    } else {
                        self.replace(group.stream())
                    };
                    let mut replaced = Group::new(group.delimiter(), stream);
                    replaced.set_span(group.span());
                    out.extend([TokenTree::Group(replaced)]);
                }
                other => out.extend([other]),
            }
            after_serde = is_key;
        }
        out
    }

    /// Replaces inside the string literals, which hold paths, types and bounds.
    fn replace_strings(&self, tokens: TokenStream) -> TokenStream {
        tokens
            .into_iter()
            .map(|tree| match tree {
                TokenTree::Literal(literal) => self.replace_string(literal),
                TokenTree::Group(group) => {
                    let mut replaced = Group::new(group.delimiter(), self.replace_strings(group.stream()));
                    replaced.set_span(group.span());
                    TokenTree::Group(replaced)
                }
                other => other,
            })
            .collect()
    }

    fn replace_string(&self, literal: proc_macro2::Literal) -> TokenTree {
        let code = syn::parse_str::<syn::LitStr>(&literal.to_string())
            .ok()
            .and_then(|text| text.value().parse::<TokenStream>().ok())
            .filter(|code| mentions_self(code.clone()));
        let Some(code) = code else {
            return TokenTree::Literal(literal);
        };
        let mut replaced = proc_macro2::Literal::string(&self.replace(code).to_string());
        replaced.set_span(literal.span());
        TokenTree::Literal(replaced)
    }

    fn written_out(&self, span: Span, path: bool) -> TokenStream {
        let mut ident = self.ident.clone();
        ident.set_span(span);
        let arguments = &self.arguments;
        if path {
            quote!(<#ident #arguments>)
        } else {
            quote!(#ident #arguments)
        }
    }
}
