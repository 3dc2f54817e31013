//! What was decided for each tensor of a call.

use std::fmt::{self, Write as _};

use super::{Device, Rule, Site};
use crate::path::Path;
use crate::tensor::{DType, Shape};

/// How a tensor's bytes got from the message to where they are now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Transfer {
    /// They are the message's own bytes, borrowed.
    Borrowed,
    /// They are the message's own bytes, kept alive together with other tensors.
    Shared,
    /// They were copied within the host's memory.
    Copied,
    /// They were moved from the host to a device.
    HostToDevice,
}

impl fmt::Display for Transfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Borrowed => "borrowed",
            Self::Shared => "shared",
            Self::Copied => "copied",
            Self::HostToDevice => "host to device",
        })
    }
}

/// What was decided for one tensor.
#[derive(Clone, Debug)]
pub struct TensorReport {
    pub(crate) path: Path,
    pub(crate) site: Option<&'static Site>,
    pub(crate) dtype: DType,
    pub(crate) shape: Shape,
    pub(crate) recorded: Device,
    pub(crate) wanted: Device,
    pub(crate) device: Device,
    pub(crate) bytes: usize,
    pub(crate) rule: Rule,
    pub(crate) transfer: Transfer,
}

impl TensorReport {
    /// Where the tensor is in the value, such as `layers[3].weight`; empty when the value is the tensor.
    pub fn path(&self) -> &str {
        self.path.as_str()
    }

    /// The derived field whose attribute was looked at, such as `Rollout.rewards`; `None` outside derived types.
    pub fn field(&self) -> Option<String> {
        self.site.map(Site::to_string)
    }

    /// The tensor's dtype.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The tensor's dims.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Where it was when it was encoded.
    pub fn recorded(&self) -> Device {
        self.recorded
    }

    /// The device the rule chose, after `Decoder::map_device`.
    pub fn wanted(&self) -> Device {
        self.wanted
    }

    /// Where it is now; not the wanted device if that is not there.
    pub fn device(&self) -> Device {
        self.device
    }

    /// The length of its data in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The rule that applied.
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// How its bytes got there.
    pub fn transfer(&self) -> Transfer {
        self.transfer
    }
}

/// What a call decided for each tensor it decoded, in the order of the message.
///
/// Printed, it is a table.
///
/// # Examples
///
/// ```
/// use serde_tensor::{Decoder, Device, Tensor};
///
/// let bytes = serde_tensor::to_vec(&Tensor::from_elements(&[1_f32, 2.0], &[2])?)?;
/// let (_, report) = Decoder::new().from_slice_with_report::<Tensor>(&bytes)?;
/// let tensor = &report.tensors()[0];
/// assert_eq!((tensor.device(), tensor.bytes(), tensor.rule().number()), (Device::Cpu, 8, 0));
/// # Ok::<(), serde_tensor::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Report {
    tensors: Vec<TensorReport>,
}

impl Report {
    pub(crate) fn new(tensors: Vec<TensorReport>) -> Self {
        Self { tensors }
    }

    /// All tensors, in the order of the message.
    pub fn tensors(&self) -> &[TensorReport] {
        &self.tensors
    }

    /// The tensor at `path`, such as `layers[3].weight`.
    pub fn get(&self, path: &str) -> Option<&TensorReport> {
        self.tensors.iter().find(|tensor| tensor.path() == path)
    }

    /// How many tensors there were.
    pub fn len(&self) -> usize {
        self.tensors.len()
    }

    /// Whether there was none.
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// The tensors one by one.
    pub fn iter(&self) -> std::slice::Iter<'_, TensorReport> {
        self.tensors.iter()
    }
}

impl<'a> IntoIterator for &'a Report {
    type Item = &'a TensorReport;
    type IntoIter = std::slice::Iter<'a, TensorReport>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl IntoIterator for Report {
    type Item = TensorReport;
    type IntoIter = std::vec::IntoIter<TensorReport>;

    fn into_iter(self) -> Self::IntoIter {
        self.tensors.into_iter()
    }
}

const HEADINGS: [&str; 8] = [
    "path",
    "dtype",
    "shape",
    "bytes",
    "from",
    "to",
    "chosen by",
    "bytes were",
];

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows: Vec<[String; 8]> = std::iter::once(HEADINGS.map(str::to_owned))
            .chain(self.tensors.iter().map(row))
            .collect();
        let mut widths = [0; 8];
        for row in &rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        for (index, row) in rows.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            let mut line = String::new();
            for (cell, width) in row.iter().zip(widths) {
                write!(line, "{cell:<width$}  ")?;
            }
            f.write_str(line.trim_end())?;
        }
        Ok(())
    }
}

fn row(tensor: &TensorReport) -> [String; 8] {
    let to = if tensor.wanted == tensor.device {
        tensor.device.to_string()
    } else {
        format!("{} (not {})", tensor.device, tensor.wanted)
    };
    [
        if tensor.path().is_empty() {
            ".".to_owned()
        } else {
            tensor.path().to_owned()
        },
        tensor.dtype.to_string(),
        format!("{:?}", tensor.shape()),
        tensor.bytes.to_string(),
        tensor.recorded.to_string(),
        to,
        tensor.rule.to_string(),
        tensor.transfer.to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::FieldDevice;
    use super::*;
    use crate::path::{Step, Trail};

    static REWARDS: Site = Site::new("Rollout", "rewards", FieldDevice::KeepCpu);

    fn report() -> Report {
        let kept = TensorReport {
            path: Trail::default().then(Step::key(b"rewards")).into(),
            site: Some(&REWARDS),
            dtype: DType::F32,
            shape: Shape::from_slice(&[2, 3]),
            recorded: Device::Cuda(1),
            wanted: Device::Cpu,
            device: Device::Cpu,
            bytes: 24,
            rule: Rule::Field,
            transfer: Transfer::Copied,
        };
        let moved = TensorReport {
            path: Trail::default()
                .then(Step::key(b"layers"))
                .then(Step::Index(0))
                .then(Step::key(b"weight"))
                .into(),
            site: None,
            wanted: Device::Cuda(3),
            device: Device::Cuda(0),
            rule: Rule::Guard,
            transfer: Transfer::HostToDevice,
            ..kept.clone()
        };
        Report::new(vec![kept, moved])
    }

    #[test]
    fn a_tensor_is_found_by_its_path() {
        let report = report();
        assert_eq!((report.len(), report.is_empty()), (2, false));
        let rewards = report.get("rewards").unwrap();
        assert_eq!(rewards.field().as_deref(), Some("Rollout.rewards"));
        assert_eq!((rewards.dtype(), rewards.shape()), (DType::F32, &[2, 3][..]));
        assert!(report.get("layers[1].weight").is_none());
    }

    #[test]
    fn it_prints_as_a_table() {
        let expected = "\
path              dtype  shape   bytes  from    to                   chosen by              bytes were
rewards           f32    [2, 3]  24     cuda:1  cpu                  the field's attribute  copied
layers[0].weight  f32    [2, 3]  24     cuda:1  cuda:0 (not cuda:3)  the innermost guard    host to device";
        assert_eq!(report().to_string(), expected);
        assert!(Report::default().to_string().starts_with("path"));
    }
}
