//! A tensor library with simulated devices, so that routing is tested without a GPU.
//!
//! The machine is part of the type: a `SimTensor<EightGpus>` is a tensor as a process with eight GPUs sees it. A test
//! encodes with one machine's type and decodes with another's, as if the message had travelled.

use std::fmt;
use std::marker::PhantomData;

use serde_tensor::backend::{Description, HostBytes, Import, Imported, TensorBackend};
use serde_tensor::device::Transfer;
use serde_tensor::{Device, Error, Result, Tensor};

/// A machine: which devices it has, besides the CPU.
pub(crate) trait Host: 'static {
    const DEVICES: &'static [Device];
    /// Why others are missing.
    const WHY: Option<&'static str> = None;
}

macro_rules! hosts {
    ($($name:ident: [$($device:expr),*] $(, $why:literal)?;)*) => {$(
        #[derive(Debug)]
        pub(crate) struct $name;

        impl Host for $name {
            const DEVICES: &'static [Device] = &[$($device),*];
            $(const WHY: Option<&'static str> = Some($why);)?
        }

        serde_tensor::impl_tensor!(SimTensor<$name>);
    )*};
}

hosts! {
    NoGpu: [], "the simulated driver is not loaded";
    OneGpu: [Device::Cuda(0)];
    TwoGpus: [Device::Cuda(0), Device::Cuda(1)];
    EightGpus: [
        Device::Cuda(0), Device::Cuda(1), Device::Cuda(2), Device::Cuda(3),
        Device::Cuda(4), Device::Cuda(5), Device::Cuda(6), Device::Cuda(7)
    ];
    Apple: [Device::Mps];
}

/// A tensor that says it is on a device of the machine `H`. Its data is on the host, which only this module knows.
pub(crate) struct SimTensor<H> {
    device: Device,
    data: Tensor,
    host: PhantomData<fn() -> H>,
}

impl<H: Host> SimTensor<H> {
    /// A 1-D tensor of `f32` on a device that the machine has.
    pub(crate) fn on(device: Device, values: &[f32]) -> Self {
        assert!(
            device.is_cpu() || H::DEVICES.contains(&device),
            "the machine has no {device}"
        );
        Self {
            device,
            data: Tensor::from_elements(values, &[values.len()]).unwrap(),
            host: PhantomData,
        }
    }

    pub(crate) fn cpu(values: &[f32]) -> Self {
        Self::on(Device::Cpu, values)
    }

    pub(crate) fn cuda(index: usize, values: &[f32]) -> Self {
        Self::on(Device::Cuda(index), values)
    }

    pub(crate) fn device(&self) -> Device {
        self.device
    }

    pub(crate) fn values(&self) -> Vec<f32> {
        self.data.elements().unwrap().into_owned()
    }
}

impl<H> Clone for SimTensor<H> {
    fn clone(&self) -> Self {
        Self {
            device: self.device,
            data: self.data.clone(),
            host: PhantomData,
        }
    }
}

impl<H> PartialEq for SimTensor<H> {
    fn eq(&self, other: &Self) -> bool {
        self.device == other.device && self.data == other.data
    }
}

impl<H> fmt::Debug for SimTensor<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} on {}", self.data, self.device)
    }
}

impl<H: Host> TensorBackend for SimTensor<H>
where
    Self: Sized,
{
    fn describe(&self) -> Result<Description<'_>> {
        Ok(Description::new(self.data.dtype(), self.data.shape()).device(self.device))
    }

    fn host_bytes(&self) -> Result<HostBytes<'_>> {
        if self.device.is_cpu() {
            return Ok(HostBytes::borrowed(self.data.bytes()));
        }
        // As a device's copy engine would: piece by piece.
        Ok(HostBytes::copied(|sink| {
            self.data.bytes().chunks(64).try_for_each(&mut *sink)
        }))
    }

    fn import(import: Import<'_>) -> Result<Imported<Self>> {
        let device = import.device();
        if !device.is_cpu() && !H::DEVICES.contains(&device) {
            return Err(Error::backend(format!(
                "import was asked for {device}, which is not there"
            )));
        }
        let (dtype, shape) = (import.dtype(), import.shape().to_vec());
        let (bytes, transfer) = import.to_bytes(dtype.align())?;
        let transfer = if device.is_cpu() {
            transfer
        } else {
            Transfer::HostToDevice
        };
        let data = Tensor::from_bytes(dtype, &shape, bytes)?;
        Ok(Imported::new(
            Self {
                device,
                data,
                host: PhantomData,
            },
            transfer,
        ))
    }

    fn is_available(device: Device) -> bool {
        H::DEVICES.contains(&device)
    }

    fn available() -> Vec<Device> {
        H::DEVICES.to_vec()
    }

    fn why_missing(_: Device) -> Option<String> {
        H::WHY.map(str::to_owned)
    }
}
