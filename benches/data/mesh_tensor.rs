//! *mesh-tensor*: the numbers of *mesh* as one bulk field.

use serde::{Deserialize, Serialize};
use serde_tensor::{Tensor, TensorDeserialize, TensorSerialize, TensorView};

use super::mesh::numbers;
use super::peer_tensor::{PeerTensor, PeerTensorView};
use super::{Data, WithTensors};

pub(crate) enum MeshTensor {}

#[derive(TensorSerialize, TensorDeserialize, PartialEq)]
pub(crate) struct Ours {
    #[tensor]
    triangles: Vec<f32>,
}

#[derive(TensorSerialize, TensorDeserialize)]
pub(crate) struct View<'a> {
    #[tensor]
    triangles: TensorView<'a>,
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
pub(crate) struct Peer {
    triangles: PeerTensor,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct PeerView<'a> {
    #[serde(borrow)]
    triangles: PeerTensorView<'a>,
}

impl Data for MeshTensor {
    const NAME: &'static str = "mesh-tensor";
    const BORROWS: bool = true;

    type Ours = Ours;
    type View<'a> = View<'a>;
    type Peer = Peer;
    type PeerView<'a> = PeerView<'a>;

    fn ours() -> Ours {
        Ours {
            triangles: numbers().collect(),
        }
    }

    fn peer() -> Peer {
        let numbers: Vec<f32> = numbers().collect();
        Peer {
            triangles: (&Tensor::from(numbers)).into(),
        }
    }
}

impl WithTensors for MeshTensor {
    fn tensors(peer: &Peer) -> Vec<(&str, &PeerTensor)> {
        vec![("triangles", &peer.triangles)]
    }
}
