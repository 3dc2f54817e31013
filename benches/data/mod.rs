//! What is encoded and decoded: one file a noun, the same bytes in every run, no field chosen to suit a format.

pub(crate) mod batch;
pub(crate) mod mesh;
pub(crate) mod mesh_tensor;
pub(crate) mod named;
pub(crate) mod peer_tensor;
mod random;
pub(crate) mod records;
#[allow(dead_code, reason = "a part of it is for `benches/scan.rs` alone")]
pub(crate) mod scan;
pub(crate) mod step;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_tensor::TensorSerialize;

use peer_tensor::PeerTensor;
use rkyv::api::high::{HighDeserializer, HighSerializer, HighValidator};
use rkyv::bytecheck::CheckBytes;
use rkyv::rancor;
use rkyv::ser::allocator::ArenaHandle;
use rkyv::util::AlignedVec;

/// A value, in the type that its user would give it: once for serde-tensor, once for its peers.
pub(crate) trait Data: 'static {
    /// As tables call it.
    const NAME: &'static str;
    /// Whether the view borrows; if not, it is the owned type.
    const BORROWS: bool;

    /// The value, with [`serde_tensor::Tensor`] where it has tensors.
    type Ours: Serialize + DeserializeOwned + PartialEq;
    /// What borrows text and tensors from the message.
    type View<'a>: Serialize + Deserialize<'a>;
    /// The value, with [`PeerTensor`] where it has tensors.
    type Peer: Serialize
        + DeserializeOwned
        + PartialEq
        + bitcode::Encode
        + bitcode::DecodeOwned
        + rkyv::Archive<
            Archived: for<'a> CheckBytes<HighValidator<'a, rancor::Error>>
                          + rkyv::Deserialize<Self::Peer, HighDeserializer<rancor::Error>>,
        > + for<'a> rkyv::Serialize<HighSerializer<AlignedVec, ArenaHandle<'a>, rancor::Error>>;
    /// What borrows text and tensors from the peer's bytes.
    type PeerView<'a>: Serialize + Deserialize<'a>;

    /// Makes the value.
    fn ours() -> Self::Ours;

    /// Makes the same value for the peers.
    fn peer() -> Self::Peer;
}

/// A value that holds tensors.
pub(crate) trait WithTensors: Data<Ours: TensorSerialize> {
    /// The tensors and their names: all that a format of named tensors can hold.
    fn tensors(peer: &Self::Peer) -> Vec<(&str, &PeerTensor)>;
}
