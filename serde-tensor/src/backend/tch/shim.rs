//! What libtorch's interface for C says of a tensor: more than tch does, and sooner.
#![allow(
    unsafe_code,
    reason = "tch does not say how large a storage is; libtorch's interface for C does, which has to be declared here"
)]

use std::ffi::c_void;
use std::slice;

use ::tch::Tensor;

use super::Sizes;

// Of libtorch's `torch/csrc/inductor/aoti_torch/c/shim.h`, whose functions keep their names and types from version to version. A handle is a
// pointer to a C++ tensor, as tch's is; an error is a number other than 0, and then nothing is written.
unsafe extern "C" {
    fn aoti_torch_device_type_cpu() -> i32;
    fn aoti_torch_layout_strided() -> i32;
    fn aoti_torch_get_device_type(tensor: *const c_void, device: *mut i32) -> i32;
    fn aoti_torch_get_layout(tensor: *const c_void, layout: *mut i32) -> i32;
    fn aoti_torch_get_dim(tensor: *const c_void, dims: *mut i64) -> i32;
    fn aoti_torch_get_sizes(tensor: *const c_void, sizes: *mut *const i64) -> i32;
    fn aoti_torch_get_storage_size(tensor: *const c_void, bytes: *mut i64) -> i32;
    fn aoti_torch_get_storage_offset(tensor: *const c_void, elements: *mut i64) -> i32;
}

/// The shape of a defined tensor that is strided memory of the CPU's, with a storage; `None` for all others, and for those that have no such shape.
///
/// Nested tensors say that they are strided, and have no sizes; those of other kinds have another layout, device or no storage.
pub(super) fn dense_on_cpu(tensor: &Tensor) -> Option<Sizes> {
    let handle = handle(tensor);
    let (mut device, mut layout, mut dims, mut bytes, mut first) = (0, 0, 0, 0, std::ptr::null());
    // SAFETY: as below.
    let known = unsafe {
        aoti_torch_get_device_type(handle, &raw mut device) == 0
            && device == aoti_torch_device_type_cpu()
            && aoti_torch_get_layout(handle, &raw mut layout) == 0
            && layout == aoti_torch_layout_strided()
            && aoti_torch_get_storage_size(handle, &raw mut bytes) == 0
            && aoti_torch_get_dim(handle, &raw mut dims) == 0
            && aoti_torch_get_sizes(handle, &raw mut first) == 0
    };
    let dims = usize::try_from(dims).ok().filter(|_| known)?;
    if dims == 0 {
        return Some(Sizes::new());
    }
    if first.is_null() {
        return None;
    }
    // SAFETY: libtorch gave the address of the tensor's sizes ("returns borrowed reference"), of which there is one for each of its dims
    // (`Tensor::dim`, "the number of dims, `sizes().size()`"). They are the tensor's own, which no code changes between here and the end of
    // this function, where they have been copied.
    let sizes = unsafe { slice::from_raw_parts(first, dims) };
    sizes.iter().map(|&size| usize::try_from(size).ok()).collect()
}

/// How many bytes its storage has from the first element of a tensor on, whose elements are of `element` bytes; 0 for one without storage.
///
/// A tensor may show more, though libtorch means to prevent it: `resize_` sets the sizes, and keeps them when it then cannot get the memory.
pub(super) fn len_behind(tensor: &Tensor, element: usize) -> usize {
    let handle = handle(tensor);
    let (mut size, mut offset) = (0, 0);
    // SAFETY: a handle of tch's is a `torch::Tensor*` (torch-sys: "typedef torch::Tensor *tensor") that lives as long as the borrow;
    // these functions take an `at::Tensor*`, which is the same (aoti_torch/utils.h, `tensor_handle_to_tensor_pointer`), only
    // read it, catch every exception, and write one number each to a place that is ours.
    let found = unsafe {
        aoti_torch_get_storage_size(handle, &raw mut size) == 0
            && aoti_torch_get_storage_offset(handle, &raw mut offset) == 0
    };
    let bytes = |number: i64| usize::try_from(number).ok();
    let behind = || bytes(size)?.checked_sub(bytes(offset)?.checked_mul(element)?);
    if found { behind().unwrap_or(0) } else { 0 }
}

/// Where its storage begins, which tells it from others; `None` for one without, or without memory.
pub(super) fn storage(tensor: &Tensor) -> Option<usize> {
    let element = tensor.f_kind().ok()?.elt_size_in_bytes();
    let mut offset = 0;
    // SAFETY: as in `len_behind`.
    let found = unsafe { aoti_torch_get_storage_offset(handle(tensor), &raw mut offset) == 0 };
    let first = tensor.data_ptr().addr();
    let before = usize::try_from(offset).ok().filter(|_| found)?.checked_mul(element)?;
    first.checked_sub(before).filter(|_| first != 0)
}

fn handle(tensor: &Tensor) -> *const c_void {
    tensor.as_ptr().cast()
}

#[cfg(test)]
mod tests {
    use ::tch::{Device, Kind};

    use super::*;

    #[test]
    fn what_is_behind_a_view_is_the_rest_of_its_storage() {
        let flat = Tensor::zeros([100], (Kind::Double, Device::Cpu));
        assert_eq!(len_behind(&flat, 8), 800);
        assert_eq!(len_behind(&flat.narrow(0, 30, 5), 8), 70 * 8);
        assert_eq!(len_behind(&flat.view([10, 10]).transpose(0, 1).select(0, 3), 8), 97 * 8);
        assert_eq!(len_behind(&flat.view_dtype(Kind::Int16).narrow(0, 1, 1), 2), 798);
        assert_eq!(len_behind(&Tensor::zeros([0], (Kind::Float, Device::Cpu)), 4), 0);
    }

    #[test]
    fn views_have_one_storage() {
        let flat = Tensor::zeros([100], (Kind::Double, Device::Cpu));
        let storage = storage(&flat);
        assert_eq!(storage, Some(flat.data_ptr().addr()));
        assert_eq!(super::storage(&flat.narrow(0, 30, 5)), storage);
        assert_ne!(super::storage(&flat.copy()), storage);
        assert_eq!(super::storage(&Tensor::zeros([0], (Kind::Float, Device::Cpu))), None);
    }

    #[test]
    fn sizes_without_memory_do_not_count() {
        let mut tensor = Tensor::zeros([100], (Kind::Float, Device::Cpu));
        assert!(tensor.f_resize_([1 << 50]).is_err());
        assert_eq!((tensor.size(), len_behind(&tensor, 4)), (vec![1 << 50], 400));
    }

    #[test]
    fn dense_memory_has_a_shape_and_nothing_else_has() {
        let dense = Tensor::zeros([2, 3], (Kind::Float, Device::Cpu));
        assert_eq!(dense_on_cpu(&dense).unwrap().as_slice(), [2, 3]);
        assert_eq!(dense_on_cpu(&dense.transpose(0, 1)).unwrap().as_slice(), [3, 2]);
        assert_eq!(dense_on_cpu(&dense.sum(Kind::Float)).unwrap().as_slice(), [0; 0]);
        let many = Tensor::zeros([1, 2, 1, 2, 1, 0], (Kind::Float, Device::Cpu));
        assert_eq!(dense_on_cpu(&many).unwrap().as_slice(), [1, 2, 1, 2, 1, 0]);
        let column = |value: i64| Tensor::from_slice(&[value]).reshape([1, 1]);
        let starts = Tensor::from_slice(&[0i64]);
        let nested = Tensor::internal_nested_view_from_buffer(
            &Tensor::zeros([3], (Kind::Float, Device::Cpu)),
            &column(3),
            &column(1),
            &starts,
        );
        for other in [
            nested,
            dense.to_sparse(None, None::<&[i64]>, None),
            dense.to_sparse_csr(None),
            dense.to_mkldnn(),
        ] {
            assert_eq!(dense_on_cpu(&other), None);
        }
    }
}
