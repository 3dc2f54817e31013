//! A linear classifier: softmax over a weight for each pixel and class, trained by gradient descent.

use std::array;

use serde_tensor::Tensor;

use crate::Result;
use crate::all_reduce::Part;
use crate::digits::{CLASSES, Digits, PIXELS};

/// A weight for each pixel, and the bias.
const WEIGHTS: usize = PIXELS + 1;

pub(crate) struct Classifier([[f64; WEIGHTS]; CLASSES]);

impl Classifier {
    pub(crate) fn new() -> Self {
        Self([[0.0; WEIGHTS]; CLASSES])
    }

    /// What a shard adds to the loss and to its gradient, class by class. The loss is minus the logarithm of the right class's probability.
    pub(crate) fn gradients(&self, digits: &Digits, shard: usize) -> Result<Vec<Part>> {
        let mut gradients = [[0.0; WEIGHTS]; CLASSES];
        let mut counts = [0_u32; CLASSES];
        let mut losses = [0.0; CLASSES];
        for (pixels, label) in digits.shard(shard) {
            let probabilities = self.probabilities(pixels);
            for (class, gradient) in gradients.iter_mut().enumerate() {
                let over = probabilities[class] - if class == label { 1.0 } else { 0.0 };
                let (bias, weights) = gradient.split_last_mut().ok_or("no weights")?;
                *bias += over;
                weights
                    .iter_mut()
                    .zip(pixels)
                    .for_each(|(weight, pixel)| *weight += over * pixel);
            }
            counts[label] += 1;
            losses[label] -= probabilities[label].ln();
        }
        (0..CLASSES)
            .map(|class| {
                Ok(Part {
                    class,
                    shard,
                    count: counts[class],
                    loss: losses[class],
                    values: Tensor::from_elements(&gradients[class], &[WEIGHTS])?,
                })
            })
            .collect()
    }

    /// Steps against the gradient; returns the mean loss before the step.
    pub(crate) fn step(&mut self, sums: &[Part], rate: f64) -> Result<f64> {
        let count = f64::from(sums.iter().map(|sum| sum.count).sum::<u32>());
        for (weights, sum) in self.0.iter_mut().zip(sums) {
            let gradient = sum.values.elements::<f64>()?;
            weights
                .iter_mut()
                .zip(&*gradient)
                .for_each(|(weight, slope)| *weight -= rate * slope / count);
        }
        Ok(sums.iter().map(|sum| sum.loss).sum::<f64>() / count)
    }

    /// How many digits it names rightly.
    pub(crate) fn right(&self, digits: &Digits) -> usize {
        let named = |pixels| {
            let scores = self.scores(pixels);
            (0..CLASSES).max_by(|one, other| scores[*one].total_cmp(&scores[*other]))
        };
        digits
            .all()
            .filter(|(pixels, class)| named(pixels) == Some(*class))
            .count()
    }

    /// All weights.
    pub(crate) fn weights(&self) -> &[f64] {
        self.0.as_flattened()
    }

    fn scores(&self, pixels: &[f64; PIXELS]) -> [f64; CLASSES] {
        self.0.map(|weights| {
            let products = weights.iter().zip(pixels).map(|(weight, pixel)| weight * pixel);
            products.sum::<f64>() + weights[PIXELS]
        })
    }

    fn probabilities(&self, pixels: &[f64; PIXELS]) -> [f64; CLASSES] {
        let scores = self.scores(pixels);
        let most = scores.into_iter().fold(f64::MIN, f64::max);
        let shares = scores.map(|score| (score - most).exp());
        let total: f64 = shares.iter().sum();
        array::from_fn(|class| shares[class] / total)
    }
}
