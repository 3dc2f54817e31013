//! All mistakes of one type, reported together.

use proc_macro2::TokenStream;
use quote::ToTokens;

/// Collects mistakes. Dropping it unread is a bug in the macro, and panics.
#[derive(Default)]
pub(crate) struct Errors {
    found: Vec<syn::Error>,
    read: bool,
}

impl Errors {
    /// Records a mistake at the place of `tokens`.
    pub(crate) fn at(&mut self, tokens: impl ToTokens, message: impl std::fmt::Display) {
        self.found.push(syn::Error::new_spanned(tokens, message));
    }

    /// Records a mistake that syn found.
    pub(crate) fn push(&mut self, error: syn::Error) {
        self.found.push(error);
    }

    /// All of them as `compile_error!`s, if there are any.
    pub(crate) fn finish(mut self) -> Result<(), TokenStream> {
        self.read = true;
        if self.found.is_empty() {
            Ok(())
        } else {
            Err(self.found.iter().map(syn::Error::to_compile_error).collect())
        }
    }
}

impl Drop for Errors {
    fn drop(&mut self) {
        assert!(self.read || std::thread::panicking(), "mistakes were not reported");
    }
}
