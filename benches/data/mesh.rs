//! *mesh*: 125,000 triangles as structs of `f32`, no attribute.

use serde::{Deserialize, Serialize};

use super::Data;
use super::random::Random;

pub(super) const TRIANGLES: usize = 125_000;

pub(crate) enum Mesh {}

#[derive(
    Serialize,
    Deserialize,
    PartialEq,
    bitcode::Encode,
    bitcode::Decode,
    rkyv::Archive,
    rkyv::Serialize,
    rkyv::Deserialize,
)]
pub(crate) struct Triangles {
    triangles: Vec<Triangle>,
}

#[derive(
    Serialize,
    Deserialize,
    PartialEq,
    bitcode::Encode,
    bitcode::Decode,
    rkyv::Archive,
    rkyv::Serialize,
    rkyv::Deserialize,
)]
struct Triangle {
    v0: Vertex,
    v1: Vertex,
    v2: Vertex,
    normal: Vertex,
}

#[derive(
    Serialize,
    Deserialize,
    PartialEq,
    bitcode::Encode,
    bitcode::Decode,
    rkyv::Archive,
    rkyv::Serialize,
    rkyv::Deserialize,
)]
struct Vertex {
    x: f32,
    y: f32,
    z: f32,
}

/// The numbers of all triangles, twelve each.
pub(super) fn numbers() -> impl Iterator<Item = f32> {
    let mut random = Random::new(6);
    (0..TRIANGLES * 12).map(move |_| random.float())
}

impl Data for Mesh {
    const NAME: &'static str = "mesh";
    const BORROWS: bool = false;

    type Ours = Triangles;
    type View<'a> = Triangles;
    type Peer = Triangles;
    type PeerView<'a> = Triangles;

    fn ours() -> Triangles {
        let mut numbers = numbers();
        let mut number = || numbers.next().expect("twelve numbers a triangle");
        let mut vertex = || Vertex {
            x: number(),
            y: number(),
            z: number(),
        };
        let triangle = |_| Triangle {
            v0: vertex(),
            v1: vertex(),
            v2: vertex(),
            normal: vertex(),
        };
        Triangles {
            triangles: (0..TRIANGLES).map(triangle).collect(),
        }
    }

    fn peer() -> Triangles {
        Self::ours()
    }
}
