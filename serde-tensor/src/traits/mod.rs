//! The two traits behind `#[tensor]`, and their impls for what a field may be made of.
//!
//! A container serializes through serde's own impl around a wrapper ([`serialize::Marked`],
//! [`deserialize::Unmarked`]), so that it looks to every format, and to serde's buffers, exactly as without the mark.

mod containers;
mod deserialize;
mod element;
mod levels;
mod maps;
mod none;
mod pointers;
mod presence;
mod probe;
mod serialize;
mod tuples;
mod wrappers;

pub use deserialize::TensorDeserialize;
pub use presence::{Claim, Facts, Presence};
pub use probe::{Probe, UnknownFacts};
pub use serialize::{TensorSerialize, contains_tensor};
