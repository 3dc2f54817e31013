//! A tensor as a careful user of another format would write it: its bytes in bulk, never number by number.

use serde::{Deserialize, Serialize};
use serde_tensor::{DType, Tensor};

/// A tensor for formats that know none.
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
pub(crate) struct PeerTensor {
    /// As `dtype_code` numbers them.
    pub(crate) dtype: u8,
    pub(crate) shape: Vec<u64>,
    #[serde(with = "serde_bytes")]
    pub(crate) data: Vec<u8>,
}

/// A [`PeerTensor`] whose data is borrowed from the bytes that it was decoded from.
#[derive(Serialize, Deserialize)]
pub(crate) struct PeerTensorView<'a> {
    pub(crate) dtype: u8,
    pub(crate) shape: Vec<u64>,
    #[serde(borrow, with = "serde_bytes")]
    pub(crate) data: &'a [u8],
}

impl From<&Tensor> for PeerTensor {
    fn from(tensor: &Tensor) -> Self {
        Self {
            dtype: dtype_code(tensor.dtype()),
            shape: tensor.shape().iter().map(|&dim| dim as u64).collect(),
            data: tensor.bytes().to_vec(),
        }
    }
}

impl PeerTensor {
    /// As safetensors wants it.
    pub(crate) fn as_safetensor(&self) -> safetensors::tensor::TensorView<'_> {
        let dtype = match self.dtype {
            0 => safetensors::Dtype::U8,
            1 => safetensors::Dtype::I64,
            2 => safetensors::Dtype::F32,
            _ => safetensors::Dtype::BF16,
        };
        let shape = self
            .shape
            .iter()
            .map(|&dim| usize::try_from(dim).expect("a dim of memory"));
        safetensors::tensor::TensorView::new(dtype, shape.collect(), &self.data).expect("the bytes fit the shape")
    }

    /// Back from safetensors.
    pub(crate) fn from_safetensor(tensor: &safetensors::tensor::TensorView<'_>) -> Self {
        Self {
            dtype: match tensor.dtype() {
                safetensors::Dtype::U8 => 0,
                safetensors::Dtype::I64 => 1,
                safetensors::Dtype::F32 => 2,
                safetensors::Dtype::BF16 => 3,
                other => panic!("{other} is in no data set"),
            },
            shape: tensor.shape().iter().map(|&dim| dim as u64).collect(),
            data: tensor.data().to_vec(),
        }
    }
}

fn dtype_code(dtype: DType) -> u8 {
    match dtype {
        DType::U8 => 0,
        DType::I64 => 1,
        DType::F32 => 2,
        DType::BF16 => 3,
        other => panic!("{other} is in no data set"),
    }
}
