//! Where tensors are, and where decoding puts them.
//!
//! A [`Device`] names a place that can hold a tensor. Decoding asks, for each tensor, the rules below in order; the
//! first one that applies wins, and the call's [`Report`] says which one did.
//!
//! | # | rule | set by |
//! |---|---|---|
//! | 0 | the type exists only on the host: the CPU | the type |
//! | 1 | routing is off: where the tensor was | [`DeviceGuard::disable`], [`set_global_routing`] |
//! | 2 | the call's [`Placement`] | `Decoder::placement` |
//! | 3 | the field's attribute | `#[tensor(device = "…")]` on the receiving type |
//! | 4 | the sender's pin | `#[tensor(device = "keep_cpu")]` or `"source"` on the sending type |
//! | 5 | the innermost guard | [`DeviceGuard::enter`], [`with_device`], [`scope`] |
//! | 6 | the process default | [`set_default_device`] |
//! | 7 | where the tensor was | the message |
//!
//! Guards belong to a thread, [`scope`] to a future on whichever thread polls it; only the process default and the
//! routing switch are shared by all threads.
//!
//! ```
//! use serde_tensor::{Device, DeviceGuard, device};
//!
//! let guard = DeviceGuard::enter(Device::Cuda(0));
//! assert_eq!(device::current(), Some(Device::Cuda(0)));
//! drop(guard);
//! assert_eq!(device::current(), None);
//! ```

mod guard;
mod policy;
mod process;
mod report;
mod route;
mod rule;
mod scope;
mod site;
mod text;
mod warn_once;

pub(crate) mod warn;

pub use guard::{DeviceGuard, current, with_device};
pub use policy::{DeviceCopies, OnMissing, Placement};
#[doc(hidden)]
pub use policy::{FieldDevice, Pin};
pub use process::{default_device, global_routing, set_default_device, set_global_routing};
pub use report::{Report, TensorReport, Transfer};
pub(crate) use route::{Decision, Present, Request, decide};
pub use rule::Rule;
pub use scope::{Scope, scope, without_routing};
#[doc(hidden)]
pub use site::Site;
pub(crate) use warn_once::WarnOnce;

/// `DLDeviceType` codes of `dlpack.h` 1.1 that have a name here.
mod dlpack {
    pub(super) const CPU: u8 = 1;
    pub(super) const CUDA: u8 = 2;
    pub(super) const VULKAN: u8 = 7;
    pub(super) const METAL: u8 = 8;
    pub(super) const ROCM: u8 = 10;
}

/// A place that can hold a tensor.
///
/// On the wire a device is `DLPack`'s device type and an index; a pair without a name here is kept as
/// [`Device::Other`]. In text it is `cpu`, `cuda:1`, `rocm:0`, `mps`, `vulkan` or `dl:12:0`, which is also how it
/// travels as a serde value.
///
/// # Examples
///
/// ```
/// use serde_tensor::Device;
///
/// assert_eq!("cuda".parse::<Device>()?, Device::Cuda(0));
/// assert_eq!(Device::Cuda(1).to_string(), "cuda:1");
/// assert_eq!(Device::from_dlpack(12, 0).to_string(), "dl:12:0");
/// # Ok::<(), serde_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Device {
    /// The host's memory. Every backend has it.
    #[default]
    Cpu,
    /// An NVIDIA GPU, by its index.
    Cuda(usize),
    /// An AMD GPU, by its index.
    Rocm(usize),
    /// Apple's GPU, through Metal.
    Mps,
    /// The device Vulkan computes on.
    Vulkan,
    /// A device known only by its `DLPack` pair; made by [`Device::from_dlpack`].
    Other(OtherDevice),
}

/// A `DLPack` pair of device type and index for which [`Device`] has no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OtherDevice {
    // Never a pair that has a name, so that equal devices compare equal.
    kind: u8,
    index: u64,
}

impl Device {
    /// The device of a `DLPack` pair of `DLDeviceType` and index.
    ///
    /// # Examples
    ///
    /// ```
    /// use serde_tensor::Device;
    ///
    /// assert_eq!(Device::from_dlpack(2, 3), Device::Cuda(3));
    /// assert!(matches!(Device::from_dlpack(12, 0), Device::Other(_)));
    /// ```
    pub const fn from_dlpack(kind: u8, index: u64) -> Self {
        match (kind, index) {
            (dlpack::CPU, 0) => Self::Cpu,
            (dlpack::METAL, 0) => Self::Mps,
            (dlpack::VULKAN, 0) => Self::Vulkan,
            (dlpack::CUDA | dlpack::ROCM, _) if index <= usize::MAX as u64 => {
                #[expect(clippy::cast_possible_truncation, reason = "compared with usize::MAX one line above")]
                let index = index as usize;
                if kind == dlpack::CUDA {
                    Self::Cuda(index)
                } else {
                    Self::Rocm(index)
                }
            }
            _ => Self::Other(OtherDevice { kind, index }),
        }
    }

    /// This device as a `DLPack` pair of `DLDeviceType` and index.
    #[inline]
    pub const fn dlpack(self) -> (u8, u64) {
        match self {
            Self::Cpu => (dlpack::CPU, 0),
            Self::Cuda(index) => (dlpack::CUDA, index as u64),
            Self::Rocm(index) => (dlpack::ROCM, index as u64),
            Self::Mps => (dlpack::METAL, 0),
            Self::Vulkan => (dlpack::VULKAN, 0),
            Self::Other(other) => (other.kind, other.index),
        }
    }

    /// Whether this is the host's memory.
    pub const fn is_cpu(self) -> bool {
        matches!(self, Self::Cpu)
    }

    /// The index among the devices of its kind; 0 for a kind of which there is one.
    pub const fn index(self) -> u64 {
        self.dlpack().1
    }

    /// Whether both are of one kind, such as two CUDA devices.
    pub const fn same_kind(self, other: Self) -> bool {
        self.dlpack().0 == other.dlpack().0
    }

    /// The device of the same kind with another index.
    ///
    /// # Examples
    ///
    /// ```
    /// use serde_tensor::Device;
    ///
    /// assert_eq!(Device::Cuda(3).with_index(0), Device::Cuda(0));
    /// assert_eq!(Device::Mps.with_index(0), Device::Mps);
    /// ```
    #[must_use]
    pub const fn with_index(self, index: usize) -> Self {
        Self::from_dlpack(self.dlpack().0, index as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dlpack_pair_survives() {
        for kind in 0..=u8::MAX {
            for index in [0, 1, 7, u64::from(u32::MAX), u64::MAX] {
                let device = Device::from_dlpack(kind, index);
                assert_eq!(device.dlpack(), (kind, index), "{device:?}");
            }
        }
    }

    #[test]
    fn a_pair_with_a_name_is_never_other() {
        for device in [
            Device::Cpu,
            Device::Cuda(0),
            Device::Cuda(usize::MAX),
            Device::Rocm(3),
            Device::Mps,
            Device::Vulkan,
        ] {
            let (kind, index) = device.dlpack();
            assert_eq!(Device::from_dlpack(kind, index), device);
        }
        assert!(matches!(Device::from_dlpack(dlpack::CPU, 1), Device::Other(_)));
        assert!(matches!(Device::from_dlpack(dlpack::METAL, 1), Device::Other(_)));
        assert!(matches!(Device::from_dlpack(dlpack::VULKAN, 1), Device::Other(_)));
    }

    #[test]
    fn kinds_are_compared_without_the_index() {
        assert!(Device::Cuda(0).same_kind(Device::Cuda(5)));
        assert!(!Device::Cuda(0).same_kind(Device::Rocm(0)));
        assert!(Device::from_dlpack(12, 0).same_kind(Device::from_dlpack(12, 4)));
        assert_eq!(Device::from_dlpack(12, 4).with_index(0), Device::from_dlpack(12, 0));
        assert_eq!(Device::from_dlpack(dlpack::CPU, 4).with_index(0), Device::Cpu);
    }
}
