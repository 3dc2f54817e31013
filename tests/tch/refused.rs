//! What cannot travel is an error that names the field and the kind (T8), and hostile messages never reach libtorch (T9, T11).

use bytes::Bytes;
use serde_tensor::{Category, DType, Tensor as HostTensor, TensorDeserialize, TensorSerialize};
use tch::{CModule, Device, Kind, Tensor};

use super::{FLOAT, Host, One, data, iota, one, send_error};

fn meta() -> Tensor {
    let module = CModule::load(data("meta-tensor.pt")).unwrap();
    module.forward_ts::<Tensor>(&[]).unwrap()
}

fn nested() -> Tensor {
    let column = |values: &[i64]| Tensor::from_slice(values).reshape([2, 1]);
    Tensor::internal_nested_view_from_buffer(
        &iota(&[3]),
        &column(&[1, 2]),
        &column(&[1, 1]),
        &Tensor::from_slice(&[0i64, 1]),
    )
}

/// T8.
#[test]
fn each_tensor_without_plain_memory_is_named() {
    let dense = iota(&[2, 3]);
    for (tensor, what) in [
        (Tensor::new(), "undefined"),
        (
            dense.to_sparse(None, None::<&[i64]>, None),
            "sparse tensor (COO) of Float",
        ),
        (dense.to_sparse_csr(None), "sparse tensor (compressed"),
        (dense.to_sparse_csc(None), "sparse tensor (compressed"),
        (dense.to_mkldnn(), "mkldnn"),
        (nested(), "nested"),
        (meta(), "meta"),
        (Tensor::internal_efficientzerotensor([2], FLOAT), "zero tensor of Float"),
        (
            dense.quantize_per_tensor(0.1, 0, Kind::QInt8),
            "quantised tensor of QInt8",
        ),
        (
            dense.quantize_per_tensor(0.1, 0, Kind::QUInt8),
            "quantised tensor of QUInt8",
        ),
        (
            dense.quantize_per_tensor(0.1, 0, Kind::QInt32),
            "quantised tensor of QInt32",
        ),
        // A kind that tch's `kind()` panics on.
        (unnamed_kind(), "no name"),
    ] {
        let error = send_error(tensor);
        assert_eq!(
            (error.category(), error.path()),
            (Category::Backend, Some("x")),
            "{error}"
        );
        assert!(error.to_string().contains(what), "{what}: {error}");
    }
}

/// A tensor of `uint16`, which libtorch has and tch does not.
fn unnamed_kind() -> Tensor {
    let module = CModule::load(data("uint16-tensor.pt")).unwrap();
    module.forward_ts::<Tensor>(&[]).unwrap()
}

#[test]
fn meta_reads_as_mps_and_is_not_taken_for_it() {
    let meta = meta();
    assert_eq!(meta.device(), Device::Mps, "what tch says of it");
    assert!(meta.data_ptr().is_null());
    assert!(!send_error(meta).to_string().contains("mps"));
}

#[test]
fn the_error_keeps_libtorchs_own_as_its_source() {
    let error = send_error(nested());
    let source = std::error::Error::source(&error).unwrap();
    assert!(source.to_string().contains("NestedTensorCPU"), "{source}");
    assert!(!error.to_string().contains('\n'), "{error}");
}

#[test]
fn the_path_leads_into_containers() {
    #[derive(Debug, TensorSerialize)]
    struct Deep {
        #[tensor]
        layers: Vec<One>,
    }
    let layers = vec![one(iota(&[2])), one(Tensor::new())];
    assert_eq!(
        serde_tensor::to_vec(&Deep { layers }).unwrap_err().path(),
        Some("layers[1].x")
    );
}

#[test]
fn nothing_that_is_refused_makes_a_panic_or_upsets_the_next_message() {
    for _ in 0..3 {
        send_error(Tensor::new());
        assert_eq!(super::sent(&iota(&[3])).len(), 42);
    }
}

/// A message with one inline tensor, from its payload behind the form byte.
fn message(payload: &[u8]) -> Vec<u8> {
    let len = u8::try_from(payload.len() + 1).unwrap();
    [&[0x81, 0xa1, b'x', 0xc7, len, 0x54, 0][..], payload].concat()
}

/// T9. `from_data_size` reads on behind a short slice.
#[test]
fn a_large_shape_with_a_short_buffer_is_refused_before_libtorch_sees_it() {
    const MAX: [u8; 9] = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
    for dims in [
        &[1u8, 200, 1][..],
        &[2, 0x80, 0x80, 0x80, 0x80, 0x10, 0x80, 0x80, 0x80, 0x80, 0x10],
        &[&[1][..], &MAX].concat(),
        &[&[2][..], &MAX, &MAX].concat(),
    ] {
        for (code, bits) in [(2, 32), (4, 16), (5, 128), (6, 8), (10, 8)] {
            let payload = [&[code, bits, 0, 1, 0][..], dims, &[1, 1, 1, 1]].concat();
            let error = serde_tensor::from_slice::<One>(&message(&payload)).unwrap_err();
            assert!(matches!(error.category(), Category::Data | Category::Limit), "{error}");
        }
    }
}

/// Dims and strides that libtorch's 64 bits with a sign cannot hold, where no byte of data is needed to ask for them.
#[test]
fn empty_tensors_of_any_shape_and_strides_are_read_or_refused() {
    const HUGE: [u8; 10] = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
    let huge = [&[2, 32, 0, 1, 0, 3, 0][..], &HUGE, &HUGE].concat();
    let error = serde_tensor::from_slice::<One>(&message(&huge)).unwrap_err();
    assert_eq!((error.category(), error.path()), (Category::Backend, Some("x")));
    // Strided and empty: the strides say nothing.
    let strides = [&[2, 32, 2, 1, 0, 2, 0, 3][..], &HUGE, &HUGE].concat();
    assert_eq!(
        serde_tensor::from_slice::<One>(&message(&strides)).unwrap().x.size(),
        [0, 3]
    );
    // The stride of a dim of 1 is not used.
    let one_dim = [&[2, 32, 2, 1, 0, 2, 1, 2][..], &HUGE, &[1], &[0; 8]].concat();
    assert_eq!(
        serde_tensor::from_slice::<One>(&message(&one_dim)).unwrap().x.size(),
        [1, 2]
    );
}

#[test]
fn integers_that_require_a_gradient_are_refused() {
    let payload = [0, 64, 1, 1, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    let error = serde_tensor::from_slice::<One>(&message(&payload)).unwrap_err();
    assert_eq!((error.category(), error.path()), (Category::Backend, Some("x")));
    assert!(error.to_string().contains("i64"), "{error}");
}

/// T11.
#[test]
fn a_bool_byte_of_2_is_refused() {
    let payload = [6, 8, 0, 1, 0, 1, 2, 1, 2];
    let error = serde_tensor::from_slice::<One>(&message(&payload)).unwrap_err();
    assert_eq!((error.category(), error.path()), (Category::Data, Some("x")));
    // Inside a segment too.
    let x = HostTensor::from_bytes(DType::U8, &[3], vec![1u8, 0, 2]).unwrap();
    let bytes = serde_tensor::Encoder::new()
        .inline_limit(0)
        .to_vec(&Host { x })
        .unwrap();
    let (as_u8, as_bool) = ([0x54, 1, 1, 8], [0x54, 1, 6, 8]);
    let at = bytes.windows(4).position(|window| window == as_u8).unwrap();
    let forged = [&bytes[..at], &as_bool, &bytes[at + 4..]].concat();
    assert_eq!(
        serde_tensor::from_slice::<One>(&forged).unwrap_err().category(),
        Category::Data
    );
}

#[test]
fn a_host_tensor_arrives_in_libtorch() {
    let x = HostTensor::from_elements(&[1.0f32, 2.0], &[2]).unwrap();
    let message = serde_tensor::to_vec(&Host { x }).unwrap();
    let arrived = serde_tensor::from_slice::<One>(&message).unwrap().x;
    assert_eq!(Vec::<f32>::try_from(arrived).unwrap(), [1.0, 2.0]);
}

/// Many names for bytes that cannot be shared, each of which asks for a copy.
#[test]
fn a_small_message_cannot_ask_for_copies_without_end() {
    #[derive(Debug, TensorSerialize, TensorDeserialize)]
    struct Many<T> {
        #[tensor]
        all: Vec<T>,
    }
    let bytes = Bytes::from(vec![0u8; 100_001]);
    let whole = HostTensor::from_bytes(DType::U8, &[100_001], bytes.clone()).unwrap();
    let odd = HostTensor::from_bytes(DType::F32, &[25_000], bytes.slice(1..)).unwrap();
    let all = std::iter::once(whole).chain(std::iter::repeat_n(odd, 100)).collect();
    let mut message = Vec::new();
    serde_tensor::Plan::new(&Many { all })
        .unwrap()
        .write_to(&mut message)
        .unwrap();
    assert!(message.len() < 110_000);
    let error = serde_tensor::from_slice::<Many<Tensor>>(&message).unwrap_err();
    assert_eq!(error.category(), Category::Limit);
}

/// libtorch's `resize_` sets the sizes first, and leaves them so when it cannot get the memory.
#[test]
fn a_tensor_with_more_elements_than_memory_is_refused_and_not_read() {
    let resized = |mut tensor: Tensor, size: &[i64]| {
        assert!(tensor.f_resize_(size).is_err());
        assert_eq!(tensor.size(), size);
        tensor
    };
    let tensors = [
        resized(iota(&[300]), &[1 << 50]),
        resized(iota(&[300]).narrow(0, 100, 20), &[1 << 50]),
        resized(iota(&[300]), &[1 << 25, 1 << 25]).set_requires_grad(true),
        resized(iota(&[300]).to_kind(Kind::ComplexFloat), &[1 << 50]).conj(),
    ];
    for tensor in tensors {
        let size = tensor.size();
        let error = send_error(tensor);
        assert_eq!(
            (error.category(), error.path()),
            (Category::Backend, Some("x")),
            "{size:?}: {error}"
        );
        assert!(error.to_string().contains("storage"), "{error}");
    }
}
