//! Bytes as structs of floats, which are read as a whole where they can be: the result is that of the same struct read field by field.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde::Deserialize;

#[derive(Deserialize)]
struct Vertex {
    x: f32,
    y: f32,
    z: f32,
}

mod apart {
    /// The same struct, but not as large as its floats.
    #[derive(serde::Deserialize)]
    pub(crate) struct Vertex {
        pub(crate) x: f32,
        pub(crate) y: f32,
        pub(crate) z: f32,
        #[serde(skip)]
        _more: u64,
    }
}

fuzz_target!(|message: &[u8]| {
    let whole = serde_tensor::from_slice::<Vec<Vertex>>(message);
    let apart = serde_tensor::from_slice::<Vec<apart::Vertex>>(message);
    match (whole, apart) {
        (Ok(whole), Ok(apart)) => {
            let whole = whole.iter().map(|one| [one.x, one.y, one.z].map(f32::to_bits));
            assert!(whole.eq(apart.iter().map(|one| [one.x, one.y, one.z].map(f32::to_bits))));
        }
        (Err(whole), Err(apart)) => assert_eq!(whole.to_string(), apart.to_string()),
        (whole, apart) => panic!("{:?} and {:?}", whole.err(), apart.err()),
    }
});
