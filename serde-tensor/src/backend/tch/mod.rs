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
//! written, in pieces through a small buffer; a plan reads them from an alias that keeps storage and shape; and
//! `Plan::write_to_fd` gives their addresses to the operating system and copies nothing. If another thread writes to a tensor
//! meanwhile, the message may have some of the old values and some of the new ones (of a device's small tensors a plan copies several at once). Who promises that nobody does has them lent:
//! [`Encoder::assume_unmodified`](crate::Encoder::assume_unmodified).
//!
//! A tensor that arrives lies in libtorch's own memory. Which, and after how many copies:
//!
//! | decoded by | memory | copies of its bytes |
//! |---|---|---|
//! | `from_slice`, `from_bytes`, `from_reader` | its own, or one for all tensors of a segment that several name | one |
//! | [`from_reader`] of this module, [`Decoder::from_memory`](crate::Decoder::from_memory) of an [`Arena::read`] | what the message was read into, for all of its segments; freed with the last tensor | none after the read |
//! | `Decoder::from_memory` of an [`Arena::map`] | the file's pages, private to this process | none, until a tensor is written to: then the system copies the page |
//! | each of these, inline or with [`Decoder::detach`](crate::Decoder::detach) | its own | one |
//! | each of these, onto a device | one piece of the device's for all segments that go there | one into pinned memory on the host, one to the device |
//! | the same with `detach`, inline, or with [`Decoder::coalesce(false)`](crate::Decoder::coalesce) | the device's, its own or its segment's | one to the device each |
//!
//! [`Report`](crate::Report) says which it was: `copied`, `shared` (with the memory of the message) or `host to device`. Tensors that share
//! memory have a version counter each, so a step on one does not disturb the backward pass of another. Tensors of other types in the same value,
//! the crate's own among them, are copied out of an `Arena`: a borrow of its bytes would not survive what libtorch may do to them.
//!
//! # Devices
//!
//! Which devices there are is asked of libtorch when a tensor is first bound for one, and then remembered. A program
//! does not link `libtorch_cuda` by itself, and without it libtorch sees no GPU: the README says how to link it.
//!
//! The first tensor that lands on a device takes with it all segments of tensors that the call, the sender's pin, the guard and so on
//! put there: one transfer for up to 64 MiB, through pinned memory that is kept for the next. What fields ask for is not known before they
//! are read. So if it was a field's attribute that put it there, all segments go along that the sender did not pin to the CPU (one that it did pin moves by itself); and what
//! a field then keeps on the CPU, or the crate's own tensors are, has moved for nothing, and takes up the device's memory as long as one of
//! the others lives. `Decoder::coalesce(false)` is for values where that is much.
//!
//! A [`Plan`](crate::Plan) gathers tensors of up to 64 KiB on their device and brings them down together, up to 4 MiB at a time, when the first of them is
//! written. `to_vec`, which sees one tensor at a time, brings each down by itself.

// Which tensors can travel and what the others are: `plain`. libtorch's kinds, devices and strides: `kind`, `devices`,
// `layout`. A tensor's description and its bytes: `export`. A tensor from what arrived, and what shares memory with it:
// `import`, `segments`. Messages in libtorch's memory: `arena`, `mapped`, `buffer`. To and from devices: `transfer`, `staging`, `gather`. The
// `unsafe` blocks: `address`, `memory`, `buffer`, `staging`, `shim`.

#[cfg(target_endian = "big")]
compile_error!("serde-tensor's feature `tch` takes libtorch's memory for little-endian, which it is not on this host");

mod address;
mod arena;
mod buffer;
mod devices;
mod export;
mod gather;
mod import;
mod kind;
mod layout;
mod mapped;
mod memory;
mod plain;
mod segments;
mod shim;
mod staging;
mod state_dict;
#[cfg(test)]
mod tests;
mod transfer;

use std::any::TypeId;
use std::borrow::Cow;
use std::ops::Range;

use ::tch::{TchError, Tensor};
use smallvec::SmallVec;

pub use arena::{Arena, from_reader};
pub use state_dict::StateDict;

use super::{Description, HostBytes, Import, Imported, KeepAlive, Memory, Storage, TensorBackend};
use crate::wire::to_u64;
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

    fn weight(&self) -> Option<Range<usize>> {
        Some(plain::weight(self).unwrap_or_default())
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

    fn shares(memory: &dyn Memory) -> bool {
        memory.type_id() == TypeId::of::<Arena>()
    }

    fn keep_alive(&self) -> Option<Box<dyn KeepAlive>> {
        Some(Box::new(Handle(self.shallow_clone())))
    }
}

/// Another handle to a tensor: a tenth of the cost of an alias of its memory. It follows the tensor to other memory.
struct Handle(Tensor);

impl KeepAlive for Handle {
    fn is_at(&self, storage: Storage) -> bool {
        to_u64(self.0.data_ptr().addr()) == storage.address
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
