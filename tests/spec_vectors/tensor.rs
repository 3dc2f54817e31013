//! A tensor that can be all that the wire can say: on any device, strided, a view of a storage, requiring a gradient.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_tensor::backend::{Description, HostBytes, Import, Imported, KeepAlive, Storage, TensorBackend};
use serde_tensor::{DType, Device, Result, TensorDeserialize, TensorSerialize, impl_tensor};

use super::json::Json;

#[derive(Clone, Debug)]
pub(crate) struct SpecTensor {
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<usize>,
    /// `None` also where the strides are those of row-major data.
    pub(crate) strides: Option<Vec<usize>>,
    pub(crate) device: Device,
    pub(crate) requires_grad: bool,
    pub(crate) data: Bytes,
}

/// All that a message says of the tensor; not where in memory it is.
impl PartialEq for SpecTensor {
    fn eq(&self, other: &Self) -> bool {
        let all = |t: &Self| {
            (
                t.dtype,
                t.shape.clone(),
                t.strides.clone(),
                t.device,
                t.requires_grad,
                t.data.clone(),
            )
        };
        all(self) == all(other)
    }
}

/// The memory that the views of one vector share.
pub(crate) type Storages = BTreeMap<String, Bytes>;

impl SpecTensor {
    /// A `$tensor` of the specification.
    pub(crate) fn from_json(json: &Json, storages: &Storages) -> Self {
        let dtype: DType = json.at("dtype").str().parse().unwrap();
        let shape: Vec<usize> = json.at("shape").numbers();
        let strides = json.get("strides").map(Json::numbers);
        let data = match json.get("storage") {
            None => Bytes::from(json.at("hex").bytes()),
            Some(name) => {
                let start: usize = json.at("offset").number();
                let len = (shape.iter().product::<usize>() * usize::from(dtype.bits())).div_ceil(8);
                storages[name.str()].slice(start..start + len)
            }
        };
        Self {
            dtype,
            strides: normal(&shape, strides),
            shape,
            device: json
                .get("device")
                .map_or(Device::Cpu, |name| name.str().parse().unwrap()),
            requires_grad: json.get("requires_grad").is_some_and(Json::is_true),
            data,
        }
    }
}

/// Strides, unless they are those of row-major data or the tensor is empty.
fn normal(shape: &[usize], strides: Option<Vec<usize>>) -> Option<Vec<usize>> {
    let strides = strides.filter(|_| !shape.contains(&0))?;
    let mut row_major = 1;
    for (&dim, &stride) in shape.iter().zip(&strides).rev() {
        if dim != 1 && stride != row_major {
            return Some(strides);
        }
        row_major *= dim;
    }
    None
}

impl TensorBackend for SpecTensor {
    fn describe(&self) -> Result<Description<'_>> {
        let address = u64::try_from(self.data.as_ptr().addr()).unwrap();
        let description = Description::new(self.dtype, &self.shape)
            .device(self.device)
            .requires_grad(self.requires_grad)
            .storage(Storage { space: 0, address });
        Ok(match &self.strides {
            Some(strides) => description.strides(strides),
            None => description,
        })
    }

    fn host_bytes(&self) -> Result<HostBytes<'_>> {
        if self.device.is_cpu() {
            return Ok(HostBytes::borrowed(&self.data));
        }
        // As from a device: in pieces, each time it is asked for.
        Ok(HostBytes::copied(|sink| self.data.chunks(100).try_for_each(&mut *sink)))
    }

    fn import(import: Import<'_>) -> Result<Imported<Self>> {
        let mut tensor = Self {
            dtype: import.dtype(),
            shape: import.shape().to_vec(),
            strides: normal(import.shape(), import.strides().map(<[usize]>::to_vec)),
            device: import.device(),
            requires_grad: import.requires_grad(),
            data: Bytes::new(),
        };
        if import.strides().is_some() {
            tensor.data = Bytes::copy_from_slice(import.bytes());
            return Ok(Imported::copied(tensor));
        }
        let (data, transfer) = import.to_bytes(1)?;
        tensor.data = data;
        Ok(Imported::new(tensor, transfer))
    }

    fn is_available(_: Device) -> bool {
        true
    }

    fn keep_alive(&self) -> Option<Box<dyn KeepAlive>> {
        Some(Box::new(self.data.clone()))
    }
}

impl_tensor!(SpecTensor);

/// A tensor that its sender wants kept on the CPU.
#[derive(Clone, Debug, PartialEq, TensorSerialize, TensorDeserialize)]
pub(crate) struct KeepCpu(#[tensor(device = "keep_cpu")] pub(crate) SpecTensor);

/// A tensor that its sender wants back where it was.
#[derive(Clone, Debug, PartialEq, TensorSerialize, TensorDeserialize)]
pub(crate) struct FromSource(#[tensor(device = "source")] pub(crate) SpecTensor);
