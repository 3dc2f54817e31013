//! The tensors of a body, in order, without their paths.

use super::descriptor::{self, Place};
use super::ext;
use super::read::{Cursor, Token};
use crate::error::Result;

#[cfg(test)]
thread_local! {
    /// How often this thread looked through a body.
    pub(crate) static LOOKS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Shows each tensor of a body: its fields, and the place of its data.
///
/// # Errors
///
/// Where the body is not MessagePack, or a tensor not one. Decoding it says the same, and better.
pub(crate) fn each<'b>(body: &'b [u8], mut show: impl FnMut(&'b [u8], Place<'b>) -> Result<()>) -> Result<()> {
    #[cfg(test)]
    LOOKS.set(LOOKS.get() + 1);
    let mut cursor = Cursor::new(body, 0);
    while !cursor.rest().is_empty() {
        match cursor.token()? {
            // The value inside comes next.
            Token::Ext(ext::SOME, payload) => cursor.rewind(cursor.position() - payload.len()),
            Token::Ext(ext::TENSOR, payload) => {
                let (fields, place) = descriptor::split(payload)?;
                show(fields, place)?;
            }
            _ => {}
        }
    }
    Ok(())
}
