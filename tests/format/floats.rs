//! Structs and tuples of floats, which are looked at as a whole first: what is not floats alone is read and refused as ever.
//!
//! Without these the quick look could pass over a limit, a place in an error, or a form that other writers choose.

#![allow(clippy::float_cmp, reason = "a float arrives as it was sent")]

use serde::{Deserialize, Serialize};
use serde_tensor::{Category, Decoder, Encoder, Limits, from_slice, to_vec};

#[derive(Serialize, Deserialize, Debug, PartialEq, Clone, Copy)]
struct Vertex {
    x: f32,
    y: f32,
    z: f32,
}

/// As large as three floats, and not three floats.
#[derive(Serialize, Deserialize, Debug, PartialEq, Clone, Copy)]
struct Mixed {
    x: f32,
    index: u32,
    on: Option<bool>,
}

#[derive(Serialize, Deserialize, Debug, PartialEq, Clone, Copy)]
struct Metres(f32);

const VERTEX: Vertex = Vertex {
    x: 1.0,
    y: -2.5,
    z: 3.25,
};

fn compact<T: Serialize>(value: &T) -> Vec<u8> {
    Encoder::new().compact(true).to_vec(value).unwrap()
}

#[test]
fn floats_are_read_in_every_form() {
    assert_eq!(from_slice::<Vertex>(&compact(&VERTEX)).unwrap(), VERTEX);
    assert_eq!(from_slice::<Vertex>(&to_vec(&VERTEX).unwrap()).unwrap(), VERTEX);
    assert_eq!(
        from_slice::<Vertex>(&to_vec(&(1.0f64, -2.5f64, 3.25f32)).unwrap()).unwrap(),
        VERTEX
    );
    assert_eq!(
        from_slice::<[f32; 3]>(&to_vec(&(1u8, -2i64, 1.5f32)).unwrap()).unwrap(),
        [1.0, -2.0, 1.5]
    );
    let long = [0xdc, 0, 3, 0xca, 0x3f, 0x80, 0, 0, 2, 3];
    assert_eq!(from_slice::<(f32, f32, f32)>(&long).unwrap(), (1.0, 2.0, 3.0));
    let named: [f32; 16] = std::array::from_fn(|index| [0.5, 2.0][index % 2]);
    assert_eq!(from_slice::<[f32; 16]>(&to_vec(&named).unwrap()).unwrap(), named);
    assert_eq!(from_slice::<[f32; 0]>(&[0x90]).unwrap(), [0.0; 0]);
    assert_eq!(
        from_slice::<(Metres,)>(&to_vec(&(Metres(2.0),)).unwrap()).unwrap(),
        (Metres(2.0),)
    );
}

#[test]
fn what_is_only_as_large_as_floats_is_read() {
    let mixed = Mixed {
        x: 0.5,
        index: 7,
        on: Some(true),
    };
    for bytes in [compact(&mixed), to_vec(&mixed).unwrap()] {
        assert_eq!(from_slice::<Mixed>(&bytes).unwrap(), mixed);
    }
    for bytes in [compact(&[mixed; 3]), to_vec(&[mixed; 3]).unwrap()] {
        assert_eq!(from_slice::<[Mixed; 3]>(&bytes).unwrap(), [mixed; 3]);
    }
}

#[track_caller]
fn refused<'de, T: Deserialize<'de> + std::fmt::Debug>(bytes: &'de [u8], text: &str) {
    assert_eq!(from_slice::<T>(bytes).unwrap_err().to_string(), text);
}

#[test]
fn an_error_has_its_place() {
    let pair = |third: &[u8]| {
        let first = [0x92, 0x93, 0xca, 0, 0, 0, 0, 0xca, 0, 0, 0, 0, 0xca, 0, 0, 0, 0];
        let second = [0x93, 0xca, 0, 0, 0, 0, 0xca, 0, 0, 0, 0];
        [&first[..], &second, third].concat()
    };
    refused::<[Vertex; 2]>(
        &pair(&[0xa1, b'a']),
        "[1][2]: invalid type: string \"a\", expected f32, at byte 28",
    );
    refused::<[Vertex; 2]>(
        &pair(&[0xca, 0, 0]),
        "[1][2]: the message ends where a number or length should be, at byte 31",
    );
    // All floats, which the type is not.
    let floats = compact(&(VERTEX, 1u8));
    refused::<(Mixed, u8)>(
        &floats,
        "[0][1]: invalid type: floating point `-2.5`, expected u32, at byte 7",
    );
    refused::<Vertex>(
        &to_vec(&[1.0f32; 2]).unwrap(),
        "invalid length 2, expected struct Vertex with 3 elements, at byte 0",
    );
    refused::<Vertex>(
        &to_vec(&[1.0f32; 4]).unwrap(),
        "1 more elements than the type holds, at byte 16",
    );
    refused::<[f32; 2]>(
        &to_vec(&[1.0f32; 3]).unwrap(),
        "1 more elements than the type holds, at byte 11",
    );
}

#[test]
fn floats_are_a_level_of_depth() {
    let bytes = compact(&[VERTEX]);
    let depth = |depth| Decoder::new().limits(Limits::new().depth(depth));
    assert_eq!(depth(2).from_slice::<[Vertex; 1]>(&bytes).unwrap(), [VERTEX]);
    let error = depth(1).from_slice::<[Vertex; 1]>(&bytes).unwrap_err();
    assert_eq!((error.category(), error.path()), (Category::Limit, Some("[0]")));
}
