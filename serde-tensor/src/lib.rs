//! Put tensors in your structs, send the structs anywhere; each tensor lands on the right device.
//!
//! serde-tensor is a serde data format, with derive macros, for values that mix tensors and ordinary fields. The ordinary part travels
//! as MessagePack, tensors as aligned bytes that need no copy to be used. The type says where its tensors are, and where
//! they land:
//!
#![cfg_attr(feature = "derive", doc = "```")]
#![cfg_attr(not(feature = "derive"), doc = "```ignore")]
//! use serde_tensor::{Tensor, TensorDeserialize, TensorSerialize};
//!
//! #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
//! struct Rollout {
//!     episode: u64,
//!     #[tensor]
//!     observation: Tensor,
//!     #[tensor(device = "keep_cpu")]
//!     rewards: Tensor,
//!     #[tensor]
//!     hidden: Option<Vec<Tensor>>,
//! }
//!
//! let rollout = Rollout {
//!     episode: 7,
//!     observation: Tensor::from_vec(vec![0.5f32; 6], &[2, 3])?,
//!     rewards: Tensor::from_vec(vec![1i64, -1], &[2])?,
//!     hidden: None,
//! };
//! let bytes = serde_tensor::to_vec(&rollout)?;
//! let received: Rollout = serde_tensor::from_slice(&bytes)?;
//! assert_eq!(received, rollout);
//! # Ok::<(), serde_tensor::Error>(())
//! ```
//!
//! # Where to look
//!
//! * [`to_vec`], [`from_slice`], [`from_bytes`] and their kin are the format; [`Encoder`] and [`Decoder`] are the same with options; [`Serializer`]
//!   and [`Deserializer`] are the serde pair behind them.
//! * [`TensorSerialize`] and [`TensorDeserialize`] are traits and derive macros.
//! * [`save`] and [`open`] keep values in files; a [`Lazy`] tensor stays there until it is asked for.
//! * [`Plan`] sends a value without copying its tensors; [`MessageWriter`] and [`MessageReader`] send one after another.
//! * [`DeviceGuard`], [`with_device`] and [`device::scope`] say where tensors land; [`device`] has the rules.
//! * [`Tensor`] and [`TensorView`] are the crate's own tensors, in host memory; [`backend`] is for those of other libraries.
//! * [`contains_tensor`], [`scan`] and [`inspect`] say whether, and which, tensors there are.
//!
//! # Features
//!
//! None changes a byte of a message.
//!
//! * `derive` (default): the macros.
//! * `tracing` (default): warnings, of a device that is not there and of a tensor copied off its device, as events of target
//!   `serde_tensor::device`. Without it they are silent; [`Report`] tells the same.
//! * `axum`: `Tensors<T>` in the requests and responses of axum's handlers; see the module `axum`.
//! * `tokio`: messages over tokio's readers and writers; see the module `tokio`.
//! * `tokio-serde`: the traits of the crate `tokio-serde`, on which tarpc runs; see the module `tokio_serde`.
//! * `tch`: libtorch's tensors, `tch::Tensor`, stand in `#[tensor]` fields. Needs libtorch; versions come in pairs, which the
//!   README lists.
//! * `mmap`: `open_mmap`, a file as memory.

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
pub mod backend;
mod call;
mod de;
mod decoder;
pub mod device;
mod encoder;
mod error;
mod ext;
mod file;
mod inspect;
mod leaf;
mod limits;
mod path;
mod plan;
pub mod scan;
mod ser;
mod tensor;
mod traits;
mod transport;
mod verbs;
mod wire;

#[cfg(feature = "tch")]
#[doc(inline)]
pub use backend::tch;
pub use de::Deserializer;
pub use decoder::Decoder;
pub use device::{
    Device, DeviceCopies, DeviceGuard, OnMissing, OtherDevice, Placement, Report, Rule, TensorReport, Transfer,
    default_device, set_default_device, set_global_routing, with_device,
};
pub use encoder::Encoder;
pub use error::{Category, Error, Result};
pub use ext::Ext;
#[cfg(feature = "mmap")]
pub use file::open_mmap;
pub use file::{Lazy, MessageFile, inspect_file, open, save};
pub use inspect::{Inspection, TensorInfo, inspect};
pub use leaf::TensorVisitor;
pub use limits::Limits;
pub use plan::{OwnedPlan, Plan};
pub use ser::Serializer;
pub use tensor::{DType, Element, OtherDType, Tensor, TensorView};
pub use traits::{Presence, TensorDeserialize, TensorSerialize, contains_tensor};
#[cfg(feature = "axum")]
#[doc(inline)]
pub use transport::axum;
#[cfg(feature = "tokio")]
#[doc(inline)]
pub use transport::tokio;
#[cfg(feature = "tokio-serde")]
#[doc(inline)]
pub use transport::tokio_serde;
pub use transport::{Chunks, MessageBuffer, MessageReader, MessageWriter, Reassembler};
pub use verbs::{from_bytes, from_reader, from_slice, to_vec, to_writer};

#[cfg(feature = "derive")]
pub use serde_tensor_derive::{TensorDeserialize, TensorSerialize};

/// The README's code, run as this crate's documentation is.
#[cfg(all(doctest, feature = "derive"))]
#[doc = include_str!("../../README.md")]
struct ReadmeDoctests;
