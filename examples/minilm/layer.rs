//! One layer of the model: its weights, as they are named in its file, and what it computes.

use std::collections::HashMap;

use serde_tensor::{TensorDeserialize, TensorSerialize};
use tch::{Kind, Tensor};

use crate::Result;

/// The size of a token's vector.
pub(crate) const HIDDEN: i64 = 384;
const HEADS: i64 = 12;

#[derive(TensorSerialize, TensorDeserialize)]
pub(crate) struct Layer {
    #[tensor]
    embeddings: Weights,
    #[tensor]
    query: Weights,
    #[tensor]
    key: Weights,
    #[tensor]
    value: Weights,
    #[tensor]
    attention: Weights,
    #[tensor]
    attention_norm: Weights,
    #[tensor]
    intermediate: Weights,
    #[tensor]
    output: Weights,
    #[tensor]
    output_norm: Weights,
}

/// Of a linear map or of a norm.
#[derive(TensorSerialize, TensorDeserialize)]
struct Weights {
    #[tensor]
    weight: Tensor,
    #[tensor]
    bias: Tensor,
}

impl Layer {
    /// Takes the weights out of what a file holds.
    pub(crate) fn from_tensors(mut tensors: HashMap<String, Tensor>) -> Result<Self> {
        let mut take = |name: &str| -> Result<Weights> {
            let mut part = |part| {
                let name = format!("{name}.{part}");
                tensors
                    .remove(&name)
                    .ok_or_else(|| format!("the file has no tensor {name}"))
            };
            Ok(Weights {
                weight: part("weight")?,
                bias: part("bias")?,
            })
        };
        Ok(Self {
            embeddings: take("embeddings.LayerNorm")?,
            query: take("encoder.layer.0.attention.self.query")?,
            key: take("encoder.layer.0.attention.self.key")?,
            value: take("encoder.layer.0.attention.self.value")?,
            attention: take("encoder.layer.0.attention.output.dense")?,
            attention_norm: take("encoder.layer.0.attention.output.LayerNorm")?,
            intermediate: take("encoder.layer.0.intermediate.dense")?,
            output: take("encoder.layer.0.output.dense")?,
            output_norm: take("encoder.layer.0.output.LayerNorm")?,
        })
    }

    /// What the layer makes of tokens, [batch, tokens, [`HIDDEN`]].
    pub(crate) fn forward(&self, tokens: &Tensor) -> Tensor {
        let tokens = self.embeddings.norm(tokens);
        let heads = |projected: Tensor| {
            let &[batch, count, _] = &projected.size()[..] else {
                unreachable!("a linear map keeps the rank")
            };
            projected.view([batch, count, HEADS, HIDDEN / HEADS]).transpose(1, 2)
        };
        let [query, key, value] = [&self.query, &self.key, &self.value].map(|map| heads(map.linear(&tokens)));
        let scores = query.matmul(&key.transpose(2, 3)) / f64::from(u32::try_from(HIDDEN / HEADS).unwrap_or(1)).sqrt();
        let mixed = scores
            .softmax(-1, Kind::Float)
            .matmul(&value)
            .transpose(1, 2)
            .reshape_as(&tokens);
        let attended = self.attention_norm.norm(&(self.attention.linear(&mixed) + tokens));
        let widened = self.intermediate.linear(&attended).gelu("none");
        self.output_norm.norm(&(self.output.linear(&widened) + attended))
    }
}

impl Weights {
    fn linear(&self, input: &Tensor) -> Tensor {
        input.linear(&self.weight, Some(&self.bias))
    }

    fn norm(&self, input: &Tensor) -> Tensor {
        input.layer_norm([HIDDEN], Some(&self.weight), Some(&self.bias), 1e-12, false)
    }
}
