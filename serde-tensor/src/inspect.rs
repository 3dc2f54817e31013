//! What a message holds, read without any type or tensor library.

use std::fmt;

use crate::device::{Device, Pin, Placement};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::path::Path;
use crate::tensor::{DType, Shape};
use crate::wire::descriptor::{self, Descriptor, Place};
use crate::wire::frame::{Frame, MAGIC};
use crate::wire::path::{Fault, Walk};
use crate::wire::read::Cursor;
use crate::wire::to_u64;

/// The tensors of a message and how it is laid out.
#[derive(Clone, Debug)]
pub struct Inspection {
    tensors: Vec<TensorInfo>,
    body_len: usize,
    segments: Option<usize>,
}

/// What a message says of one tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorInfo {
    path: Path,
    dtype: DType,
    shape: Shape,
    strides: Option<Shape>,
    device: Device,
    requires_grad: bool,
    pin: Placement,
    bytes: usize,
    segment: Option<u64>,
}

/// Reads the descriptions of all tensors in a message: no type, no device and no tensor library is needed, and no
/// tensor's data is touched.
///
/// ```
/// use serde_tensor::{DType, Tensor, inspect};
///
/// let bytes = serde_tensor::to_vec(&[("weight", Tensor::from_elements(&[0.5f32, 1.0], &[2, 1])?)])?;
/// let found = inspect(&bytes)?;
/// let weight = &found.tensors()[0];
/// assert_eq!((weight.path(), weight.dtype(), weight.shape()), ("[0][1]", DType::F32, &[2, 1][..]));
/// # Ok::<(), serde_tensor::Error>(())
/// ```
///
/// # Errors
///
/// `Syntax`, `Eof` or `Limit` where the bytes are not one whole message.
pub fn inspect(message: &[u8]) -> Result<Inspection> {
    let limits = Limits::new();
    let frame = match message.first() {
        None => return Err(Error::eof("the message is empty").at(0)),
        Some(&first) if first == MAGIC[0] => Some(Frame::open(message, limits.segments)?),
        Some(_) => None,
    };
    let (body, offset) = match &frame {
        Some(frame) => (&message[frame.body()], to_u64(frame.body().start)),
        None => (message, 0),
    };
    let found = inspect_body(body, offset, frame.as_ref().map(Frame::segments), &limits)?;
    let len = frame.as_ref().map_or(message.len(), Frame::len);
    check_rest(message.len() - len, to_u64(len))?;
    Ok(found)
}

fn check_rest(left: usize, at: u64) -> Result<()> {
    match left {
        0 => Ok(()),
        _ => Err(Error::syntax(format!("{left} bytes are left over after the value")).at(at)),
    }
}

/// Reads the descriptions in a body, which is one value, at an offset of a message.
pub(crate) fn inspect_body(body: &[u8], offset: u64, segments: Option<usize>, limits: &Limits) -> Result<Inspection> {
    let mut cursor = Cursor::new(body, offset);
    cursor.skip()?;
    check_rest(cursor.rest().len(), cursor.offset_of(cursor.position()))?;
    let mut tensors = Vec::new();
    let mut walk = Walk::new(body, limits.depth);
    while let Some((position, payload)) = walk.next_tensor() {
        let trail = walk.trail();
        let info = info(trail.clone().into(), payload, limits);
        tensors.push(info.map_err(|error| error.at(cursor.offset_of(position)).within(|| trail.to_string()))?);
    }
    match walk.fault() {
        None => {}
        Some(Fault::Depth(at)) => {
            let message = format!("the value nests deeper than the limit of {}", limits.depth);
            return Err(Error::limit(message).at(cursor.offset_of(at)));
        }
        Some(Fault::Some(at)) => {
            let message = "an ext 0x53 holds more or less than one value";
            return Err(Error::syntax(message).at(cursor.offset_of(at)));
        }
    }
    Ok(Inspection {
        tensors,
        body_len: body.len(),
        segments,
    })
}

fn info(path: Path, payload: &[u8], limits: &Limits) -> Result<TensorInfo> {
    let (fields, place) = descriptor::split(payload)?;
    let descriptor = Descriptor::read(&mut &*fields, limits.rank)?;
    Ok(TensorInfo {
        path,
        bytes: descriptor.data_len()?,
        dtype: descriptor.dtype,
        shape: descriptor.shape,
        strides: descriptor.strides,
        device: descriptor.device,
        requires_grad: descriptor.requires_grad,
        pin: match descriptor.pin {
            Pin::None => Placement::Auto,
            Pin::KeepCpu => Placement::KeepCpu,
            Pin::Source => Placement::Source,
        },
        segment: match place {
            Place::Inline(_) => None,
            Place::Segment { index, .. } => Some(index),
        },
    })
}

impl Inspection {
    /// The tensors, in the order of the message.
    pub fn tensors(&self) -> &[TensorInfo] {
        &self.tensors
    }

    /// The length in bytes of the part that is MessagePack.
    pub fn body_len(&self) -> usize {
        self.body_len
    }

    /// How many segments the frame has; `None` for a plain message.
    pub fn segments(&self) -> Option<usize> {
        self.segments
    }
}

impl TensorInfo {
    /// Where it is in the value, such as `layers[3].weight`.
    pub fn path(&self) -> &str {
        self.path.as_str()
    }

    /// Its element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Its dims.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Its strides in elements, where its data is not row-major.
    pub fn strides(&self) -> Option<&[usize]> {
        self.strides.as_deref()
    }

    /// The device that it was on.
    pub fn device(&self) -> Device {
        self.device
    }

    /// Whether it required a gradient.
    pub fn requires_grad(&self) -> bool {
        self.requires_grad
    }

    /// Where its sender asks for it: [`Placement::Auto`] if that says nothing.
    pub fn pin(&self) -> Placement {
        self.pin
    }

    /// The length of its data in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The segment that its data is in; `None` where it is inline.
    pub fn segment(&self) -> Option<u64> {
        self.segment
    }
}

impl fmt::Display for TensorInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {}{:?} on {}, {} bytes",
            self.path(),
            self.dtype,
            self.shape,
            self.device,
            self.bytes
        )
    }
}
