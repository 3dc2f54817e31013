//! Where a tensor's bytes are, for who may use them there.
#![allow(
    unsafe_code,
    reason = "libtorch can change a tensor's bytes behind a shared reference, so their address can only be offered with a promise"
)]

use std::ops::Deref;
use std::ptr::NonNull;

use ::tch::Tensor;

use super::export::Sink;
use super::shim;
use crate::Result;
use crate::backend::HostBytes;

/// The bytes of `tensor`, which are `len`, of elements of `element` bytes, and lie on the host in one piece, from its first element on: copied
/// by `copy`, or used where they are.
pub(super) fn addressed<'a, T: Deref<Target = Tensor> + Clone + 'a>(
    tensor: T,
    element: usize,
    len: usize,
    copy: impl Fn(&Tensor, &mut Sink<'_>) -> Result<()> + 'a,
) -> HostBytes<'a> {
    let place = tensor.clone();
    let address = move || {
        let first = NonNull::new(place.data_ptr().cast::<u8>())?;
        let there = shim::len_behind(&place, element) >= len;
        there.then(|| NonNull::slice_from_raw_parts(first, len))
    };
    // SAFETY: the tensor was found to be dense memory on the CPU (`Plain::of`) whose `len` bytes are in one piece (`Form`), and that its
    // storage has as many was seen just now. The closure holds the tensor, or an alias of its own that `set_data` and `resize_` on the
    // original do not reach, and with it the storage; a storage that grows through another handle moves, and `data_ptr` says where it is
    // now. All of these are calls into libtorch, which do not happen on this thread until the bytes were used. On another thread they
    // would race with every read of the tensor, libtorch's own too, which is what the promise leaves out. If nothing happens to the
    // tensor while it is borrowed, its storage stays where it is for as long.
    unsafe { HostBytes::addressed(move |sink| copy(&tensor, sink), address) }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::io::{self, IoSlice, Write};

    use serde_json::Value;

    use super::*;
    use crate::plan::Recorder;
    use crate::{Encoder, Plan, Presence, TensorSerialize, TensorVisitor};
    use ::tch::Kind;

    /// What is sent: serde's own traits cannot be implemented for tch's type.
    struct Sent(Vec<Tensor>);

    impl serde::Serialize for Sent {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            self.serialize_tensors(serializer)
        }
    }

    impl TensorSerialize for Sent {
        const PRESENCE: Presence = Presence::Always;

        fn contains_tensor(&self) -> bool {
            true
        }

        fn serialize_tensors<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            self.0.serialize_tensors(serializer)
        }

        fn visit_tensors<'a>(&'a self, visitor: &mut TensorVisitor<'a, '_>) -> Result<()> {
            self.0.visit_tensors(visitor)
        }
    }

    fn iota(shape: &[i64]) -> Tensor {
        Tensor::arange(shape.iter().product::<i64>(), (Kind::Float, ::tch::Device::Cpu)).reshape(shape)
    }

    /// The tensors that PyTorch describes in `data/torch-oracle.json` as dense and permuted, by name.
    fn permuted() -> Vec<(String, Tensor)> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../data/torch-oracle.json");
        let oracle: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let sizes = |value: &Value| serde_json::from_value::<Vec<i64>>(value.clone()).unwrap();
        let mut found = Vec::new();
        for case in oracle["tensors"].as_array().unwrap() {
            let (shape, strides) = (sizes(&case["shape"]), sizes(&case["stride"]));
            let elements: i64 = shape.iter().product();
            let span: i64 = 1 + shape
                .iter()
                .zip(&strides)
                .map(|(dim, stride)| (dim - 1) * stride)
                .sum::<i64>();
            let dense = elements == span && elements > 0 && !strides.contains(&0);
            if !dense || case["dtype"] != "float32" || case["is_conj"] == true {
                continue;
            }
            let offset = case["storage_offset"].as_i64().unwrap();
            let tensor = iota(&[offset + elements]).as_strided(&shape, &strides, offset);
            if !tensor.is_contiguous() {
                found.push((case["name"].as_str().unwrap().to_owned(), tensor));
            }
        }
        found
    }

    /// Each tensor's memory as the kernel or a writer should be given it.
    fn ranges(tensors: &[Tensor]) -> Vec<(usize, usize)> {
        let range = |tensor: &Tensor| {
            (
                tensor.data_ptr().addr(),
                tensor.numel() * tensor.kind().elt_size_in_bytes(),
            )
        };
        tensors.iter().map(range).collect()
    }

    #[test]
    fn the_kernel_is_given_the_address_of_each_dense_tensor_and_of_no_copy() {
        let oracle = permuted();
        let names: Vec<&str> = oracle.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["transposed", "permuted", "channels_last"]);
        let mut tensors: Vec<Tensor> = oracle.into_iter().map(|(_, tensor)| tensor).collect();
        tensors.extend([
            iota(&[1000]),
            iota(&[300, 4]).transpose(0, 1),
            iota(&[7]).set_requires_grad(true),
            iota(&[64, 3, 32, 32]).permute([2, 0, 3, 1]),
        ]);
        let value = Sent(tensors);
        let plan = Encoder::new().inline_limit(0).plan(&value).unwrap();
        let mut kernel = Recorder::new(usize::MAX);
        plan.write_to_kernel(&mut kernel).unwrap();
        let expected = ranges(&value.0);
        for &(address, len) in &expected {
            kernel.assert_took(address, len);
        }
        // Everything else are the description and the gaps: nothing was made contiguous in other memory.
        let elsewhere = kernel.ranges.iter().filter(|range| !expected.contains(range));
        let data: usize = expected.iter().map(|(_, len)| len).sum();
        assert_eq!(elsewhere.map(|(_, len)| len).sum::<usize>() + data, plan.len());
        let mut written = Vec::new();
        plan.write_to(&mut written).unwrap();
        assert!(kernel.message == written);
    }

    #[test]
    fn what_has_gaps_or_no_bytes_is_copied() {
        let value = Sent(vec![
            iota(&[300, 4]).narrow(1, 1, 2),
            iota(&[0]),
            iota(&[1]).expand([900], false),
        ]);
        let plan = Encoder::new().inline_limit(0).plan(&value).unwrap();
        let mut kernel = Recorder::new(usize::MAX);
        plan.write_to_kernel(&mut kernel).unwrap();
        let mut written = Vec::new();
        plan.write_to(&mut written).unwrap();
        assert!(kernel.message == written);
    }

    #[test]
    fn memory_that_moves_between_planning_and_writing_is_found_again() {
        let tensor = iota(&[1000]);
        let value = Sent(vec![tensor.shallow_clone()]);
        let plan = Plan::new(&value).unwrap();
        let before = tensor.data_ptr().addr();
        // Grows the storage that both share, and so moves it.
        let _same = tensor.shallow_clone().resize_([1_000_000]);
        assert_ne!(tensor.data_ptr().addr(), before);
        let mut kernel = Recorder::new(usize::MAX);
        plan.write_to_kernel(&mut kernel).unwrap();
        kernel.assert_took(tensor.data_ptr().addr(), 4000);
    }

    /// Keeps where the pieces that it is given are.
    struct Seen(Vec<(usize, usize)>, Vec<u8>);

    impl Write for Seen {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.push((bytes.as_ptr().addr(), bytes.len()));
            self.1.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
            slices.iter().map(|slice| self.write(slice)).sum()
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn under_the_callers_promise_a_plan_lends_the_tensors_and_the_bytes_are_the_same() {
        let value = Sent(vec![
            iota(&[1000]),
            iota(&[300, 4]).transpose(0, 1),
            iota(&[300, 4]).narrow(1, 1, 2),
            iota(&[3]),
        ]);
        // SAFETY: nothing else has a handle to the tensors.
        let promised = unsafe { Encoder::new().assume_unmodified() };
        let plan = promised.plan(&value).unwrap();
        let mut lent = Seen(Vec::new(), Vec::new());
        plan.write_to(&mut lent).unwrap();
        for range in &ranges(&value.0)[..2] {
            assert!(lent.0.contains(range), "{range:?} is not in {:?}", lent.0);
        }
        let mut copied = Seen(Vec::new(), Vec::new());
        let plan = Plan::new(&value).unwrap();
        plan.write_to(&mut copied).unwrap();
        for range in &ranges(&value.0)[..2] {
            assert!(!copied.0.contains(range), "lent without a promise");
        }
        assert!(lent.1 == copied.1);
        assert!(promised.to_vec(&value).unwrap() == crate::to_vec(&value).unwrap());
    }
}
