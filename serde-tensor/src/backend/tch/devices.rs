//! libtorch's devices. It is asked of each kind of device once, when a tensor is first bound for one.

use std::sync::LazyLock;

use ::tch::{Cuda, utils};

use crate::{Device, Error, Result};

/// How many GPUs libtorch sees. The first question costs up to a millisecond.
static GPUS: LazyLock<usize> = LazyLock::new(|| usize::try_from(Cuda::device_count()).unwrap_or(0));

/// Whether libtorch was built for AMD's GPUs, which it calls `cuda` too.
static ROCM: LazyLock<bool> = LazyLock::new(utils::has_hip);

static MPS: LazyLock<bool> = LazyLock::new(utils::has_mps);

static VULKAN: LazyLock<bool> = LazyLock::new(utils::has_vulkan);

/// The device on which a tensor is.
pub(super) fn device_of(tensor: &::tch::Tensor) -> Result<Device> {
    #[cfg(test)]
    if let Some(device) = simulated::device_of(tensor) {
        return Ok(device);
    }
    match tensor.device() {
        ::tch::Device::Cpu => Ok(Device::Cpu),
        ::tch::Device::Cuda(index) if *ROCM => Ok(Device::Rocm(index)),
        ::tch::Device::Cuda(index) => Ok(Device::Cuda(index)),
        // What tch answers for meta, XLA and all others that it does not know.
        ::tch::Device::Mps if !*MPS => Err(Error::backend("a tensor on a device that tch has no name for")),
        ::tch::Device::Mps => Ok(Device::Mps),
        ::tch::Device::Vulkan => Ok(Device::Vulkan),
    }
}

/// The device as tch names it. It must be there: libtorch cuts numbers of 32 bits and more, and would take another.
pub(super) fn to_tch(device: Device) -> Result<::tch::Device> {
    if !is_available(device) {
        return Err(Error::backend(format!("libtorch has no device {device}")));
    }
    #[cfg(test)]
    if simulated::are_there() {
        return Ok(::tch::Device::Cpu);
    }
    match device {
        Device::Cpu => Ok(::tch::Device::Cpu),
        Device::Cuda(index) | Device::Rocm(index) => Ok(::tch::Device::Cuda(index)),
        Device::Mps => Ok(::tch::Device::Mps),
        Device::Vulkan => Ok(::tch::Device::Vulkan),
        other => Err(Error::backend(format!("tch has no name for device {other}"))),
    }
}

pub(super) fn is_available(device: Device) -> bool {
    #[cfg(test)]
    if simulated::are_there() {
        return matches!(device, Device::Cpu | Device::Cuda(0 | 1));
    }
    match device {
        Device::Cpu => true,
        Device::Cuda(index) => index < *GPUS && !*ROCM,
        Device::Rocm(index) => index < *GPUS && *ROCM,
        Device::Mps => *MPS,
        Device::Vulkan => *VULKAN,
        Device::Other(_) => false,
    }
}

pub(super) fn available() -> Vec<Device> {
    let gpu = if *ROCM { Device::Rocm } else { Device::Cuda };
    let mut devices = vec![Device::Cpu];
    devices.extend((0..*GPUS).map(gpu));
    devices.extend(
        [Device::Mps, Device::Vulkan]
            .into_iter()
            .filter(|&device| is_available(device)),
    );
    devices
}

/// A GPU that is not there, and a library that is not there, are different things to put right.
pub(super) fn why_missing(device: Device) -> Option<String> {
    match device {
        Device::Cuda(_) if *ROCM => Some("this libtorch is built for ROCm".to_owned()),
        Device::Rocm(_) if !*ROCM => Some("this libtorch is not built for ROCm".to_owned()),
        Device::Cuda(_) | Device::Rocm(_) => Some(why_no_gpu(utils::has_cudart() || utils::has_hip(), *GPUS)),
        _ => None,
    }
}

fn why_no_gpu(linked: bool, gpus: usize) -> String {
    match (linked, gpus) {
        (false, _) => {
            "libtorch_cuda is not linked into this program: it links only what it calls, unless told otherwise \
                       (see \"CUDA\" in serde-tensor's README), or this libtorch is built without CUDA"
                .to_owned()
        }
        (true, 0) => "libtorch_cuda is linked, and sees no GPU".to_owned(),
        (true, gpus) => format!("libtorch sees {gpus} GPU{}", if gpus == 1 { "" } else { "s" }),
    }
}

/// Two GPUs whose memory is the host's, so that what moves tensors to and from devices runs, and is counted, where there is none.
#[cfg(test)]
pub(super) mod simulated {
    use std::cell::RefCell;
    use std::collections::HashMap;

    use ::tch::Tensor;

    use crate::Device;

    thread_local! {
        /// Where tensors are, by the address of their memory.
        static GPUS: RefCell<Option<HashMap<usize, Device>>> = const { RefCell::new(None) };
    }

    /// The GPUs are there, on this thread, while this lives.
    pub(in crate::backend::tch) struct Gpus(());

    impl Gpus {
        pub(in crate::backend::tch) fn plug_in() -> Self {
            GPUS.set(Some(HashMap::new()));
            Self(())
        }

        /// Says that a tensor's memory is a device's.
        pub(in crate::backend::tch) fn put(tensor: &Tensor, device: Device) {
            GPUS.with_borrow_mut(|gpus| {
                gpus.get_or_insert_default().insert(storage(tensor), device);
            });
        }
    }

    impl Drop for Gpus {
        fn drop(&mut self) {
            GPUS.set(None);
        }
    }

    pub(super) fn are_there() -> bool {
        GPUS.with_borrow(Option::is_some)
    }

    pub(super) fn device_of(tensor: &Tensor) -> Option<Device> {
        GPUS.with_borrow(|gpus| gpus.as_ref()?.get(&storage(tensor)).copied())
    }

    fn storage(tensor: &Tensor) -> usize {
        tensor.as_strided([1], [1], 0).data_ptr().addr()
    }
}

#[cfg(test)]
mod tests {
    use ::tch::utils;

    use super::{why_missing, why_no_gpu};
    use crate::Device;

    #[test]
    fn a_library_that_is_not_linked_is_told_from_a_gpu_that_is_not_there() {
        let [unlinked, none, one] = [(false, 0), (true, 0), (true, 1)].map(|(linked, gpus)| why_no_gpu(linked, gpus));
        assert!(unlinked.contains("not linked") && !unlinked.contains("no GPU"));
        assert!(none.contains("no GPU") && !none.contains("not linked"));
        assert_eq!(one, "libtorch sees 1 GPU");
    }

    /// As every program of a user's that does nothing about it, this one does not link it.
    #[test]
    fn a_program_without_libtorch_cuda_says_so() {
        if utils::has_cudart() || utils::has_hip() {
            println!("skipped: it was loaded all the same, by LD_PRELOAD or as a part of a static libtorch");
            return;
        }
        let why = why_missing(Device::Cuda(0)).unwrap();
        assert!(why.contains("libtorch_cuda is not linked"), "{why}");
    }
}
