//! The types that the fuzz targets send and receive.

mod message;
mod tensor;
mod value;

pub use message::{Borrowing, Message};
pub use value::Value;
