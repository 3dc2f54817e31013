//! *batch*: 32 images of 3×224×224 numbers, one tensor of 19 MB.

use serde::{Deserialize, Serialize};
use serde_tensor::{Tensor, TensorDeserialize, TensorSerialize, TensorView};

use super::peer_tensor::{PeerTensor, PeerTensorView};
use super::random::Random;
use super::{Data, WithTensors};

pub(crate) enum Batch {}

#[derive(TensorSerialize, TensorDeserialize, PartialEq)]
pub(crate) struct Ours {
    index: u64,
    #[tensor]
    images: Tensor,
}

#[derive(TensorSerialize, TensorDeserialize)]
pub(crate) struct View<'a> {
    index: u64,
    #[tensor]
    images: TensorView<'a>,
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
    index: u64,
    images: PeerTensor,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct PeerView<'a> {
    index: u64,
    #[serde(borrow)]
    images: PeerTensorView<'a>,
}

impl Data for Batch {
    const NAME: &'static str = "batch";
    const BORROWS: bool = true;

    type Ours = Ours;
    type View<'a> = View<'a>;
    type Peer = Peer;
    type PeerView<'a> = PeerView<'a>;

    fn ours() -> Ours {
        const SHAPE: [usize; 4] = [32, 3, 224, 224];
        let mut random = Random::new(2);
        let row: Vec<f32> = (0..4096).map(|_| random.float()).collect();
        let numbers = row.iter().copied().cycle().take(SHAPE.iter().product()).collect();
        Ours {
            index: 17,
            images: Tensor::from_vec(numbers, &SHAPE).expect("as many as the shape asks for"),
        }
    }

    fn peer() -> Peer {
        let ours = Self::ours();
        Peer {
            index: ours.index,
            images: (&ours.images).into(),
        }
    }
}

impl WithTensors for Batch {
    fn tensors(peer: &Peer) -> Vec<(&str, &PeerTensor)> {
        vec![("images", &peer.images)]
    }
}
