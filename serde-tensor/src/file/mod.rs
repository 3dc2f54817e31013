//! Messages in files.

mod lazy;
#[cfg(feature = "mmap")]
mod map;
mod open;
mod positioned;
mod save;
mod stored;

pub use lazy::Lazy;
#[cfg(feature = "mmap")]
pub use map::open_mmap;
pub use open::{MessageFile, inspect_file, open};
pub use save::save;
