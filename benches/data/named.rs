//! *many* and *state*: maps of named tensors, of which one has many small ones and the other few large ones.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_tensor::{DType, Tensor, TensorDeserialize, TensorSerialize, TensorView};

use super::peer_tensor::{PeerTensor, PeerTensorView};
use super::random::Random;
use super::{Data, WithTensors};

/// 10,000 tensors of 64 `f32`.
pub(crate) enum Many {}

/// The parameters of GPT-2, the small one, in `bf16`: 148 tensors of 248 MB together.
pub(crate) enum State {}

/// As many tensors with the same names, each with a hundredth of the elements.
pub(crate) enum StateHundredth {}

#[derive(TensorSerialize, TensorDeserialize, PartialEq)]
pub(crate) struct Ours {
    version: u64,
    #[tensor]
    tensors: BTreeMap<String, Tensor>,
}

#[derive(TensorSerialize, TensorDeserialize)]
pub(crate) struct View<'a> {
    version: u64,
    #[serde(borrow)]
    #[tensor]
    tensors: BTreeMap<&'a str, TensorView<'a>>,
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
    version: u64,
    tensors: BTreeMap<String, PeerTensor>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct PeerView<'a> {
    version: u64,
    #[serde(borrow)]
    tensors: BTreeMap<&'a str, PeerTensorView<'a>>,
}

/// A set of named tensors.
trait Named: 'static {
    const NAME: &'static str;

    fn tensors() -> BTreeMap<String, Tensor>;
}

impl Named for Many {
    const NAME: &'static str = "many";

    fn tensors() -> BTreeMap<String, Tensor> {
        let mut random = Random::new(3);
        let mut tensor = |index| {
            let numbers = (0..64).map(|_| random.float()).collect();
            let tensor = Tensor::from_vec(numbers, &[64]).expect("64 elements");
            (format!("embedding.{index:05}"), tensor)
        };
        (0..10_000).map(&mut tensor).collect()
    }
}

impl Named for State {
    const NAME: &'static str = "state";

    fn tensors() -> BTreeMap<String, Tensor> {
        state(1)
    }
}

impl Named for StateHundredth {
    const NAME: &'static str = "state/100";

    fn tensors() -> BTreeMap<String, Tensor> {
        state(100)
    }
}

/// The tensors of *state*, with one in `part` of the elements.
fn state(part: usize) -> BTreeMap<String, Tensor> {
    const WIDTH: usize = 768;
    const LAYERS: usize = 12;
    let mut shapes = vec![
        ("wte.weight".to_owned(), vec![50_257, WIDTH]),
        ("wpe.weight".to_owned(), vec![1024, WIDTH]),
        ("ln_f.weight".to_owned(), vec![WIDTH]),
        ("ln_f.bias".to_owned(), vec![WIDTH]),
    ];
    for layer in 0..LAYERS {
        let linears = [
            ("attn.c_attn", WIDTH, 3 * WIDTH),
            ("attn.c_proj", WIDTH, WIDTH),
            ("mlp.c_fc", WIDTH, 4 * WIDTH),
            ("mlp.c_proj", 4 * WIDTH, WIDTH),
        ];
        for (name, from, to) in linears {
            shapes.push((format!("h.{layer}.{name}.weight"), vec![from, to]));
            shapes.push((format!("h.{layer}.{name}.bias"), vec![to]));
        }
        for name in ["ln_1.weight", "ln_1.bias", "ln_2.weight", "ln_2.bias"] {
            shapes.push((format!("h.{layer}.{name}"), vec![WIDTH]));
        }
    }
    let mut random = Random::new(4);
    let mut tensor = |(name, mut shape): (String, Vec<usize>)| {
        shape[0] = shape[0].div_ceil(part);
        let bytes = random.bytes(2 * shape.iter().product::<usize>());
        let tensor = Tensor::from_bytes(DType::BF16, &shape, bytes).expect("two bytes an element");
        (name, tensor)
    };
    shapes.into_iter().map(&mut tensor).collect()
}

impl<D: Named> Data for D {
    const NAME: &'static str = D::NAME;
    const BORROWS: bool = true;

    type Ours = Ours;
    type View<'a> = View<'a>;
    type Peer = Peer;
    type PeerView<'a> = PeerView<'a>;

    fn ours() -> Ours {
        Ours {
            version: 42,
            tensors: D::tensors(),
        }
    }

    fn peer() -> Peer {
        let convert = |(name, tensor)| (name, PeerTensor::from(&tensor));
        Peer {
            version: 42,
            tensors: D::tensors().into_iter().map(convert).collect(),
        }
    }
}

impl<D: Named> WithTensors for D {
    fn tensors(peer: &Peer) -> Vec<(&str, &PeerTensor)> {
        peer.tensors
            .iter()
            .map(|(name, tensor)| (name.as_str(), tensor))
            .collect()
    }
}
