//! The handwritten digits, cut into shards that do not depend on the number of workers.

use safetensors::SafeTensors;
use serde_tensor::Tensor;

use crate::Result;
use crate::all_reduce::Part;

/// `data/README.md` says whose they are. They are a part of the program, so that it alone is copied to other machines.
static FILE: &[u8] = include_bytes!("../../data/digits.safetensors");

pub(crate) const CLASSES: usize = 10;
pub(crate) const PIXELS: usize = 8 * 8;

/// Into how many shards the digits are cut: more than there will be workers, so that each has about as many.
pub(crate) const SHARDS: usize = 32;

/// The most ink that a pixel has.
const BLACK: f64 = 16.0;

pub(crate) struct Digits {
    /// From 0 to 1, 64 a digit.
    pixels: Vec<f64>,
    labels: Vec<usize>,
}

impl Digits {
    pub(crate) fn load() -> Result<Self> {
        let file = SafeTensors::deserialize(FILE)?;
        let images = file.tensor("images")?.data();
        let (labels, _) = file.tensor("labels")?.data().as_chunks();
        let labels = labels.iter().map(|label| usize::try_from(i64::from_le_bytes(*label)));
        Ok(Self {
            pixels: images.iter().map(|ink| f64::from(*ink) / BLACK).collect(),
            labels: labels.collect::<std::result::Result<_, _>>()?,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.labels.len()
    }

    /// All digits: 64 pixels and the class of each.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&[f64; PIXELS], usize)> {
        self.pixels.as_chunks().0.iter().zip(self.labels.iter().copied())
    }

    /// The digits of a shard.
    pub(crate) fn shard(&self, shard: usize) -> impl Iterator<Item = (&[f64; PIXELS], usize)> {
        let len = self.len().div_ceil(SHARDS);
        self.all().skip(shard * len).take(len)
    }

    /// The sum of a shard's images, class by class; divided by the count it is their mean.
    pub(crate) fn image_sums(&self, shard: usize) -> Result<Vec<Part>> {
        let mut sums = [[0.0; PIXELS]; CLASSES];
        let mut counts = [0_u32; CLASSES];
        for (pixels, class) in self.shard(shard) {
            sums[class]
                .iter_mut()
                .zip(pixels)
                .for_each(|(sum, pixel)| *sum += pixel);
            counts[class] += 1;
        }
        (0..CLASSES)
            .map(|class| {
                Ok(Part {
                    class,
                    shard,
                    count: counts[class],
                    loss: 0.0,
                    values: Tensor::from_elements(&sums[class], &[8, 8])?,
                })
            })
            .collect()
    }
}
