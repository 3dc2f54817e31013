//! Which tensors of libtorch can travel: those that are plain memory with a shape and strides.

use std::ops::Range;

use ::tch::{Kind, Tensor};

use super::{Sizes, devices, fault, kind, shim};
use crate::{DType, Device, Error, Result};

/// A tensor that can travel, looked at once. Nothing was copied.
pub(super) struct Plain {
    pub(super) dtype: DType,
    pub(super) device: Device,
    pub(super) shape: Sizes,
    /// `None` for row-major ones.
    pub(super) strides: Option<Sizes>,
    /// Its bytes are not its values yet: it is a view that conjugates or negates when it is read.
    pub(super) lazy: bool,
    /// Of its first element; 0 for one that is empty.
    pub(super) address: usize,
}

impl Plain {
    /// Looks at a tensor; an error names what it is instead.
    ///
    /// The order matters. tch panics when an undefined tensor is asked for its size, and when a sparse or nested one is
    /// asked for its strides; `is_sparse` is false for compressed ones. Of dense memory alone can libtorch say that a tensor is
    /// set to itself; meta, sparse, nested and opaque tensors are an error there.
    pub(super) fn of(tensor: &Tensor) -> Result<Self> {
        if !tensor.defined() {
            return Err(Error::backend("an undefined tensor cannot travel"));
        }
        let kind = tensor
            .f_kind()
            .map_err(|error| fault("a tensor of a kind that tch has no name for", error))?;
        let Some(dtype) = kind::dtype(kind) else {
            return Err(quantised(kind));
        };
        let conjugate = tensor.f_is_conj().map_err(|error| unlike(tensor, kind, error))?;
        let negative = tensor.f_is_neg().map_err(|error| unlike(tensor, kind, error))?;
        let zero = tensor
            .f_internal_is_zerotensor()
            .map_err(|error| unlike(tensor, kind, error))?;
        if zero {
            return Err(Error::backend(format!(
                "a zero tensor of {kind:?}, which has no memory, cannot travel"
            )));
        }
        // What most tensors are is quickly seen; for all others it is asked in libtorch's own words.
        let shape = match shim::dense_on_cpu(tensor) {
            Some(shape) => shape,
            None if is_memory(tensor, conjugate, negative).map_err(|error| unlike(tensor, kind, error))? => {
                sizes(&tensor.size())?
            }
            None => {
                return Err(Error::backend(format!(
                    "a tensor of {kind:?} that is not plain memory cannot travel"
                )));
            }
        };
        let plain = Self {
            dtype,
            device: devices::device_of(tensor)?,
            shape,
            // They are cheaper to ask whether than what.
            strides: match tensor.is_contiguous() {
                true => None,
                false => Some(sizes(&tensor.stride())?),
            },
            lazy: conjugate || negative,
            address: tensor.data_ptr().addr(),
        };
        let shown = plain.extent()?;
        if shown > 0 && plain.address == 0 {
            return Err(Error::backend(format!(
                "a tensor of {kind:?} that has no memory cannot travel"
            )));
        }
        let there = shim::len_behind(tensor, plain.element_size());
        if shown > there {
            return Err(short(kind, shown, there));
        }
        Ok(plain)
    }

    /// How many bytes there are from the first element's to the last one's, these included.
    fn extent(&self) -> Result<usize> {
        let elements = match &self.strides {
            None => self.elements().ok(),
            Some(_) if self.shape.contains(&0) => Some(0),
            Some(strides) => {
                let mut dims = self.shape.iter().zip(strides);
                dims.try_fold(1usize, |extent, (dim, stride)| {
                    extent.checked_add((dim - 1).checked_mul(*stride)?)
                })
            }
        };
        let extent = elements.and_then(|elements| elements.checked_mul(self.element_size()));
        extent.ok_or_else(|| Error::backend("a tensor longer than the address space"))
    }

    /// How many elements it shows.
    pub(super) fn elements(&self) -> Result<usize> {
        let product = self
            .shape
            .iter()
            .try_fold(1usize, |product, &dim| product.checked_mul(dim));
        product.ok_or_else(|| Error::backend("a tensor of more elements than can be counted"))
    }

    /// The size of an element in bytes: no kind of libtorch's is smaller than one.
    pub(super) fn element_size(&self) -> usize {
        kind::size(self.dtype)
    }
}

/// Where the bytes of a tensor in the host's memory are, unless they are few.
pub(super) fn weight(tensor: &Tensor) -> Option<Range<usize>> {
    // These are in the body of a message, as a rule. Of all its storage, for the quickest answer.
    const FEW: usize = 512;
    if !tensor.defined() || shim::len_behind(tensor, 1) <= FEW {
        return None;
    }
    let dims = shim::dense_on_cpu(tensor)?;
    let size = tensor.f_kind().ok()?.elt_size_in_bytes();
    let len = dims.iter().try_fold(size, |product, &dim| product.checked_mul(dim))?;
    let start = tensor.data_ptr().addr();
    // No more than there is: one that repeats its elements takes more in a message, which then grows.
    (start != 0 && len <= shim::len_behind(tensor, size)).then(|| start..start + len)
}

/// Whether a tensor is memory. A view that conjugates or negates is asked without that, or it would first be copied.
fn is_memory(tensor: &Tensor, conjugate: bool, negative: bool) -> std::result::Result<bool, ::tch::TchError> {
    let without_conj = if conjugate {
        Some(tensor.f_detach()?.f_conj()?)
    } else {
        None
    };
    let tensor = without_conj.as_ref().unwrap_or(tensor);
    let without_neg = if negative {
        Some(tensor.f_detach()?.f_internal_neg_view()?)
    } else {
        None
    };
    let tensor = without_neg.as_ref().unwrap_or(tensor);
    tensor.f_is_set_to(tensor)
}

fn sizes(sizes: &[i64]) -> Result<Sizes> {
    let converted = sizes
        .iter()
        .map(|&size| usize::try_from(size))
        .collect::<std::result::Result<Sizes, _>>();
    converted.map_err(|_| Error::backend(format!("libtorch gives a tensor the sizes {sizes:?}")))
}

#[cold]
fn quantised(kind: Kind) -> Error {
    Error::backend(format!(
        "a quantised tensor of {kind:?} cannot travel: send it dequantised, or its integers and its scales"
    ))
}

#[cold]
fn short(kind: Kind, shown: usize, there: usize) -> Error {
    Error::backend(format!(
        "a tensor of {kind:?} shows {shown} bytes where its storage has {there}, as one does whose `resize_` failed: it cannot travel"
    ))
}

/// The error of a tensor that is not plain: what it is instead, by the backend that libtorch says cannot answer.
#[cold]
fn unlike(tensor: &Tensor, kind: Kind, error: ::tch::TchError) -> Error {
    let said = error.to_string();
    let backend = said
        .split_once("from the '")
        .and_then(|(_, rest)| rest.split_once("' backend"));
    let backend = backend.map_or("", |(backend, _)| backend);
    let what = match backend {
        _ if tensor.is_sparse() => "a sparse tensor (COO)",
        _ if tensor.is_mkldnn() => "a tensor in mkldnn's own layout",
        _ if backend.starts_with("SparseCsr") => "a sparse tensor (compressed: CSR, CSC, BSR or BSC)",
        _ if backend.starts_with("Nested") => "a nested tensor",
        _ if said.contains("with Meta tensors") => "a meta tensor, which has no memory,",
        _ => "a tensor that is not dense",
    };
    fault(format!("{what} of {kind:?} cannot travel"), error)
}
