//! *step*: one step of a rollout. Four tensors of 28 KB together, two of them tiny; a map; a few fields.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_tensor::{DType, Tensor, TensorDeserialize, TensorSerialize, TensorView};

use super::peer_tensor::{PeerTensor, PeerTensorView};
use super::random::Random;
use super::{Data, WithTensors};

pub(crate) enum Step {}

#[derive(TensorSerialize, TensorDeserialize, PartialEq)]
pub(crate) struct Ours {
    worker: String,
    episode: u64,
    step: u32,
    done: bool,
    reward: f64,
    info: BTreeMap<String, f64>,
    #[tensor]
    observation: Tensor,
    #[tensor]
    hidden: Tensor,
    #[tensor]
    logits: Tensor,
    #[tensor]
    action: Tensor,
}

#[derive(TensorSerialize, TensorDeserialize)]
pub(crate) struct View<'a> {
    worker: &'a str,
    episode: u64,
    step: u32,
    done: bool,
    reward: f64,
    #[serde(borrow)]
    info: BTreeMap<&'a str, f64>,
    #[tensor]
    observation: TensorView<'a>,
    #[tensor]
    hidden: TensorView<'a>,
    #[tensor]
    logits: TensorView<'a>,
    #[tensor]
    action: TensorView<'a>,
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
    worker: String,
    episode: u64,
    step: u32,
    done: bool,
    reward: f64,
    info: BTreeMap<String, f64>,
    observation: PeerTensor,
    hidden: PeerTensor,
    logits: PeerTensor,
    action: PeerTensor,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct PeerView<'a> {
    worker: &'a str,
    episode: u64,
    step: u32,
    done: bool,
    reward: f64,
    #[serde(borrow)]
    info: BTreeMap<&'a str, f64>,
    #[serde(borrow)]
    observation: PeerTensorView<'a>,
    #[serde(borrow)]
    hidden: PeerTensorView<'a>,
    #[serde(borrow)]
    logits: PeerTensorView<'a>,
    #[serde(borrow)]
    action: PeerTensorView<'a>,
}

impl Data for Step {
    const NAME: &'static str = "step";
    const BORROWS: bool = true;

    type Ours = Ours;
    type View<'a> = View<'a>;
    type Peer = Peer;
    type PeerView<'a> = PeerView<'a>;

    fn ours() -> Ours {
        let mut random = Random::new(1);
        let names = [
            "entropy",
            "grad_norm",
            "kl",
            "learning_rate",
            "loss",
            "lives",
            "score",
            "value",
        ];
        let info = names.map(|name| (name.to_owned(), f64::from(random.float())));
        let floats = |random: &mut Random, shape: &[usize]| {
            let numbers = (0..shape.iter().product()).map(|_| random.float()).collect();
            Tensor::from_vec(numbers, shape).expect("as many as the shape asks for")
        };
        let frame = random.bytes(3 * 84 * 84);
        Ours {
            worker: "rollout-worker-17".to_owned(),
            episode: 48_213,
            step: 311,
            done: false,
            reward: 0.125,
            info: BTreeMap::from(info),
            observation: Tensor::from_bytes(DType::U8, &[3, 84, 84], frame).expect("a byte an element"),
            hidden: floats(&mut random, &[2, 896]),
            logits: floats(&mut random, &[18]),
            action: Tensor::from_vec(vec![7i64], &[1]).expect("one element"),
        }
    }

    fn peer() -> Peer {
        let ours = Self::ours();
        Peer {
            observation: (&ours.observation).into(),
            hidden: (&ours.hidden).into(),
            logits: (&ours.logits).into(),
            action: (&ours.action).into(),
            worker: ours.worker,
            episode: ours.episode,
            step: ours.step,
            done: ours.done,
            reward: ours.reward,
            info: ours.info,
        }
    }
}

impl WithTensors for Step {
    fn tensors(peer: &Peer) -> Vec<(&str, &PeerTensor)> {
        vec![
            ("observation", &peer.observation),
            ("hidden", &peer.hidden),
            ("logits", &peer.logits),
            ("action", &peer.action),
        ]
    }
}
