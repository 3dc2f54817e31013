//! Faults of tensor formats, as far as they need no libtorch. T10, which counts memory, is in `tests/memory.rs`.

use std::sync::Mutex;

use bytes::Bytes;
use half::{bf16, f16};
use serde_tensor::backend::{Description, HostBytes, Import, Imported, Storage, TensorBackend};
use serde_tensor::{
    Category, DType, Decoder, Encoder, Error, Tensor, TensorDeserialize, TensorSerialize, TensorView, Transfer, inspect,
};

use crate::{both, ramp};

/// T1.
#[test]
fn payloads_are_aligned_in_the_message() {
    let value = (ramp(513), Tensor::from_elements(&[0.5f64; 100], &[100]).unwrap());
    for (align, encoder) in [(64, Encoder::new())]
        .into_iter()
        .chain((4..=16).map(|log2| (1 << log2, Encoder::new().align(1 << log2))))
    {
        for bytes in both(&encoder, &value) {
            let read: (Tensor, Tensor) = serde_tensor::from_reader(bytes.as_slice()).unwrap();
            assert_eq!(read, value);
            assert_eq!(read.1.bytes().as_ptr().addr() % align, 0);
            assert!(matches!(
                read.1.elements::<f64>().unwrap(),
                std::borrow::Cow::Borrowed(_)
            ));
        }
    }
}

/// T1.
#[test]
fn an_address_that_is_not_aligned_is_copied_and_the_report_says_so() {
    let tensor = Tensor::from_elements(&[0.5f64; 100], &[100]).unwrap();
    let message = serde_tensor::to_vec(&tensor).unwrap();
    let mut transfers = Vec::new();
    for offset in 0..8 {
        let buffer = Bytes::from([&vec![0; offset][..], &message].concat());
        let (read, report) = Decoder::new()
            .from_bytes_with_report::<Tensor>(buffer.slice(offset..))
            .unwrap();
        assert_eq!(read, tensor);
        assert_eq!(read.bytes().as_ptr().addr() % 8, 0);
        transfers.push(report.tensors()[0].transfer());
    }
    let copied = transfers
        .iter()
        .filter(|&&transfer| transfer == Transfer::Copied)
        .count();
    assert_eq!(
        (copied, transfers.len() - copied),
        (7, 1),
        "one of eight addresses is aligned"
    );
}

/// T2.
#[test]
fn every_dtype_keeps_its_bytes_and_its_name() {
    let named = [
        "bool",
        "u8",
        "i8",
        "u16",
        "i16",
        "u32",
        "i32",
        "u64",
        "i64",
        "f16",
        "bf16",
        "f32",
        "f64",
        "c64",
        "c128",
        "f8_e4m3fn",
        "f8_e5m2",
        "f8_e4m3fnuz",
        "f8_e5m2fnuz",
        "f8_e8m0fnu",
        "f6_e2m3fn",
        "f6_e3m2fn",
        "f4_e2m1fn",
    ];
    let unnamed = ["dl:9/8", "dl:2/80", "dl:0/3"];
    for name in named.into_iter().chain(unnamed) {
        let dtype: DType = name.parse().unwrap();
        let len = (5 * usize::from(dtype.bits())).div_ceil(8);
        let bytes: Vec<u8> = if name == "bool" {
            vec![1, 0, 1, 1, 0]
        } else {
            (100..).take(len).collect()
        };
        let tensor = Tensor::from_bytes(dtype, &[5], bytes.clone()).unwrap();
        for encoder in [Encoder::new(), Encoder::new().inline_limit(0)] {
            for message in both(&encoder, &tensor) {
                let read: Tensor = serde_tensor::from_slice(&message).unwrap();
                assert_eq!(
                    (read.dtype(), read.shape(), read.bytes()),
                    (dtype, &[5][..], bytes.as_slice()),
                    "{name}"
                );
                let view: TensorView<'_> = serde_tensor::from_slice(&message).unwrap();
                assert_eq!(view, tensor);
            }
        }
        let json = serde_json::to_string(&tensor).unwrap();
        assert!(json.contains(&format!("\"{name}\"")));
        assert_eq!(serde_json::from_str::<Tensor>(&json).unwrap(), tensor);
    }
}

/// T2.
#[test]
fn half_precision_is_never_mistaken_for_the_other_kind() {
    let (one, other) = (Tensor::scalar(f16::from_f32(1.5)), Tensor::scalar(bf16::from_f32(1.5)));
    for (tensor, dtype) in [(one, DType::F16), (other, DType::BF16)] {
        let read: Tensor = serde_tensor::from_slice(&serde_tensor::to_vec(&tensor).unwrap()).unwrap();
        assert_eq!(read.dtype(), dtype);
        assert_eq!(read.elements::<f16>().is_ok(), dtype == DType::F16);
        assert_eq!(read.elements::<bf16>().is_ok(), dtype == DType::BF16);
        assert!(read.elements::<u16>().is_err());
    }
}

/// T3.
#[test]
fn scalars_and_empty_tensors_travel() {
    let value = vec![
        Tensor::scalar(0.25f32),
        Tensor::zeros(DType::F64, &[0]).unwrap(),
        Tensor::zeros(DType::F64, &[3, 0, 2]).unwrap(),
        Tensor::zeros(DType::U8, &[usize::MAX, usize::MAX, 0]).unwrap(),
        Tensor::zeros(DType::U8, &[1, 1, 1, 1, 1]).unwrap(),
    ];
    for encoder in [
        Encoder::new(),
        Encoder::new().inline_limit(0),
        Encoder::new().framed(true).checksums(true),
    ] {
        for bytes in both(&encoder, &value) {
            let read: Vec<Tensor> = serde_tensor::from_slice(&bytes).unwrap();
            assert_eq!(read, value);
            let read: Vec<Tensor> = serde_tensor::from_bytes(bytes.into()).unwrap();
            assert_eq!(read, value);
        }
    }
}

/// A tensor library with strides: an `i16` storage, a shape and strides.
#[derive(Clone, Debug)]
struct Strided {
    storage: Bytes,
    shape: Vec<usize>,
    strides: Vec<usize>,
    grad: bool,
}

impl Strided {
    fn new(shape: &[usize], strides: &[usize]) -> Self {
        let len = shape
            .iter()
            .zip(strides)
            .map(|(dim, stride)| (dim - 1) * stride)
            .sum::<usize>()
            + 1;
        let storage = (0..i16::try_from(len).unwrap())
            .flat_map(i16::to_le_bytes)
            .collect::<Vec<u8>>()
            .into();
        Self {
            storage,
            shape: shape.into(),
            strides: strides.into(),
            grad: false,
        }
    }
}

impl TensorBackend for Strided {
    const HOST_ONLY: bool = true;

    fn describe(&self) -> serde_tensor::Result<Description<'_>> {
        let address = self.storage.as_ptr().addr() as u64;
        Ok(Description::new(DType::I16, &self.shape)
            .strides(&self.strides)
            .requires_grad(self.grad)
            .storage(Storage { space: 0, address }))
    }

    fn host_bytes(&self) -> serde_tensor::Result<HostBytes<'_>> {
        Ok(HostBytes::borrowed(&self.storage))
    }

    fn import(import: Import<'_>) -> serde_tensor::Result<Imported<Self>> {
        let (shape, grad) = (import.shape().to_vec(), import.requires_grad());
        let row_major = || {
            let mut strides: Vec<usize> = shape
                .iter()
                .rev()
                .scan(1, |next, dim| Some(std::mem::replace(next, *next * dim)))
                .collect();
            strides.reverse();
            strides
        };
        let strides = import.strides().map_or_else(row_major, <[usize]>::to_vec);
        let storage = Bytes::copy_from_slice(import.bytes());
        Ok(Imported::copied(Self {
            storage,
            shape,
            strides,
            grad,
        }))
    }

    fn keep_alive(&self) -> Option<Box<dyn serde_tensor::backend::KeepAlive>> {
        Some(Box::new(self.storage.clone()))
    }
}

serde_tensor::impl_tensor!(Strided);

/// T4.
#[test]
fn a_transposed_tensor_travels_as_it_lies_and_its_values_are_equal() {
    for (shape, strides) in [
        (&[3usize, 2][..], &[1usize, 3][..]),
        (&[2, 3, 4], &[1, 8, 2]),
        (&[20, 30], &[1, 20]),
        (&[3, 4], &[8, 2]),
        (&[2, 1, 3], &[3, 99, 1]),
    ] {
        let sent = Strided::new(shape, strides);
        for encoder in [Encoder::new(), Encoder::new().inline_limit(0)] {
            for bytes in both(&encoder, &sent) {
                let read: Strided = serde_tensor::from_slice(&bytes).unwrap();
                assert_eq!(
                    (&read.storage, &read.shape),
                    (&sent.storage, &sent.shape),
                    "not one byte was moved"
                );
                // A type without strides gets the same values, row by row.
                let dense: Tensor = serde_tensor::from_slice(&bytes).unwrap();
                assert_eq!(dense.shape(), shape);
                let values = dense.elements::<i16>().unwrap();
                let mut index = vec![0; shape.len()];
                for value in values.iter() {
                    let place: usize = index.iter().zip(strides).map(|(i, stride)| i * stride).sum();
                    assert_eq!(usize::try_from(*value).unwrap(), place);
                    for (i, dim) in index.iter_mut().zip(shape).rev() {
                        *i += 1;
                        if *i < *dim {
                            break;
                        }
                        *i = 0;
                    }
                }
            }
        }
    }
}

/// T4.
#[test]
fn a_transposed_tensor_lies_in_a_plan_where_it_is() {
    let sent = Strided::new(&[100, 200], &[1, 100]);
    let plan = Encoder::new().plan(&sent).unwrap();
    assert_eq!(plan.copied(), 0);
    let mut bytes = Vec::new();
    plan.write_to(&mut bytes).unwrap();
    assert_eq!(inspect(&bytes).unwrap().tensors()[0].strides(), Some(&[1, 100][..]));
}

/// T5.
#[test]
fn a_small_view_does_not_drag_its_storage_along() {
    let whole = ramp(1 << 20);
    let part = Tensor::from_bytes(DType::U8, &[1000], whole.shared_bytes().slice(5000..6000)).unwrap();
    for bytes in both(&Encoder::new(), &part) {
        assert!(bytes.len() < 1500, "{}", bytes.len());
        assert_eq!(serde_tensor::from_slice::<Tensor>(&bytes).unwrap(), part);
    }
}

/// T6.
#[test]
fn two_names_for_one_storage_are_one_segment_and_one_storage_again() {
    let one = ramp(5000);
    for bytes in both(&Encoder::new(), &(one.clone(), one.clone())) {
        assert_eq!(inspect(&bytes).unwrap().segments(), Some(1));
        let read: (Tensor, Tensor) = serde_tensor::from_slice(&bytes).unwrap();
        assert_eq!(read, (one.clone(), one.clone()));
        assert_eq!(read.0.bytes().as_ptr(), read.1.bytes().as_ptr());
    }
}

/// T7.
#[test]
fn requires_grad_is_restored() {
    for grad in [false, true] {
        let sent = Strided {
            grad,
            ..Strided::new(&[3, 2], &[1, 3])
        };
        for bytes in both(&Encoder::new(), &sent) {
            assert_eq!(inspect(&bytes).unwrap().tensors()[0].requires_grad(), grad);
            assert_eq!(serde_tensor::from_slice::<Strided>(&bytes).unwrap().grad, grad);
        }
        let json = serde_json::to_string(&sent).unwrap();
        assert_eq!(serde_json::from_str::<Strided>(&json).unwrap().grad, grad);
    }
}

/// A tensor that cannot travel.
struct Sparse;

impl TensorBackend for Sparse {
    fn describe(&self) -> serde_tensor::Result<Description<'_>> {
        Err(Error::backend("a sparse tensor cannot travel"))
    }

    fn host_bytes(&self) -> serde_tensor::Result<HostBytes<'_>> {
        Ok(HostBytes::borrowed(&[]))
    }

    fn import(_: Import<'_>) -> serde_tensor::Result<Imported<Self>> {
        Ok(Imported::copied(Self))
    }
}

serde_tensor::impl_tensor!(Sparse);

/// T8.
#[test]
fn a_tensor_that_cannot_travel_is_an_error_that_names_field_and_kind() {
    #[derive(TensorSerialize)]
    struct Layer {
        #[tensor]
        weight: Option<Sparse>,
    }
    let value = vec![Layer { weight: None }, Layer { weight: Some(Sparse) }];
    for error in [
        serde_tensor::to_vec(&value).unwrap_err(),
        Encoder::new().plan(&value).map(drop).unwrap_err(),
    ] {
        assert_eq!(
            (error.category(), error.path()),
            (Category::Backend, Some("[1].weight")),
            "{error}"
        );
        assert!(error.to_string().contains("a sparse tensor cannot travel"), "{error}");
    }
    let error = serde_json::to_string(&value).unwrap_err();
    assert!(error.to_string().contains("a sparse tensor cannot travel"), "{error}");
}

/// Records what was imported.
#[derive(Debug)]
struct Trusting;

static IMPORTED: Mutex<Vec<usize>> = Mutex::new(Vec::new());

impl TensorBackend for Trusting {
    fn describe(&self) -> serde_tensor::Result<Description<'_>> {
        Ok(Description::new(DType::Bool, &[0]))
    }

    fn host_bytes(&self) -> serde_tensor::Result<HostBytes<'_>> {
        Ok(HostBytes::borrowed(&[]))
    }

    fn import(import: Import<'_>) -> serde_tensor::Result<Imported<Self>> {
        IMPORTED.lock().unwrap().push(import.bytes().len());
        Ok(Imported::copied(Self))
    }
}

serde_tensor::impl_tensor!(Trusting);

/// T9 and T11: what is hostile does not reach the library, and what is not does.
#[test]
fn a_backend_is_called_only_with_data_that_fits_its_description() {
    let shape = |dims: &[u64], data: usize, dtype: &str| {
        let map = serde_json::json!({"dtype": dtype, "shape": dims, "data": base64(data)});
        serde_tensor::from_slice::<Trusting>(&serde_tensor::to_vec(&map).unwrap())
    };
    for (dims, data) in [
        (&[1000u64, 1000][..], 12),
        (&[4], 12),
        (&[2], 12),
        (&[], 12),
        (&[u64::MAX], 12),
        (&[1 << 32, 1 << 32], 0),
        (&[0], 12),
    ] {
        assert!(shape(dims, data, "f32").is_err(), "{dims:?}");
    }
    // A bool of 0xff, as the helper makes them.
    assert_eq!(shape(&[3], 3, "bool").unwrap_err().category(), Category::Data);
    // Strides that would read a four-byte buffer a million times.
    let hostile = [0xc7, 15, 0x54, 0, 1, 8, 2, 1, 0, 1, 0x80, 0x80, 0x40, 0, 1, 2, 3, 4];
    let error = serde_tensor::from_slice::<Trusting>(&hostile).unwrap_err();
    assert!(error.to_string().contains("stride 0 of dim 0"), "{error}");
    assert!(IMPORTED.lock().unwrap().is_empty());
    shape(&[3], 12, "f32").unwrap();
    assert_eq!(*IMPORTED.lock().unwrap(), [12]);
}

/// So many bytes of 0xff.
fn base64(len: usize) -> String {
    assert_eq!(len % 3, 0);
    "////".repeat(len / 3)
}

/// T11.
#[test]
fn a_bool_that_is_neither_is_an_error() {
    let mut message = serde_tensor::to_vec(&Tensor::from_elements(&[true, false], &[2]).unwrap()).unwrap();
    *message.last_mut().unwrap() = 2;
    let error = serde_tensor::from_slice::<Tensor>(&message).unwrap_err();
    assert_eq!(error.category(), Category::Data);
    assert!(error.to_string().contains("element 1 of a bool tensor is 2"), "{error}");
    assert!(serde_tensor::from_slice::<TensorView<'_>>(&message).is_err());
    #[derive(TensorDeserialize, Debug)]
    #[expect(dead_code, reason = "read only")]
    struct Bulk(#[tensor] Vec<bool>);
    assert!(serde_tensor::from_slice::<Bulk>(&message).is_err());
}

/// T12. A plan borrows its value, so the compiler refuses a change in between: the example of `Plan` shows it. A snapshot does
/// not.
#[test]
fn a_message_is_of_the_moment_it_was_planned() {
    let mut value = vec![1u8; 1000];
    #[derive(TensorSerialize)]
    struct Bulk<'a>(#[tensor] &'a [u8]);
    let bytes = {
        let bulk = Bulk(&value);
        let plan = Encoder::new().snapshot(true).plan(&bulk).unwrap();
        assert_eq!(plan.copied(), 1000);
        let mut bytes = Vec::new();
        plan.write_to(&mut bytes).unwrap();
        bytes
    };
    value.fill(2);
    assert_eq!(serde_tensor::from_slice::<Tensor>(&bytes).unwrap().bytes(), [1; 1000]);
}
