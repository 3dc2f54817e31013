//! What measures a case in a process of its own.

mod clock;
mod heap;

pub(crate) use clock::{Clock, Times};
pub(crate) use heap::Counting;
