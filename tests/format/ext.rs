//! Extension values of applications: kept, refused where they are this format's own, passed over where they are ignored.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_tensor::{Category, Ext, Tensor};

#[derive(Serialize, Deserialize, Debug, PartialEq)]
struct Stamped<'a> {
    #[serde(borrow)]
    at: Ext<'a>,
    n: u8,
}

#[test]
fn an_extension_value_comes_back_at_every_length() {
    for len in [0, 1, 2, 3, 4, 5, 8, 15, 16, 17, 255, 256, 65535, 65536] {
        for tag in [-128, -1, 0, 5, 127] {
            let sent = Ext::new(tag, vec![7; len]);
            let bytes = serde_tensor::to_vec(&(&sent, Some(&sent), [&sent])).unwrap();
            let read: (Ext<'_>, Option<Ext<'_>>, [Ext<'_>; 1]) = serde_tensor::from_slice(&bytes).unwrap();
            assert_eq!((&read.0, read.1.as_ref(), [&read.2[0]]), (&sent, Some(&sent), [&sent]));
        }
    }
}

#[test]
fn an_extension_value_borrows_its_bytes() {
    let bytes = serde_tensor::to_vec(&Stamped {
        at: Ext::new(-1, &b"12345678"[..]),
        n: 1,
    })
    .unwrap();
    let read: Stamped<'_> = serde_tensor::from_slice(&bytes).unwrap();
    assert_eq!(read.at.tag, -1);
    let Cow::Borrowed(payload) = read.at.bytes else {
        panic!("it was copied")
    };
    assert!(bytes.as_ptr_range().contains(&payload.as_ptr()));
}

#[test]
fn any_byte_may_be_a_tag_but_the_formats_own() {
    for tag in i8::MIN..=i8::MAX {
        let written = serde_tensor::to_vec(&Ext::new(tag, &b"x"[..]));
        if [0x49, 0x53, 0x54, 0x55].contains(&tag) {
            let error = written.unwrap_err();
            assert_eq!(error.category(), Category::Data);
            assert!(error.to_string().contains("this format's own"), "{error}");
        } else {
            assert_eq!(serde_tensor::from_slice::<Ext<'_>>(&written.unwrap()).unwrap().tag, tag);
        }
    }
}

#[test]
fn an_unknown_extension_is_passed_over_where_it_is_ignored() {
    let bytes = serde_tensor::to_vec(&Stamped {
        at: Ext::new(9, &b"12345"[..]),
        n: 3,
    })
    .unwrap();
    #[derive(Deserialize)]
    struct Only {
        n: u8,
    }
    assert_eq!(serde_tensor::from_slice::<Only>(&bytes).unwrap().n, 3);
}

#[test]
fn an_unknown_extension_is_otherwise_an_error_with_its_number() {
    let bytes = serde_tensor::to_vec(&BTreeMap::from([("at", Ext::new(-9, &b"12345"[..]))])).unwrap();
    for error in [
        serde_tensor::from_slice::<BTreeMap<String, u8>>(&bytes).unwrap_err(),
        serde_tensor::from_slice::<BTreeMap<String, Option<u8>>>(&bytes).unwrap_err(),
        serde_tensor::from_slice::<BTreeMap<String, serde_json::Value>>(&bytes).unwrap_err(),
        serde_tensor::from_slice::<BTreeMap<String, Vec<u8>>>(&bytes).unwrap_err(),
        serde_tensor::from_slice::<BTreeMap<String, serde_bytes::ByteBuf>>(&bytes).unwrap_err(),
    ] {
        assert_eq!(
            (error.category(), error.path()),
            (Category::Data, Some("at")),
            "{error}"
        );
        assert!(error.to_string().contains("extension type -9 (0xf7)"), "{error}");
    }
}

#[test]
fn a_tensor_is_no_extension_value_and_the_other_way_round() {
    let tensor = serde_tensor::to_vec(&Tensor::scalar(1u8)).unwrap();
    assert_eq!(
        serde_tensor::from_slice::<Ext<'_>>(&tensor).unwrap_err().category(),
        Category::Data
    );
    let ext = serde_tensor::to_vec(&Ext::new(5, &b"x"[..])).unwrap();
    assert_eq!(
        serde_tensor::from_slice::<Tensor>(&ext).unwrap_err().category(),
        Category::Data
    );
}

#[test]
fn extension_values_of_other_writers_are_read() {
    let mut bytes = Vec::new();
    rmpv::encode::write_value(&mut bytes, &rmpv::Value::Ext(-1, vec![1, 2, 3, 4])).unwrap();
    assert_eq!(
        serde_tensor::from_slice::<Ext<'_>>(&bytes).unwrap(),
        Ext::new(-1, vec![1, 2, 3, 4])
    );
    let ours = serde_tensor::to_vec(&Ext::new(-1, vec![1, 2, 3, 4])).unwrap();
    assert_eq!(ours, bytes);
}

#[test]
fn an_extension_value_travels_under_other_formats() {
    let sent = Ext::new(-5, &b"payload"[..]);
    let json = serde_json::to_string(&sent).unwrap();
    assert_eq!(serde_json::from_str::<Ext<'_>>(&json).unwrap(), sent);
    let packed = postcard::to_stdvec(&sent).unwrap();
    assert_eq!(postcard::from_bytes::<Ext<'_>>(&packed).unwrap(), sent);
}
