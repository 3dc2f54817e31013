//! Whether a value holds a tensor: by its type, by walking it, and by whoever made it.

use proptest::prelude::*;
use serde_tensor::scan::contains_tensor_dyn;
use serde_tensor::{Encoder, contains_tensor};

use crate::values::{Foreign, Tree, trees};

fn holds(tree: &Tree) -> bool {
    match tree {
        Tree::Nothing | Tree::Number(_) | Tree::Text(_) | Tree::Unmarked(_) => false,
        Tree::Leaf(_) | Tree::Bulk(_) => true,
        Tree::Maybe(maybe) => matches!(maybe, Some(Some(_))),
        Tree::Pair((_, maybe), _) => maybe.is_some(),
        Tree::List(list) => list.iter().any(holds),
        Tree::Entries(entries) => entries.values().any(holds),
        Tree::Foreign(entries) => entries.values().any(foreign_holds),
        Tree::Either { either, .. } => either.as_ref().is_ok_and(|tree| holds(tree)),
    }
}

fn foreign_holds(foreign: &Foreign) -> bool {
    match foreign {
        Foreign::Nothing => false,
        Foreign::Tensor(_) => true,
        Foreign::Deep(list) => list.iter().flatten().any(foreign_holds),
        Foreign::Named { inner, .. } => foreign_holds(inner),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_derived_scan_and_the_recursive_one_agree(value in trees()) {
        prop_assert_eq!(contains_tensor(&value), holds(&value));
        prop_assert_eq!(contains_tensor_dyn(&value), holds(&value));
    }

    #[test]
    fn a_value_without_tensors_leaves_as_plain_messagepack(value in trees()) {
        let bytes = Encoder::new().inline_limit(0).to_vec(&value).unwrap();
        if !holds(&value) {
            prop_assert_ne!(bytes[0], 0xc1);
            rmpv::decode::read_value(&mut bytes.as_slice()).unwrap();
        }
        prop_assert_eq!(serde_tensor::inspect(&bytes).unwrap().tensors().is_empty(), !holds(&value));
    }
}
