//! libtorch's tensors, through the crate `tch`.
//!
//! A [`tch::Tensor`] stands in a `#[tensor]` field as the crate's own [`Tensor`](crate::Tensor) does:
//!
#![cfg_attr(feature = "derive", doc = "```")]
#![cfg_attr(not(feature = "derive"), doc = "```ignore")]
//! use serde_tensor::{TensorDeserialize, TensorSerialize};
//! use tch::{Device, Kind, Tensor};
//!
//! #[derive(TensorSerialize, TensorDeserialize)]
//! struct Layer {
//!     name: String,
//!     #[tensor]
//!     weight: Tensor,
//! }
//!
//! let weight = Tensor::randn([3, 4], (Kind::BFloat16, Device::Cpu)).transpose(0, 1);
//! let layer = Layer { name: "dense".to_owned(), weight };
//! let message = serde_tensor::to_vec(&layer)?;
//!
//! let received: Layer = serde_tensor::from_slice(&message)?;
//! assert_eq!(received.weight, layer.weight);
//! assert_eq!(received.weight.stride(), [1, 4]); // transposed, as it was
//! # Ok::<(), serde_tensor::Error>(())
//! ```
//!
//! serde's own traits are not implemented for it, which only `tch` or serde could do: put it in a field, or in a newtype. [`StateDict`]
//! holds a model's variables by name.
//!
//! # What travels
//!
//! Dense tensors of every kind that tch names, of any shape, empty ones and scalars too. Their bytes arrive as they were.
//!
//! * Transposed and permuted tensors travel, and arrive, with their strides. Other views (with gaps, expanded, overlapping themselves) are
//!   compacted; views that conjugate or negate are resolved.
//! * A tensor that requires a gradient arrives as a leaf that does; what it was computed from stays behind, and so does its gradient.
//! * Tensors whose bytes overlap in one storage arrive sharing memory, also under two kinds, as far as the message ties them
//!   ([`Plan`](crate::Plan) all, except views that are compacted; `to_vec` those inside a segment that is written already). Two that are
//!   equal in all respects and require a gradient arrive as one, with one gradient.
//! * Undefined, sparse, nested, meta, zero and quantised tensors, and those in mkldnn's layout, are errors that name field and kind.
//!
//! # Memory
//!
//! libtorch can change a tensor behind a shared reference, so its bytes are not lent: they are copied as they are when they are
//! written, in pieces through a small buffer, from an alias that keeps their storage alive; and
//! `Plan::write_to_fd` gives their addresses to the operating system and copies nothing. If another thread writes to a tensor
//! meanwhile, the message may have some of the old values and some of the new ones. Who promises that nobody does has them lent:
//! [`Encoder::assume_unmodified`](crate::Encoder::assume_unmodified).
//!
//! A tensor that arrives has memory of libtorch's own, one for all tensors of a segment.
//!
//! # Devices
//!
//! Which devices there are is asked of libtorch when a tensor is first bound for one, and then remembered. A program
//! does not link `libtorch_cuda` by itself, and without it libtorch sees no GPU: the README says how to link it.

// Which tensors can travel and what the others are: `plain`. libtorch's kinds, devices and strides: `kind`, `devices`,
// `layout`. A tensor's description and its bytes: `export`. A tensor from what arrived, and what shares memory with it:
// `import`, `segments`. The `unsafe` blocks: `address`, `memory`.

#[cfg(target_endian = "big")]
compile_error!("serde-tensor's feature `tch` takes libtorch's memory for little-endian, which it is not on this host");

mod address;
mod devices;
mod export;
mod import;
mod kind;
mod layout;
mod memory;
mod plain;
mod segments;
mod state_dict;

use std::any::Any;
use std::borrow::Cow;

use ::tch::{TchError, Tensor};
use smallvec::SmallVec;

pub use state_dict::StateDict;

use super::{Description, HostBytes, Import, Imported, TensorBackend};
use crate::{Device, Error, Result};

/// A shape or strides.
type Sizes = SmallVec<[usize; 4]>;

impl TensorBackend for Tensor {
    fn describe(&self) -> Result<Description<'_>> {
        export::describe(self)
    }

    fn host_bytes(&self) -> Result<HostBytes<'_>> {
        export::host_bytes(self)
    }

    fn export(&self) -> Result<(Description<'_>, HostBytes<'_>)> {
        export::export(self)
    }

    fn import(import: Import<'_>) -> Result<Imported<Self>> {
        import::import(&import)
    }

    fn is_available(device: Device) -> bool {
        devices::is_available(device)
    }

    fn available() -> Vec<Device> {
        devices::available()
    }

    fn why_missing(device: Device) -> Option<String> {
        devices::why_missing(device)
    }

    // A `shallow_clone` would follow the tensor to other memory.
    fn keep_alive(&self) -> Option<Box<dyn Any>> {
        self.f_detach().ok().map(|alias| Box::new(alias) as Box<dyn Any>)
    }
}

crate::impl_tensor!(@traits Tensor);

/// An error of libtorch's, which says what it was asked for.
#[cold]
fn fault(what: impl Into<Cow<'static, str>>, error: TchError) -> Error {
    Error::backend(what).with_source(error)
}

/// A number as libtorch wants it.
fn signed(size: usize) -> Result<i64> {
    i64::try_from(size).map_err(|_| Error::backend(format!("libtorch has no tensors of size {size}")))
}
