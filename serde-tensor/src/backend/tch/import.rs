//! A libtorch tensor from what arrived. Everything is checked before libtorch is called: its functions trust, and its
//! errors cost milliseconds.

use ::tch::{Device, Kind, Tensor};

use super::segments::Segments;
use super::{devices, fault, kind, memory, signed};
use crate::backend::{Import, Imported};
use crate::{Error, Result, Transfer};

/// The tensor that is to be made, as libtorch wants to be told.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Wanted {
    pub(super) kind: Kind,
    pub(super) element: usize,
    size: Vec<i64>,
    strides: Option<Vec<i64>>,
    pub(super) device: Device,
    pub(super) requires_grad: bool,
}

pub(super) fn import(import: &Import<'_>) -> Result<Imported<Tensor>> {
    let wanted = Wanted::of(import)?;
    let tied = import.segment().and_then(|(segment, offset)| {
        import.with_state(|segments: &mut Segments| segments.tensor(&wanted, segment, offset, import))
    });
    let tensor = match tied {
        Some(tensor) => tensor?,
        None => wanted.copy(import)?,
    };
    let transfer = if wanted.device == Device::Cpu {
        Transfer::Copied
    } else {
        Transfer::HostToDevice
    };
    Ok(Imported::new(tensor, transfer))
}

impl Wanted {
    fn of(import: &Import<'_>) -> Result<Self> {
        let kind = kind::kind(import.dtype())?;
        if import.requires_grad() && !kind::is_differentiable(kind) {
            return Err(Error::backend(format!(
                "a tensor of {} that requires a gradient: libtorch has them of floating point and complex dtypes only",
                import.dtype()
            )));
        }
        let shape = import.shape();
        // The strides of an empty tensor say nothing, and may say it with any numbers.
        let strides = import.strides().filter(|_| !shape.contains(&0));
        Ok(Self {
            kind,
            element: kind::size(import.dtype()),
            size: shape.iter().map(|&dim| signed(dim)).collect::<Result<_>>()?,
            strides: strides
                .map(|strides| {
                    strides
                        .iter()
                        .zip(shape)
                        .map(|(&stride, &dim)| stride_of(stride, dim))
                        .collect()
                })
                .transpose()?,
            device: devices::to_tch(import.device())?,
            requires_grad: import.requires_grad(),
        })
    }

    /// The tensor, in memory of its own.
    pub(super) fn copy(&self, import: &Import<'_>) -> Result<Tensor> {
        let bytes = import.bytes();
        import.account(bytes.len())?;
        let mut tensor = match &self.strides {
            None => memory::filled(self.kind, &self.size, bytes)?,
            Some(strides) => {
                let elements = signed(bytes.len() / self.element)?;
                let mut tensor = memory::filled(self.kind, &[elements], bytes)?;
                // Its bounds are checked.
                let _same = tensor.f_as_strided_(&self.size, strides, 0).map_err(refused)?;
                tensor
            }
        };
        if self.device != Device::Cpu {
            tensor = tensor
                .f_to_device_(self.device, self.kind, false, false)
                .map_err(refused)?;
        }
        self.finish(tensor)
    }

    /// The tensor as a view of `flat`, which is one-dimensional, of the same kind, and on the same device.
    ///
    /// `data` gives it a version counter of its own: plain views share one, and an in-place step on one tensor would fail
    /// the backward pass of another.
    pub(super) fn view(&self, flat: &Tensor, first: usize) -> Result<Tensor> {
        let mut tensor = flat.f_data().map_err(refused)?;
        let row_major;
        let strides = match &self.strides {
            Some(strides) => strides,
            None => {
                row_major = row_major_strides(&self.size);
                &row_major
            }
        };
        let _same = tensor
            .f_as_strided_(&self.size, strides, signed(first)?)
            .map_err(refused)?;
        self.finish(tensor)
    }

    fn finish(&self, tensor: Tensor) -> Result<Tensor> {
        if self.requires_grad {
            let _same = tensor.f_set_requires_grad(true).map_err(refused)?;
        }
        Ok(tensor)
    }
}

/// The stride of a dim of 1 is never used, and may be any number.
fn stride_of(stride: usize, dim: usize) -> Result<i64> {
    if dim == 1 {
        Ok(signed(stride).unwrap_or(1))
    } else {
        signed(stride)
    }
}

/// Of a shape that is known to have an addressable length.
fn row_major_strides(size: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; size.len()];
    let mut stride = 1i64;
    for (slot, &dim) in strides.iter_mut().zip(size).rev() {
        *slot = stride;
        stride = stride.saturating_mul(dim.max(1));
    }
    strides
}

#[cold]
pub(super) fn refused(error: ::tch::TchError) -> Error {
    fault("libtorch cannot make the tensor", error)
}
