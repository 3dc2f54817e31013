//! Tensors in host memory: what an element is, how long a shape's data is, and the crate's own tensor types.
//!
//! | file | noun |
//! |---|---|
//! | `dtype` | [`DType`] and its `DLPack` code |
//! | `text` | its name |
//! | `element` | [`Element`], the Rust types that stand for a dtype |
//! | `shape` | all checked arithmetic on shapes, strides and lengths |
//! | `compact` | the gather of strided data into row-major order |
//! | `buffer` | aligned and owned memory behind [`bytes::Bytes`] |
//! | `host` | [`Tensor`], owned or sharing its buffer |
//! | `view` | [`TensorView`], borrowed |
//! | `fmt` | the short `Debug` form of both |
//!
//! Data is row-major and little-endian here, on every host, exactly as it travels; only reading elements swaps.

mod buffer;
mod compact;
mod dtype;
mod element;
mod fmt;
mod host;
mod number;
pub(crate) mod shape;
mod text;
mod view;

pub use dtype::{DType, OtherDType};
pub use element::Element;
pub use host::Tensor;
pub use view::TensorView;

pub(crate) use buffer::{MAX_ALIGN, aligned, aligned_copy, is_aligned};
pub(crate) use compact::compact;
pub(crate) use dtype::Packed;
pub(crate) use element::{elements_to_vec, little_endian};
pub(crate) use number::Number;
pub(crate) use shape::{Shape, byte_len, check_bool, data_len, is_row_major, no_bool, not_bool, quick_byte_len};
