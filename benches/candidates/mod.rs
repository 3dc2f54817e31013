//! What is compared: each candidate's way to do what is asked, on each data set.

mod bincode;
mod bitcode;
mod case;
mod ciborium;
mod copy;
#[cfg(feature = "tch")]
mod libtorch;
mod ours;
mod postcard;
mod rkyv;
mod rmp;
mod safetensors;
mod scan;
#[cfg(unix)]
mod socket;

pub(crate) use case::{Case, Meter};

use crate::data::batch::Batch;
use crate::data::mesh::Mesh;
use crate::data::mesh_tensor::MeshTensor;
use crate::data::named::{Many, State, StateHundredth};
use crate::data::records::Records;
use crate::data::step::Step;
use crate::data::{Data, WithTensors};

/// All cases there are.
pub(crate) fn cases() -> Vec<Case> {
    [
        tensors::<Step>(),
        tensors::<Batch>(),
        tensors::<State>(),
        ours::planned::<StateHundredth>(),
        #[cfg(unix)]
        socket::cases(),
        tensors::<Many>(),
        plain::<Records>(),
        bitcode::records(),
        plain::<Mesh>(),
        tensors::<MeshTensor>(),
        scan::cases(),
        #[cfg(feature = "tch")]
        libtorch::cases(),
    ]
    .concat()
}

/// The cases of a data set without tensors.
fn plain<D: Data>() -> Vec<Case> {
    [copy::cases::<D>(), ours::cases::<D>(), peers::<D>()].concat()
}

/// The cases of a data set with tensors.
fn tensors<D: WithTensors>() -> Vec<Case> {
    [
        copy::cases::<D>(),
        ours::cases::<D>(),
        ours::planned::<D>(),
        peers::<D>(),
        safetensors::cases::<D>(),
    ]
    .concat()
}

/// Those who take any data.
fn peers<D: Data>() -> Vec<Case> {
    [
        postcard::cases::<D>(),
        rmp::cases::<D>(),
        bincode::cases::<D>(),
        ciborium::cases::<D>(),
        bitcode::cases::<D>(),
        rkyv::cases::<D>(),
    ]
    .concat()
}
