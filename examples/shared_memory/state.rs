//! What is sent, and known on both sides.

use std::collections::BTreeMap;

use serde_tensor::{DType, TensorDeserialize, TensorSerialize, TensorView};

use crate::Result;

const LAYERS: usize = 31;

/// 8 MB a layer, 248 MB in all.
const SHAPE: [usize; 2] = [1000, 2000];
const LAYER: usize = 1000 * 2000 * size_of::<f32>();

/// A model's state. It borrows its tensors, from the sender's memory as from the message's.
#[derive(Debug, PartialEq, TensorSerialize, TensorDeserialize)]
pub(crate) struct State<'a> {
    step: u64,
    #[serde(borrow)]
    #[tensor]
    pub(crate) layers: BTreeMap<String, TensorView<'a>>,
}

impl<'a> State<'a> {
    pub(crate) fn of(layers: impl Iterator<Item = &'a [u8]>) -> Result<Self> {
        let layer = |(layer, bytes)| Ok((format!("layer{layer}"), TensorView::new(DType::F32, &SHAPE, bytes)?));
        Ok(Self {
            step: 1000,
            layers: layers.enumerate().map(layer).collect::<Result<_>>()?,
        })
    }

    /// How many bytes the tensors have.
    pub(crate) fn bytes(&self) -> usize {
        self.layers.values().map(|layer| layer.bytes().len()).sum()
    }
}

/// Where all layers' values are taken from: each starts a bit later in it.
pub(crate) struct Values(Vec<u8>);

/// By how many bytes each starts later.
const STEP: usize = 64;

impl Values {
    pub(crate) fn new() -> Result<Self> {
        let values = u32::try_from((LAYER + LAYERS * STEP) / size_of::<f32>())?;
        Ok(Self(
            (0..values)
                .flat_map(|value| f32::from_bits(value).to_le_bytes())
                .collect(),
        ))
    }

    pub(crate) fn layers(&self) -> impl Iterator<Item = &[u8]> {
        (0..LAYERS).map(|layer| &self.0[layer * STEP..layer * STEP + LAYER])
    }
}
