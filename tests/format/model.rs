//! serde's data model, both directions, named and compact.
//!
//! Without these a kind of value that no example holds (a nested option, a map with tuples for keys, a NaN's payload) could
//! come back as something else, silently.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Debug;
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, SystemTime};

use serde::de::DeserializeOwned;
use serde::ser::{SerializeMap as _, SerializeSeq as _};
use serde::{Deserialize, Serialize, Serializer};
use serde_bytes::{ByteArray, ByteBuf};
use serde_tensor::{Category, Encoder, Tensor};

/// Encodes named and compact, and reads each with every verb.
#[track_caller]
fn comes_back<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    for compact in [false, true] {
        for framed in [false, true] {
            let encoder = Encoder::new().compact(compact).framed(framed);
            let bytes = encoder.to_vec(value).unwrap();
            assert_eq!(
                &serde_tensor::from_slice::<T>(&bytes).unwrap(),
                value,
                "compact: {compact}"
            );
            assert_eq!(&serde_tensor::from_reader::<_, T>(bytes.as_slice()).unwrap(), value);
            assert_eq!(&serde_tensor::from_bytes::<T>(bytes.into()).unwrap(), value);
        }
    }
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> serde_tensor::Result<T> {
    serde_tensor::from_slice(bytes)
}

#[derive(Serialize, Deserialize, Debug, PartialEq, Eq, PartialOrd, Ord, Clone)]
enum Shape {
    Dot,
    Unit(()),
    Circle(u32),
    Line(i8, i8),
    Box { w: u8, h: Option<u8> },
}

fn shapes() -> [Shape; 6] {
    [
        Shape::Dot,
        Shape::Unit(()),
        Shape::Circle(70_000),
        Shape::Line(-1, 1),
        Shape::Box { w: 1, h: None },
        Shape::Box { w: 2, h: Some(3) },
    ]
}

#[derive(Serialize, Deserialize, Debug, PartialEq)]
struct Nothing;

#[derive(Serialize, Deserialize, Debug, PartialEq)]
struct Wrapper<T>(T);

#[test]
fn integers_of_every_width_come_back_at_their_edges() {
    macro_rules! edges {
        ($($int:ty)*) => {$(
            for n in [<$int>::MIN, <$int>::MIN + 1, 0, 1, <$int>::MAX / 2, <$int>::MAX - 1, <$int>::MAX] {
                comes_back(&n);
                comes_back(&vec![n; 3]);
            }
        )*};
    }
    edges!(u8 i8 u16 i16 u32 i32 u64 i64 usize isize u128 i128);
    for shift in 0..127 {
        comes_back(&(1i128 << shift));
        comes_back(&-(1i128 << shift));
        comes_back(&(1u128 << shift));
    }
}

#[test]
fn an_integer_that_fits_reads_as_any_width() {
    for n in [0u8, 31, 32, 127] {
        for bytes in [
            serde_tensor::to_vec(&n).unwrap(),
            serde_tensor::to_vec(&i128::from(n)).unwrap(),
            vec![0xcc, n],
            vec![0xcd, 0, n],
            vec![0xce, 0, 0, 0, n],
            vec![0xcf, 0, 0, 0, 0, 0, 0, 0, n],
            vec![0xd0, n],
            vec![0xd1, 0, n],
            vec![0xd2, 0, 0, 0, n],
            vec![0xd3, 0, 0, 0, 0, 0, 0, 0, n],
        ] {
            assert_eq!(read::<u8>(&bytes).unwrap(), n);
            assert_eq!(read::<i8>(&bytes).unwrap(), n.cast_signed());
            assert_eq!(read::<u64>(&bytes).unwrap(), u64::from(n));
            assert_eq!(read::<i128>(&bytes).unwrap(), i128::from(n));
            assert_eq!(read::<u128>(&bytes).unwrap(), u128::from(n));
            assert_eq!(read::<f64>(&bytes).unwrap().to_bits(), f64::from(n).to_bits());
        }
    }
    assert_eq!(
        read::<u8>(&serde_tensor::to_vec(&256).unwrap()).unwrap_err().category(),
        Category::Data
    );
    assert_eq!(
        read::<u8>(&serde_tensor::to_vec(&-1).unwrap()).unwrap_err().category(),
        Category::Data
    );
}

#[test]
fn floats_do_not_read_as_integers() {
    let bytes = serde_tensor::to_vec(&1.0f64).unwrap();
    assert_eq!(read::<u8>(&bytes).unwrap_err().category(), Category::Data);
    assert_eq!(read::<i64>(&bytes).unwrap_err().category(), Category::Data);
}

#[test]
fn floats_keep_every_bit() {
    for bits in [
        0,
        1 << 31,
        0x7fc0_0000,
        0x7f80_0001,
        0xffff_ffff,
        0x7f80_0000,
        0x0000_0001,
    ] {
        let bytes = serde_tensor::to_vec(&f32::from_bits(bits)).unwrap();
        assert_eq!(read::<f32>(&bytes).unwrap().to_bits(), bits, "{bits:#x}");
    }
    for bits in [0, 1 << 63, 0x7ff8_0000_0000_0000, 0x7ff0_0000_0000_0001, u64::MAX, 1] {
        let bytes = serde_tensor::to_vec(&f64::from_bits(bits)).unwrap();
        assert_eq!(read::<f64>(&bytes).unwrap().to_bits(), bits, "{bits:#x}");
    }
}

#[test]
fn chars_text_and_bytes_come_back_at_each_width_of_their_length() {
    for c in ['\0', 'a', 'ß', '€', '\u{10ffff}'] {
        comes_back(&c);
    }
    for len in [0, 1, 15, 16, 31, 32, 255, 256, 65535, 65536] {
        comes_back(&"x".repeat(len));
        comes_back(&ByteBuf::from(vec![7; len]));
        comes_back(&vec![true; len]);
        comes_back(&(0..len).map(|n| (n, ())).collect::<BTreeMap<_, _>>());
    }
    comes_back(&ByteArray::new([1, 2, 3]));
}

#[test]
fn bytes_and_integers_read_as_each_other() {
    let numbers = vec![0u8, 1, 127, 128, 255];
    let as_bytes = serde_tensor::to_vec(&ByteBuf::from(numbers.clone())).unwrap();
    let as_array = serde_tensor::to_vec(&numbers).unwrap();
    assert_ne!(as_bytes, as_array);
    for bytes in [as_bytes, as_array] {
        assert_eq!(read::<Vec<u8>>(&bytes).unwrap(), numbers);
        assert_eq!(read::<ByteBuf>(&bytes).unwrap(), numbers);
        assert_eq!(read::<[u8; 5]>(&bytes).unwrap()[..], numbers);
        assert_eq!(read::<Vec<i64>>(&bytes).unwrap().len(), 5);
        assert_eq!(read::<BTreeSet<u8>>(&bytes).unwrap().len(), 5);
        assert!(read::<[u8; 4]>(&bytes).is_err());
        assert!(read::<[u8; 6]>(&bytes).is_err());
    }
    assert!(read::<ByteBuf>(&serde_tensor::to_vec(&[256]).unwrap()).is_err());
}

#[test]
fn options_survive_in_any_nesting() {
    type Three = Option<Option<Option<u8>>>;
    let all: [Three; 4] = [None, Some(None), Some(Some(None)), Some(Some(Some(9)))];
    for value in all {
        comes_back(&value);
        comes_back(&vec![value; 3]);
        comes_back(&(value, value));
        comes_back(&Wrapper(value));
        comes_back(&BTreeMap::from([(value, value)]));
        comes_back(&Some(Wrapper(Some(value))));
    }
    comes_back(&Some(()));
    comes_back(&None::<()>);
    comes_back(&Some(Some(())));
    comes_back(&Some(Nothing));
    comes_back(&Some(Wrapper(())));
    comes_back(&Some(PhantomData::<u8>));
    comes_back(&Some(Some(Shape::Unit(()))));
    comes_back(&Some(Some(u128::MAX)));
    comes_back(&Some(Some(Tensor::scalar(1u8))));
    comes_back(&[None, Some(None), Some(Some(Tensor::scalar(1u8)))]);
    comes_back(&Some(None::<Tensor>));
}

#[test]
fn units_structs_and_tuples_come_back() {
    comes_back(&());
    comes_back(&Nothing);
    comes_back(&PhantomData::<u8>);
    comes_back(&Wrapper(Wrapper(5u8)));
    comes_back(&(1u8, "two".to_owned(), [3.0f32; 3], (4i64,)));
    comes_back(&[(); 0]);
    comes_back(&vec![(); 20]);
    comes_back(&Ok::<u8, String>(1));
    comes_back(&Err::<u8, String>("no".to_owned()));
}

#[test]
fn variants_of_every_kind_come_back() {
    for shape in shapes() {
        comes_back(&shape);
        comes_back(&Some(shape.clone()));
        comes_back(&vec![shape; 2]);
    }
}

#[test]
fn a_variant_reads_from_its_name_and_from_its_index() {
    let name = |name: &str| serde_tensor::to_vec(name).unwrap();
    for bytes in [
        name("Dot"),
        vec![0],
        [vec![0x81], name("Dot"), vec![0xc0]].concat(),
        vec![0x81, 0, 0xc0],
        vec![0x81, 0xcc, 0, 0xc0],
    ] {
        assert_eq!(read::<Shape>(&bytes).unwrap(), Shape::Dot, "{bytes:x?}");
    }
    for key in [name("Circle"), vec![2]] {
        assert_eq!(
            read::<Shape>(&[&[0x81][..], &key, &[5]].concat()).unwrap(),
            Shape::Circle(5)
        );
    }
    for (fields, wide) in [(&b"\x82\xa1w\x01\xa1h\x02"[..], false), (b"\x92\x01\x02", true)] {
        for key in [name("Box"), vec![4]] {
            let bytes = [&[0x81][..], &key, fields].concat();
            assert_eq!(
                read::<Shape>(&bytes).unwrap(),
                Shape::Box { w: 1, h: Some(2) },
                "{wide}"
            );
        }
    }
    for refused in [
        &[9][..],
        &[0x81, 9, 0xc0],
        &[0x80],
        &[0x82, 0, 0xc0, 1, 0xc0],
        &[0xc0],
        &[0x81, 0, 1],
        &[2],
    ] {
        assert!(read::<Shape>(refused).is_err(), "{refused:x?}");
    }
}

#[test]
fn map_keys_may_be_of_any_type() {
    comes_back(&BTreeMap::from([(-5i64, 1u8), (1 << 40, 2)]));
    comes_back(&BTreeMap::from([((1u8, "a".to_owned()), 1u8)]));
    comes_back(
        &shapes()
            .into_iter()
            .map(|shape| (shape, ()))
            .collect::<BTreeMap<_, _>>(),
    );
    comes_back(&BTreeMap::from([('x', 1u8)]));
    comes_back(&BTreeMap::from([(true, 1u8), (false, 0)]));
    comes_back(&BTreeMap::from([(vec![1u8], 1u8), (vec![], 0)]));
    comes_back(&BTreeMap::from([(BTreeMap::from([(1u8, 2u8)]), 1u8)]));
    comes_back(&BTreeMap::from([((), 1u8)]));
    comes_back(&BTreeMap::from([(u128::MAX, 1u8)]));
    comes_back(&HashMap::from([(ByteBuf::from(vec![1]), Some(None::<u8>))]));
}

#[test]
fn a_struct_reads_from_a_map_and_from_an_array() {
    #[derive(Serialize, Deserialize, Debug, PartialEq)]
    struct Point {
        x: i32,
        #[serde(default)]
        y: i32,
    }
    let point = Point { x: 1, y: -2 };
    comes_back(&point);
    let compact = Encoder::new().compact(true).to_vec(&point).unwrap();
    assert_eq!(compact, [0x92, 1, 0xfe]);
    assert_eq!(read::<Point>(b"\x82\xa1y\xfe\xa1x\x01").unwrap(), point);
    assert_eq!(
        read::<Point>(b"\x82\x01\xfe\x00\x01").unwrap(),
        point,
        "keys may be the fields' numbers"
    );
    assert_eq!(
        read::<Point>(b"\x83\xa1y\xfe\xa1z\x93\x01\x02\xc0\xa1x\x01").unwrap(),
        point
    );
    assert_eq!(read::<Point>(b"\x81\xa1x\x01").unwrap(), Point { x: 1, y: 0 });
    assert_eq!(read::<Point>(b"\x91\x01").unwrap(), Point { x: 1, y: 0 });
    assert_eq!(
        read::<Point>(b"\x93\x01\x02\x03").unwrap_err().category(),
        Category::Data
    );
    assert_eq!(read::<Point>(b"\x81\xa1y\x01").unwrap_err().category(), Category::Data);
    assert_eq!(
        read::<Point>(b"\x82\xa1x\x01\xa1x\x01").unwrap_err().category(),
        Category::Data
    );
}

/// Writes without saying how many, or after saying a wrong number.
struct Counted(Option<usize>, u32);

impl Serialize for Counted {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(self.0)?;
        for n in 0..self.1 {
            seq.serialize_element(&MapOf(self.0, n % 3))?;
        }
        seq.end()
    }
}

struct MapOf(Option<usize>, u32);

impl Serialize for MapOf {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(self.0)?;
        for n in 0..self.1 {
            map.serialize_entry(&n, &None::<u8>)?;
        }
        map.end()
    }
}

#[test]
fn lengths_that_are_unknown_or_wrong_are_counted() {
    for len in [None, Some(0), Some(2), Some(15), Some(16), Some(65536)] {
        for count in [0, 1, 2, 15, 16, 17, 70_000] {
            let bytes = serde_tensor::to_vec(&Counted(len, count)).unwrap();
            let read: Vec<BTreeMap<u32, Option<u8>>> = read(&bytes).unwrap();
            assert_eq!(read.len(), count as usize, "{len:?}");
            assert!(read.iter().zip(0..count).all(|(map, n)| map.len() == n as usize % 3));
        }
    }
}

#[test]
fn any_value_describes_itself() {
    let value = serde_json::json!({
        "null": null, "yes": true, "n": [1, -1, 1.5, u64::MAX], "text": "ß", "deep": {"": [[], {}]},
    });
    comes_back(&value);
    let bytes = serde_tensor::to_vec(&shapes()).unwrap();
    assert_eq!(
        read::<serde_json::Value>(&bytes).unwrap(),
        serde_json::to_value(shapes()).unwrap()
    );
}

#[test]
fn types_of_the_standard_library_come_back() {
    comes_back(&Duration::new(5, 999_999_999));
    comes_back(&(SystemTime::UNIX_EPOCH + Duration::from_nanos(1_234_567_890_123_456_789)));
    comes_back(&IpAddr::from(Ipv4Addr::LOCALHOST));
    comes_back(&IpAddr::from(Ipv6Addr::LOCALHOST));
    comes_back(&SocketAddr::from((Ipv6Addr::LOCALHOST, 80)));
    comes_back(&(1..5u8));
    comes_back(&(1..=5u8));
    comes_back(&std::ops::Bound::Included(5u8));
    comes_back(&std::path::PathBuf::from("/a/b"));
    comes_back(&std::num::Wrapping(7u8));
    comes_back(&std::cmp::Reverse(7u8));
}

#[test]
fn text_and_bytes_are_borrowed_from_the_slice() {
    #[derive(Serialize, Deserialize, Debug, PartialEq)]
    struct Borrowing<'a> {
        text: &'a str,
        #[serde(with = "serde_bytes")]
        bytes: &'a [u8],
    }
    let value = Borrowing {
        text: "text",
        bytes: b"bytes",
    };
    let message = serde_tensor::to_vec(&value).unwrap();
    let read: Borrowing<'_> = serde_tensor::from_slice(&message).unwrap();
    assert_eq!(read, value);
    let range = message.as_ptr_range();
    assert!(range.contains(&read.text.as_ptr()) && range.contains(&read.bytes.as_ptr()));
}

#[test]
fn wide_integers_are_refused_where_serde_buffers() {
    #[derive(Serialize, Deserialize, Debug, PartialEq)]
    struct Outer {
        #[serde(flatten)]
        rest: BTreeMap<String, u128>,
    }
    // Whatever their value: it is serde's buffer that has no place for the type.
    for n in [5, 1 << 64] {
        let bytes = serde_tensor::to_vec(&Outer {
            rest: BTreeMap::from([("n".to_owned(), n)]),
        })
        .unwrap();
        let error = read::<Outer>(&bytes).unwrap_err();
        assert_eq!(error.category(), Category::Data);
        assert!(error.to_string().contains("u128"), "{error}");
    }
}
