//! A model to serve: it names a handwritten digit by the mean image that is nearest to it.

use std::error::Error;

use safetensors::SafeTensors;
use serde_tensor::{Tensor, TensorDeserialize, TensorSerialize};

/// Any error, for `?`.
pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// `data/README.md` says whose they are.
static FILE: &[u8] = include_bytes!("../../data/digits.safetensors");

const CLASSES: usize = 10;
const PIXELS: usize = 8 * 8;

/// What is asked.
#[derive(Clone, Debug, TensorSerialize, TensorDeserialize)]
pub(crate) struct Batch {
    /// `u8`, of shape `[count, 8, 8]`.
    #[tensor]
    pub(crate) images: Tensor,
}

/// What is answered.
#[derive(Clone, Debug, TensorSerialize, TensorDeserialize)]
pub(crate) struct Logits {
    /// `f32`, of shape `[count, 10]`: the higher, the likelier is the class.
    #[tensor]
    pub(crate) logits: Tensor,
}

impl Logits {
    /// The likeliest class of each image.
    pub(crate) fn classes(&self) -> Result<Vec<usize>> {
        let logits = self.logits.elements::<f32>()?;
        let likeliest = |row: &[f32; CLASSES]| (0..CLASSES).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap_or(0);
        Ok(logits.as_chunks().0.iter().map(likeliest).collect())
    }
}

/// The mean image of each class.
pub(crate) struct Model {
    means: [[f32; PIXELS]; CLASSES],
}

impl Model {
    /// Learns from all digits there are.
    pub(crate) fn train() -> Result<Self> {
        let (images, labels) = digits()?;
        let mut means = [[0.0; PIXELS]; CLASSES];
        let mut counts = [0.0; CLASSES];
        for (image, label) in rows(&images)?.iter().zip(labels) {
            counts[label] += 1.0;
            means[label]
                .iter_mut()
                .zip(image)
                .for_each(|(sum, ink)| *sum += f32::from(*ink));
        }
        for (mean, count) in means.iter_mut().zip(counts) {
            *mean = mean.map(|sum| sum / count);
        }
        Ok(Self { means })
    }

    /// A row of logits for each image.
    pub(crate) fn classify(&self, batch: &Batch) -> Result<Logits> {
        let images = rows(&batch.images)?;
        let distance = |image: &[u8; PIXELS], mean: &[f32; PIXELS]| -> f32 {
            image
                .iter()
                .zip(mean)
                .map(|(ink, mean)| (f32::from(*ink) - mean).powi(2))
                .sum()
        };
        let logits: Vec<f32> = images
            .iter()
            .flat_map(|image| self.means.iter().map(move |mean| -distance(image, mean)))
            .collect();
        Ok(Logits {
            logits: Tensor::from_vec(logits, &[images.len(), CLASSES])?,
        })
    }
}

/// All digits, and what they are.
pub(crate) fn digits() -> Result<(Tensor, Vec<usize>)> {
    let file = SafeTensors::deserialize(FILE)?;
    let images = file.tensor("images")?;
    let labels = file.tensor("labels")?;
    let labels = labels
        .data()
        .as_chunks()
        .0
        .iter()
        .map(|label| usize::try_from(i64::from_le_bytes(*label)));
    Ok((
        Tensor::from_elements(images.data(), images.shape())?,
        labels.collect::<std::result::Result<_, _>>()?,
    ))
}

/// The images of a tensor, or an error that says what it should have been.
fn rows(images: &Tensor) -> Result<Vec<[u8; PIXELS]>> {
    match *images.shape() {
        [_, 8, 8] => Ok(images.elements::<u8>()?.as_chunks().0.to_vec()),
        ref other => Err(format!("images have the shape [count, 8, 8], not {other:?}").into()),
    }
}
