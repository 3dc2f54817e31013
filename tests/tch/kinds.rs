//! Every kind keeps its bytes and its name, at any rank (T2, T3).

use serde_tensor::{Category, DType};
use tch::{Device, Kind, Tensor};

use super::{One, as_host, bytes, one, round_trips, sent};

/// The kinds that can travel, and the dtypes they are.
const KINDS: [(Kind, &str); 17] = [
    (Kind::Bool, "bool"),
    (Kind::Uint8, "u8"),
    (Kind::Int8, "i8"),
    (Kind::Int16, "i16"),
    (Kind::Int, "i32"),
    (Kind::Int64, "i64"),
    (Kind::Half, "f16"),
    (Kind::BFloat16, "bf16"),
    (Kind::Float, "f32"),
    (Kind::Double, "f64"),
    (Kind::ComplexHalf, "dl:5/32"),
    (Kind::ComplexFloat, "c64"),
    (Kind::ComplexDouble, "c128"),
    (Kind::Float8e4m3fn, "f8_e4m3fn"),
    (Kind::Float8e5m2, "f8_e5m2"),
    (Kind::Float8e4m3fnuz, "f8_e4m3fnuz"),
    (Kind::Float8e5m2fnuz, "f8_e5m2fnuz"),
];

fn filled(kind: Kind, shape: &[i64]) -> Tensor {
    let elements = usize::try_from(shape.iter().product::<i64>()).unwrap();
    let len = elements * kind.elt_size_in_bytes();
    let bytes: Vec<u8> = match kind {
        Kind::Bool => [1, 0, 0, 1].into_iter().cycle().take(len).collect(),
        _ => (1..=255).cycle().take(len).collect(),
    };
    Tensor::from_data_size(&bytes, shape, kind)
}

/// T2, T3.
#[test]
fn every_kind_of_every_rank_keeps_its_bytes_and_its_name() {
    for (kind, name) in KINDS {
        for shape in [
            &[][..],
            &[1],
            &[5],
            &[3, 2, 4],
            &[1, 1, 1, 1, 1, 2],
            &[700],
            &[0],
            &[3, 0, 2],
        ] {
            let tensor = filled(kind, shape);
            for arrived in sent(&tensor) {
                assert_eq!((arrived.kind(), arrived.size()), (kind, shape.to_vec()));
                assert_eq!(bytes(&arrived), bytes(&tensor), "{kind:?} {shape:?}");
            }
            assert_eq!(as_host(&tensor).dtype(), name.parse::<DType>().unwrap());
        }
    }
}

/// T2: in tch, `half::bf16` as an element means `Kind::Half`, and 1.5 turns into 1.9375.
#[test]
fn bf16_is_never_taken_for_f16() {
    let tensor = Tensor::from_slice(&[1.5f32, -3.25, 1e30]).to_kind(Kind::BFloat16);
    for arrived in sent(&tensor) {
        assert_eq!(arrived.kind(), Kind::BFloat16);
        let values = Vec::<f32>::try_from(arrived.to_kind(Kind::Float)).unwrap();
        assert_eq!(values[..2], [1.5, -3.25]);
        assert!((values[2] / 1e30 - 1.0).abs() < 0.01);
    }
}

/// T3.
#[test]
fn a_scalar_is_a_scalar_again() {
    for arrived in sent(&Tensor::from(2.5f32)) {
        assert_eq!((arrived.dim(), arrived.numel()), (0, 1));
        assert_eq!(arrived.double_value(&[]).to_bits(), 2.5f64.to_bits());
    }
}

#[test]
fn containers_and_other_formats_hold_tensors_too() {
    #[derive(serde_tensor::TensorSerialize, serde_tensor::TensorDeserialize)]
    struct Layers {
        #[tensor]
        layers: Vec<Option<(Tensor, u8)>>,
    }
    let value = Layers {
        layers: vec![
            None,
            Some((filled(Kind::Float, &[300]), 7)),
            Some((filled(Kind::Int64, &[2]), 8)),
        ],
    };
    let same = |read: &Layers| {
        let [None, Some((first, 7)), Some((second, 8))] = &read.layers[..] else {
            panic!("{:?}", read.layers)
        };
        assert_eq!((first.kind(), second.size()), (Kind::Float, vec![2]));
        assert_eq!(bytes(first), bytes(&filled(Kind::Float, &[300])));
    };
    round_trips(&value).iter().for_each(same);
    same(&serde_json::from_str(&serde_json::to_string(&value).unwrap()).unwrap());
    same(&postcard::from_bytes(&postcard::to_stdvec(&value).unwrap()).unwrap());
}

#[test]
fn a_dtype_that_tch_has_no_name_for_is_an_error_that_names_it_and_the_field() {
    for dtype in [
        DType::U16,
        DType::U32,
        DType::U64,
        DType::F4E2M1Fn,
        DType::from_dlpack(9, 8).unwrap(),
    ] {
        let x = serde_tensor::Tensor::zeros(dtype, &[2]).unwrap();
        let message = serde_tensor::to_vec(&super::Host { x }).unwrap();
        let error = serde_tensor::from_slice::<One>(&message).unwrap_err();
        assert_eq!((error.category(), error.path()), (Category::Backend, Some("x")));
        assert!(error.to_string().contains(&dtype.to_string()), "{error}");
    }
    // What arrived is not changed by that: a kind of which there is a name still arrives.
    assert_eq!(
        sent(&Tensor::zeros([1], (Kind::Int, Device::Cpu)))[0].kind(),
        one(Tensor::from(1i32)).x.kind()
    );
}
