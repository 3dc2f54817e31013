//! Values, and the options to send them with.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use serde_tensor::{DType, Encoder, Tensor, TensorDeserialize, TensorSerialize};

/// A recursive type with a tensor, or none, in every kind of place.
#[derive(TensorSerialize, TensorDeserialize, Debug, Clone, PartialEq)]
pub(crate) enum Tree {
    Nothing,
    Number(i64),
    Text(String),
    Leaf(#[tensor] Tensor),
    Bulk(#[tensor] Vec<i16>),
    Unmarked(Vec<u16>),
    Maybe(#[tensor] Option<Option<Tensor>>),
    Pair(#[tensor] (u8, Option<Tensor>), bool),
    List(#[tensor] Vec<Tree>),
    Entries(#[tensor] BTreeMap<String, Tree>),
    /// No derive of this crate's: looked through dynamically.
    Foreign(BTreeMap<i32, Foreign>),
    Either {
        #[tensor]
        either: Result<Box<Tree>, String>,
        #[serde(default)]
        note: Option<()>,
    },
}

#[derive(Serialize, Deserialize, Debug, Clone, PartialEq)]
pub(crate) enum Foreign {
    Nothing,
    Tensor(Tensor),
    Deep(Vec<Option<Foreign>>),
    Named { n: u8, inner: Box<Foreign> },
}

pub(crate) fn dtypes() -> impl Strategy<Value = DType> {
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
    let named = proptest::sample::select(named.to_vec()).prop_map(|name| name.parse().unwrap());
    let any = (any::<u8>(), 1..=255u8).prop_map(|(code, bits)| DType::from_dlpack(code, bits).unwrap());
    prop_oneof![4 => named, 1 => any]
}

/// Tensors of all dtypes: scalars, empty ones, and more than the inline limit holds.
pub(crate) fn tensors() -> impl Strategy<Value = Tensor> {
    let shapes = prop_oneof![4 => vec(0..5usize, 0..5), 1 => vec(10..40usize, 1..3)];
    (dtypes(), shapes, any::<u64>()).prop_map(|(dtype, shape, seed)| {
        let count: usize = shape.iter().product();
        let len = (count * usize::from(dtype.bits())).div_ceil(8);
        let noise = |i: usize| (seed.wrapping_add(i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8;
        let bytes: Vec<u8> = match dtype {
            DType::Bool => (0..len).map(|i| noise(i) & 1).collect(),
            _ => (0..len).map(noise).collect(),
        };
        Tensor::from_bytes(dtype, &shape, bytes).unwrap()
    })
}

fn foreign() -> impl Strategy<Value = Foreign> {
    let leaf = prop_oneof![2 => Just(Foreign::Nothing), 1 => tensors().prop_map(Foreign::Tensor)];
    leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            vec(option::of(inner.clone()), 0..3).prop_map(Foreign::Deep),
            (any::<u8>(), inner).prop_map(|(n, inner)| Foreign::Named {
                n,
                inner: Box::new(inner)
            }),
        ]
    })
}

pub(crate) fn trees() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        2 => Just(Tree::Nothing),
        2 => any::<i64>().prop_map(Tree::Number),
        2 => ".{0,40}".prop_map(Tree::Text),
        1 => tensors().prop_map(Tree::Leaf),
        1 => vec(any::<i16>(), 0..300).prop_map(Tree::Bulk),
        2 => vec(any::<u16>(), 0..20).prop_map(Tree::Unmarked),
        1 => option::of(option::of(tensors())).prop_map(Tree::Maybe),
        1 => ((any::<u8>(), option::weighted(0.3, tensors())), any::<bool>()).prop_map(|(pair, flag)| Tree::Pair(pair, flag)),
        1 => btree_map(any::<i32>(), foreign(), 0..3).prop_map(Tree::Foreign),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Tree::List),
            btree_map("[a-z ]{0,3}", inner.clone(), 0..4).prop_map(Tree::Entries),
            (
                prop_oneof![inner.prop_map(|tree| Ok(Box::new(tree))), ".{0,5}".prop_map(Err)],
                option::of(Just(()))
            )
                .prop_map(|(either, note)| Tree::Either { either, note }),
        ]
    })
}

pub(crate) fn encoders() -> impl Strategy<Value = Encoder> {
    let limits = proptest::sample::select(vec![0, 1, 16, 512, usize::MAX]);
    (any::<[bool; 3]>(), 4..=16u32, limits).prop_map(|([compact, framed, checksums], log2, limit)| {
        Encoder::new()
            .compact(compact)
            .framed(framed)
            .checksums(checksums)
            .align(1 << log2)
            .inline_limit(limit)
    })
}
