//! libtorch's tensors, through the crate `tch`.
//!
//! A [`tch::Tensor`] stands in a `#[tensor]` field as the crate's own does.
//!
//! | file | holds |
//! |---|---|
//! | `plain` | which tensors can travel, and what the others are |
//! | `kind`, `devices`, `layout` | libtorch's kinds, devices and strides |
//! | `export` | a tensor's description and its bytes |
//! | `import`, `segments` | a tensor from what arrived, and what shares memory with it |
//! | `memory` | the `unsafe` block |
//! | `state_dict` | the variables of a model, by name |

#[cfg(target_endian = "big")]
compile_error!("serde-tensor's feature `tch` takes libtorch's memory for little-endian, which it is not on this host");

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
    fn describe(&self) -> Result<Description> {
        export::describe(self)
    }

    fn host_bytes(&self) -> Result<HostBytes<'_>> {
        export::host_bytes(self)
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
