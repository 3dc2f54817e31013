//! Your own tensor type, or another library's, in `#[tensor]` fields: one trait and one macro line.
//!
//! ```text
//! cargo run --example custom_backend
//! ```
//!
//! The library here is [`gpulib`]. It knows nothing of serde-tensor, so its tensor gets a newtype; in the library's own crate
//! the trait would be implemented on the type itself. Its GPUs are simulated: their memory is host memory that is only reached
//! through copies, as a real one's would be.

use gpulib::{Array, GPUS};
use serde_tensor::backend::{Description, HostBytes, Import, Imported, TensorBackend};
use serde_tensor::device::Transfer;
use serde_tensor::{
    Category, DType, Decoder, Device, DeviceGuard, Error, OnMissing, TensorDeserialize, TensorSerialize,
};

/// The library's tensor, able to travel.
#[derive(Debug, PartialEq)]
struct Gpu(Array);

// With this line `Gpu` is a tensor to the derive, to containers and to serde.
serde_tensor::impl_tensor!(Gpu);

impl TensorBackend for Gpu {
    // What it is. Nothing is copied and no device is waited for: this is also asked of tensors that are then not sent.
    fn describe(&self) -> serde_tensor::Result<Description<'_>> {
        let device = self.0.gpu().map_or(Device::Cpu, Device::Cuda);
        // The strides let a transposed array travel as its memory lies, without being sorted first.
        Ok(Description::new(DType::F32, self.0.shape())
            .strides(self.0.strides())
            .device(device))
    }

    // Its bytes: lent where they are on the host, else copied in pieces, each time the message is written. So no plan holds host
    // copies of all the tensors on a device. Whoever sends is warned, once a field, that there is such a copy.
    fn host_bytes(&self) -> serde_tensor::Result<HostBytes<'_>> {
        if let Some(elements) = self.0.host_elements() {
            return Ok(HostBytes::elements(elements));
        }
        Ok(HostBytes::copied(|sink| {
            let mut sent = Ok(());
            self.0.download(16, |piece| {
                let bytes: Vec<u8> = piece.iter().flat_map(|element| element.to_le_bytes()).collect();
                if sent.is_ok() {
                    sent = sink(&bytes);
                }
            });
            sent
        }))
    }

    // A tensor from what arrived, on the device that the rules chose. Shape, length and device were checked before.
    fn import(import: Import<'_>) -> serde_tensor::Result<Imported<Self>> {
        // Row-major elements; another dtype is an error that names both.
        let elements = import.to_vec::<f32>()?;
        let gpu = match import.device() {
            Device::Cpu => None,
            Device::Cuda(index) => Some(index),
            other => return Err(Error::backend(format!("gpulib has no device like {other}"))),
        };
        let array = Array::new(gpu, import.shape(), elements).map_err(Error::backend)?;
        let transfer = if gpu.is_some() {
            Transfer::HostToDevice
        } else {
            Transfer::Copied
        };
        Ok(Imported::new(Self(array), transfer))
    }

    // Which devices there are. Asked only when a tensor is to land on one, and never for the CPU.
    fn is_available(device: Device) -> bool {
        Self::available().contains(&device)
    }

    // The same as a list, for the error of a device that is not there.
    fn available() -> Vec<Device> {
        std::iter::once(Device::Cpu)
            .chain((0..GPUS).map(Device::Cuda))
            .collect()
    }

    fn why_missing(device: Device) -> Option<String> {
        matches!(device, Device::Cuda(_)).then(|| format!("gpulib simulates {GPUS} GPUs"))
    }
}

#[derive(Debug, PartialEq, TensorSerialize, TensorDeserialize)]
struct Layer {
    name: String,
    #[tensor]
    weight: Gpu,
    #[tensor(device = "keep_cpu")]
    bias: Option<Gpu>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("The GPUs of this example are simulated.\n");

    let weight = Array::new(Some(1), &[2, 3], vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0])?.transposed();
    let layer = Layer {
        name: "dense".to_owned(),
        weight: Gpu(weight),
        bias: Some(Gpu(Array::new(None, &[2], vec![0.5, -0.5])?)),
    };
    let message = serde_tensor::to_vec(&layer)?;
    println!("Sent:\n  {:?}\n  {:?}\n", layer.weight, layer.bias);

    // Without a guard each tensor goes back to where it was; under one, the first GPU gets what is not kept on the CPU.
    let (received, report) = {
        let _guard = DeviceGuard::enter(Device::Cuda(0));
        Decoder::new().from_slice_with_report::<Layer>(&message)?
    };
    println!(
        "Received under a guard of cuda:0:\n  {:?}\n  {:?}\n\n{report}\n",
        received.weight, received.bias
    );
    assert_eq!(received.weight.0.gpu(), Some(0));
    assert_eq!(received.weight.0.to_vec(), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    assert_eq!(received.bias, layer.bias);

    // A device that is not there, where that is to be an error.
    let _guard = DeviceGuard::enter(Device::Cuda(7));
    let error = match Decoder::new()
        .on_missing(OnMissing::Error)
        .from_slice::<Layer>(&message)
    {
        Ok(layer) => return Err(format!("there is no cuda:7, and yet: {layer:?}").into()),
        Err(error) => error,
    };
    assert_eq!(error.category(), Category::Device);
    println!("Under a guard of cuda:7, which is not there:\n  {error}");
    Ok(())
}

/// Stands for a tensor library: arrays of `f32` on the host or on one of its GPUs.
mod gpulib {
    use std::fmt;

    /// How many GPUs there are.
    pub(crate) const GPUS: usize = 2;

    #[derive(PartialEq)]
    pub(crate) struct Array {
        gpu: Option<usize>,
        shape: Vec<usize>,
        strides: Vec<usize>,
        memory: Vec<f32>,
    }

    impl Array {
        /// An array of row-major elements.
        pub(crate) fn new(gpu: Option<usize>, shape: &[usize], elements: Vec<f32>) -> Result<Self, String> {
            if let Some(index) = gpu.filter(|index| *index >= GPUS) {
                return Err(format!("there is no GPU {index}"));
            }
            if shape.iter().product::<usize>() != elements.len() {
                return Err(format!("{} elements do not fill {shape:?}", elements.len()));
            }
            let strides = (0..shape.len()).map(|dim| shape[dim + 1..].iter().product()).collect();
            Ok(Self {
                gpu,
                shape: shape.to_vec(),
                strides,
                memory: elements,
            })
        }

        /// The same memory with the dims in reverse.
        pub(crate) fn transposed(mut self) -> Self {
            self.shape.reverse();
            self.strides.reverse();
            self
        }

        pub(crate) fn gpu(&self) -> Option<usize> {
            self.gpu
        }

        pub(crate) fn shape(&self) -> &[usize] {
            &self.shape
        }

        pub(crate) fn strides(&self) -> &[usize] {
            &self.strides
        }

        /// The memory, in the order in which it lies, if it is the host's.
        pub(crate) fn host_elements(&self) -> Option<&[f32]> {
            self.gpu.is_none().then_some(&self.memory)
        }

        /// Copies the memory, in the order in which it lies, to the host, in pieces of so many elements.
        pub(crate) fn download(&self, elements: usize, receive: impl FnMut(&[f32])) {
            self.memory.chunks(elements).for_each(receive);
        }

        /// The elements in row-major order.
        pub(crate) fn to_vec(&self) -> Vec<f32> {
            (0..self.memory.len())
                .map(|index| self.memory[self.position(index)])
                .collect()
        }

        /// Where the row-major `index` lies in memory.
        fn position(&self, mut index: usize) -> usize {
            let mut position = 0;
            for (dim, stride) in self.shape.iter().zip(&self.strides).rev() {
                position += index % dim * stride;
                index /= dim;
            }
            position
        }
    }

    impl fmt::Debug for Array {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            match self.gpu {
                None => write!(f, "{:?} {:?} on the host", self.shape, self.to_vec()),
                Some(index) => write!(f, "{:?} {:?} on GPU {index}", self.shape, self.to_vec()),
            }
        }
    }
}
