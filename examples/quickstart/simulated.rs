//! A tensor type with GPUs that are simulated: it says it is on one, and its bytes are in host memory all the same.
//!
//! `custom_backend.rs` beside this folder explains the trait; here is only what the story needs.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_tensor::backend::{Description, HostBytes, Import, Imported, TensorBackend};
use serde_tensor::device::Transfer;
use serde_tensor::{Device, Error, Result, Tensor};

/// How many GPUs this process has.
static GPUS: AtomicUsize = AtomicUsize::new(0);

pub(crate) fn set_gpus(count: usize) {
    GPUS.store(count, Ordering::Relaxed);
}

/// A tensor on the CPU or on a simulated GPU.
#[derive(Debug, PartialEq)]
pub(crate) struct SimTensor {
    device: Device,
    /// A simulated GPU's memory. Nothing but this file looks at it while the tensor is on one.
    data: Tensor,
}

serde_tensor::impl_tensor!(SimTensor);

impl SimTensor {
    pub(crate) fn on(device: Device, data: Tensor) -> Result<Self> {
        if device.is_cpu() || Self::is_available(device) {
            Ok(Self { device, data })
        } else {
            Err(Error::backend(format!("this process has no {device}")))
        }
    }

    pub(crate) fn device(&self) -> Device {
        self.device
    }

    pub(crate) fn shape(&self) -> &[usize] {
        self.data.shape()
    }

    /// A copy in host memory, from whatever device.
    pub(crate) fn to_host(&self) -> Tensor {
        self.data.clone()
    }
}

impl TensorBackend for SimTensor {
    fn describe(&self) -> Result<Description<'_>> {
        Ok(Description::new(self.data.dtype(), self.data.shape()).device(self.device))
    }

    fn host_bytes(&self) -> Result<HostBytes<'_>> {
        if self.device.is_cpu() {
            return Ok(HostBytes::borrowed(self.data.bytes()));
        }
        // A real GPU's memory cannot be borrowed: it is copied piece by piece, when the message is written.
        Ok(HostBytes::copied(|sink| {
            self.data.bytes().chunks(1 << 16).try_for_each(&mut *sink)
        }))
    }

    fn import(import: Import<'_>) -> Result<Imported<Self>> {
        let (device, dtype, shape) = (import.device(), import.dtype(), import.shape().to_vec());
        let (bytes, on_host) = import.to_bytes(dtype.align())?;
        let transfer = if device.is_cpu() {
            on_host
        } else {
            Transfer::HostToDevice
        };
        let tensor = Self::on(device, Tensor::from_bytes(dtype, &shape, bytes)?)?;
        Ok(Imported::new(tensor, transfer))
    }

    fn is_available(device: Device) -> bool {
        Self::available().contains(&device)
    }

    fn available() -> Vec<Device> {
        let gpus = (0..GPUS.load(Ordering::Relaxed)).map(Device::Cuda);
        std::iter::once(Device::Cpu).chain(gpus).collect()
    }
}
