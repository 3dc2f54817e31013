//! How much memory is behind a tensor.
#![allow(
    unsafe_code,
    reason = "tch does not say how large a storage is; libtorch's interface for C does, which has to be declared here"
)]

use std::ffi::c_void;

use ::tch::Tensor;

// Of libtorch's `torch/csrc/inductor/aoti_torch/c/shim.h`, whose functions keep their names and types from version to version. A handle is a
// pointer to a C++ tensor, as tch's is; an error is a number other than 0, and then nothing is written.
unsafe extern "C" {
    fn aoti_torch_get_storage_size(tensor: *const c_void, bytes: *mut i64) -> i32;
    fn aoti_torch_get_storage_offset(tensor: *const c_void, elements: *mut i64) -> i32;
}

/// How many bytes its storage has from the first element of a tensor on, whose elements are of `element` bytes; 0 for one without storage.
///
/// A tensor may show more, though libtorch means to prevent it: `resize_` sets the sizes, and keeps them when it then cannot get the memory.
pub(super) fn len_behind(tensor: &Tensor, element: usize) -> usize {
    let handle = tensor.as_ptr().cast::<c_void>();
    let (mut size, mut offset) = (0, 0);
    // SAFETY: `as_ptr` of a tch tensor is a `torch::Tensor*` (torch-sys: "typedef torch::Tensor *tensor") that lives as long as the borrow;
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
    fn sizes_without_memory_do_not_count() {
        let mut tensor = Tensor::zeros([100], (Kind::Float, Device::Cpu));
        assert!(tensor.f_resize_([1 << 50]).is_err());
        assert_eq!((tensor.size(), len_behind(&tensor, 4)), (vec![1 << 50], 400));
    }
}
