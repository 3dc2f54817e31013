//! Every container that a marked field may be made of comes back whole.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, LinkedList, VecDeque};
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::marker::PhantomData;
use std::num::NonZeroU8;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use serde_tensor::{Tensor, TensorDeserialize, TensorSerialize, contains_tensor};

use crate::{round_trips, tensor};

type Hashed<V> = HashMap<(u8, String), V, BuildHasherDefault<DefaultHasher>>;

#[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
struct Containers {
    #[tensor]
    option: Option<Tensor>,
    #[tensor]
    none: Option<Tensor>,
    #[tensor]
    vec: Vec<Tensor>,
    #[tensor]
    boxed: Box<Tensor>,
    #[tensor]
    boxed_slice: Box<[Tensor]>,
    #[tensor]
    arc: Arc<Tensor>,
    #[tensor]
    arc_slice: Arc<[Tensor]>,
    #[tensor]
    rc: Rc<Tensor>,
    #[tensor]
    cow: Cow<'static, Tensor>,
    #[tensor]
    cow_slice: Cow<'static, [Tensor]>,
    #[tensor]
    array: [Tensor; 2],
    #[tensor]
    empty_array: [Tensor; 0],
    #[tensor]
    long_array: [Option<Tensor>; 40],
    #[tensor]
    deque: VecDeque<Tensor>,
    #[tensor]
    list: LinkedList<Tensor>,
    #[tensor]
    unit: (),
    #[tensor]
    pair: (Tensor, u8),
    #[tensor]
    ok: Result<Tensor, String>,
    #[tensor]
    err: Result<Tensor, String>,
    #[tensor]
    ordered: BTreeMap<String, Tensor>,
    #[tensor]
    nested: BTreeMap<u64, Vec<(String, Option<Tensor>)>>,
}

fn containers() -> Containers {
    Containers {
        option: Some(tensor(1)),
        none: None,
        vec: vec![tensor(2), tensor(3)],
        boxed: Box::new(tensor(4)),
        boxed_slice: Box::new([tensor(5), tensor(6)]),
        arc: Arc::new(tensor(7)),
        arc_slice: Arc::new([tensor(8)]),
        rc: Rc::new(tensor(9)),
        cow: Cow::Owned(tensor(10)),
        cow_slice: Cow::Owned(vec![tensor(11)]),
        array: [tensor(12), tensor(13)],
        empty_array: [],
        long_array: std::array::from_fn(|i| (i % 3 == 0).then(|| tensor(14))),
        deque: VecDeque::from([tensor(15)]),
        list: LinkedList::from([tensor(16)]),
        unit: (),
        pair: (tensor(17), 3),
        ok: Ok(tensor(18)),
        err: Err("no tensor".to_owned()),
        ordered: BTreeMap::from([("a".to_owned(), tensor(19)), ("b".to_owned(), tensor(20))]),
        nested: BTreeMap::from([(
            u64::MAX,
            vec![("x".to_owned(), Some(tensor(21))), ("y".to_owned(), None)],
        )]),
    }
}

#[test]
fn containers_of_tensors_come_back_whole() {
    round_trips(&containers());
}

#[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
struct AnyKey {
    #[tensor]
    by_pair: Hashed<Tensor>,
}

#[test]
fn a_map_needs_only_serde_of_its_keys_and_takes_any_hasher() {
    let value = AnyKey {
        by_pair: Hashed::from_iter([((1, "a".to_owned()), tensor(1)), ((2, "b".to_owned()), tensor(2))]),
    };
    let bytes = serde_tensor::to_vec(&value).unwrap();
    assert_eq!(serde_tensor::from_slice::<AnyKey>(&bytes).unwrap(), value);
}

#[derive(TensorSerialize, TensorDeserialize, Debug)]
struct Cells {
    #[tensor]
    cell: Cell<u8>,
    #[tensor]
    ref_cell: RefCell<Tensor>,
    #[tensor]
    mutex: Mutex<Vec<Tensor>>,
    #[tensor]
    rw_lock: RwLock<Option<Tensor>>,
}

#[test]
fn tensors_behind_cells_are_found_while_serializing() {
    let value = Cells {
        cell: Cell::new(7),
        ref_cell: RefCell::new(tensor(1)),
        mutex: Mutex::new(vec![tensor(2)]),
        rw_lock: RwLock::new(Some(tensor(3))),
    };
    assert!(contains_tensor(&value));
    let back: Cells = serde_tensor::from_slice(&serde_tensor::to_vec(&value).unwrap()).unwrap();
    assert_eq!(back.cell.get(), 7);
    assert_eq!(*back.ref_cell.borrow(), tensor(1));
    assert_eq!(*back.mutex.lock().unwrap(), [tensor(2)]);
    assert_eq!(*back.rw_lock.read().unwrap(), Some(tensor(3)));
}

#[test]
fn a_cell_in_use_is_an_error_and_not_a_panic() {
    let value = RefCell::new(tensor(1));
    let _writing = value.borrow_mut();
    #[derive(TensorSerialize)]
    struct Borrowed<'a> {
        #[tensor]
        cell: &'a RefCell<Tensor>,
    }
    let error = serde_tensor::to_vec(&Borrowed { cell: &value }).unwrap_err();
    assert!(error.to_string().contains("already mutably borrowed"), "{error}");
}

/// Everything here could be marked by mistake, or inside a tuple beside a tensor.
#[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
struct WithoutTensors {
    #[tensor]
    numbers: (bool, i8, i16, i32, i64, u16, u32, u64, f32, f64, usize, isize),
    #[tensor]
    text: (char, String, Box<str>, Arc<str>, Cow<'static, str>),
    #[tensor]
    wide: (i128, u128),
    #[tensor]
    others: (NonZeroU8, Duration, PathBuf, PhantomData<Tensor>),
    #[tensor]
    sets: (BTreeSet<String>, HashSet<u8>),
    #[tensor]
    range: std::ops::Range<u8>,
    #[tensor]
    order: std::cmp::Reverse<String>,
    #[tensor]
    address: std::net::IpAddr,
}

#[test]
fn what_holds_no_tensor_may_be_marked_and_looks_as_with_serde() {
    let value = WithoutTensors {
        numbers: (true, -1, -2, -3, -4, 5, 6, 7, 0.5, 0.25, 8, -8),
        text: ('x', "a".into(), "b".into(), "c".into(), "d".into()),
        wide: (-1, 1),
        others: (NonZeroU8::MIN, Duration::from_millis(5), "p/q".into(), PhantomData),
        sets: (BTreeSet::from(["a".to_owned()]), HashSet::from([1])),
        range: 1..5,
        order: std::cmp::Reverse("z".to_owned()),
        address: std::net::Ipv4Addr::LOCALHOST.into(),
    };
    round_trips(&value);
    assert!(!contains_tensor(&value));
    let bytes = serde_tensor::to_vec(&value.sets).unwrap();
    let pairs: (BTreeSet<String>, HashSet<u8>) = serde_tensor::from_slice(&bytes).unwrap();
    assert_eq!(pairs, value.sets);
}

#[derive(TensorSerialize, TensorDeserialize)]
struct Sixteen(#[tensor] (Tensor, u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, String));

#[test]
fn tuples_of_sixteen() {
    let value = Sixteen((
        tensor(1),
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        8,
        9,
        10,
        11,
        12,
        13,
        14,
        "end".to_owned(),
    ));
    let back: Sixteen = serde_tensor::from_slice(&serde_tensor::to_vec(&value).unwrap()).unwrap();
    assert_eq!((back.0.0, back.0.14, back.0.15.as_str()), (tensor(1), 14, "end"));
}

#[test]
fn options_nest() {
    #[derive(TensorSerialize, TensorDeserialize, Debug, PartialEq)]
    struct Nested {
        #[tensor]
        values: Vec<Option<Option<Tensor>>>,
    }
    let value = Nested {
        values: vec![None, Some(None), Some(Some(tensor(1)))],
    };
    let bytes = serde_tensor::to_vec(&value).unwrap();
    assert_eq!(serde_tensor::from_slice::<Nested>(&bytes).unwrap(), value);
}

#[test]
fn an_array_of_the_wrong_length_is_an_error() {
    #[derive(TensorSerialize, TensorDeserialize, Debug)]
    struct Array<const N: usize> {
        #[tensor]
        array: [Tensor; N],
    }
    let three = Array {
        array: [tensor(1), tensor(2), tensor(3)],
    };
    let bytes = serde_tensor::to_vec(&three).unwrap();
    assert!(serde_tensor::from_slice::<Array<3>>(&bytes).is_ok());
    assert!(serde_tensor::from_slice::<Array<2>>(&bytes).is_err());
    let error = serde_tensor::from_slice::<Array<4>>(&bytes).unwrap_err();
    assert!(error.to_string().contains("an array of length 4"), "{error}");
}
