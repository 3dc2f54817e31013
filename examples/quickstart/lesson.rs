//! What is sent: a struct with tensors in every kind of place, filled with real data.

use std::collections::BTreeMap;

use safetensors::SafeTensors;
use serde_tensor::{DType, Device, Tensor, TensorDeserialize, TensorSerialize};

use crate::Result;
use crate::simulated::SimTensor;

/// Where the digits are; `data/README.md` says whose they are.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../data/digits.safetensors");

/// Pixels of an image.
const PIXELS: usize = 8 * 8;

#[derive(Debug, PartialEq, TensorSerialize, TensorDeserialize)]
pub(crate) struct Lesson {
    pub(crate) title: String,
    /// A nested type; its own fields say where they go.
    #[tensor]
    pub(crate) digits: Digits,
    /// For looking at: it stays on the CPU wherever it arrives.
    #[tensor(device = "keep_cpu")]
    pub(crate) means: SimTensor,
    /// The first images of a 0, a 1 and a 2.
    #[tensor]
    pub(crate) samples: Option<Vec<Tensor>>,
    #[tensor]
    pub(crate) task: Task,
    /// Every serde attribute keeps its meaning.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) counts: BTreeMap<String, u32>,
}

#[derive(Debug, PartialEq, TensorSerialize, TensorDeserialize)]
pub(crate) struct Digits {
    /// u8 [1797, 8, 8], on a (simulated) GPU; goes to the receiver's device.
    #[tensor]
    pub(crate) images: SimTensor,
    /// i64 [1797]: the crate's own tensor, which exists in host memory alone.
    #[tensor]
    pub(crate) labels: Tensor,
}

#[derive(Debug, PartialEq, TensorSerialize, TensorDeserialize)]
#[serde(tag = "kind")]
pub(crate) enum Task {
    Classify {
        classes: usize,
        #[tensor]
        class_weights: Tensor,
    },
    Cluster {
        clusters: usize,
    },
    Explore,
}

impl Lesson {
    /// The digits from the file, with the images and their means on `device`.
    pub(crate) fn load(device: Device) -> Result<Self> {
        let bytes = std::fs::read(FILE).map_err(|error| format!("{FILE}: {error}"))?;
        let file = SafeTensors::deserialize(&bytes)?;
        let images = tensor(&file, "images", DType::U8)?;
        let labels = tensor(&file, "labels", DType::I64)?;
        let classes = Classes::of(&images, &labels)?;
        Ok(Self {
            title: "Handwritten digits".to_owned(),
            means: SimTensor::on(device, Tensor::from_vec(classes.means(), &[10, 8, 8])?)?,
            digits: Digits {
                images: SimTensor::on(device, images.clone())?,
                labels,
            },
            samples: Some(classes.samples()?),
            task: Task::Classify {
                classes: 10,
                class_weights: Tensor::from_vec(classes.weights(), &[10])?,
            },
            counts: classes.counts(),
        })
    }
}

/// One tensor of the file, in the crate's own type.
fn tensor(file: &SafeTensors<'_>, name: &str, dtype: DType) -> Result<Tensor> {
    let found = file.tensor(name)?;
    // safetensors writes U8 and I64, this crate u8 and i64.
    if found.dtype().to_string().to_lowercase() != dtype.to_string() {
        return Err(format!("{FILE}: {name} is {}, not {dtype}", found.dtype()).into());
    }
    Ok(Tensor::from_bytes(dtype, found.shape(), found.data().to_vec())?)
}

/// The images of each digit.
struct Classes<'a> {
    of_digit: [Vec<&'a [u8]>; 10],
}

impl<'a> Classes<'a> {
    fn of(images: &'a Tensor, labels: &Tensor) -> Result<Self> {
        let mut of_digit = <[Vec<&[u8]>; 10]>::default();
        for (image, label) in images.bytes().chunks_exact(PIXELS).zip(&*labels.elements::<i64>()?) {
            let class = usize::try_from(*label).ok().and_then(|digit| of_digit.get_mut(digit));
            class.ok_or_else(|| format!("{FILE}: no digit is {label}"))?.push(image);
        }
        Ok(Self { of_digit })
    }

    /// The mean image of each digit, f32 [10, 8, 8].
    fn means(&self) -> Vec<f32> {
        let mean = |images: &Vec<&[u8]>, pixel: usize| {
            let sum: f32 = images.iter().map(|image| f32::from(image[pixel])).sum();
            sum / count(images)
        };
        self.of_digit
            .iter()
            .flat_map(|images| (0..PIXELS).map(move |pixel| mean(images, pixel)))
            .collect()
    }

    /// The first images of a 0, a 1 and a 2, each u8 [8, 8].
    fn samples(&self) -> Result<Vec<Tensor>> {
        let first = self.of_digit[..3].iter().filter_map(|images| images.first());
        first.map(|image| Ok(Tensor::from_elements(image, &[8, 8])?)).collect()
    }

    /// One through the number of images, f32 [10].
    fn weights(&self) -> Vec<f32> {
        self.of_digit.iter().map(|images| 1.0 / count(images)).collect()
    }

    fn counts(&self) -> BTreeMap<String, u32> {
        let count = |images: &Vec<&[u8]>| u32::try_from(images.len()).unwrap_or(u32::MAX);
        (0..)
            .zip(&self.of_digit)
            .map(|(digit, images): (u32, _)| (digit.to_string(), count(images)))
            .collect()
    }
}

fn count(images: &[&[u8]]) -> f32 {
    f32::from(u16::try_from(images.len()).unwrap_or(u16::MAX))
}
