//! Messages in files.

mod save;

pub use save::save;
