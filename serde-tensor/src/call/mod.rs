//! What one encoding or decoding call knows, kept on its thread.
//!
//! serde gives a tensor deep inside a value no way to its caller, so each call leaves a frame here: a stack for encoding
//! and one for decoding, since either may run inside the other. A frame is removed by its own number, in whatever
//! order frames go. No code of a user (a `Drop`, an import) runs while a stack is borrowed.

pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod planning;
mod spans;

use crate::device::{FieldDevice, Site};

/// What the marked fields around a tensor say of its device: the innermost that says anything.
#[inline]
fn effective(sites: &[&'static Site]) -> FieldDevice {
    sites
        .iter()
        .rev()
        .fold(FieldDevice::Auto, |inner, site| inner.or(site.device()))
}
