//! A value planned for sending: its exact length is known, and no tensor byte was copied.

#[cfg(unix)]
mod fd;
mod numbering;
mod owned;
mod segment;
mod sources;
mod survey;
mod write;

use std::ops::Range;

use bytes::Bytes;

#[cfg(all(test, unix, feature = "tch"))]
pub(crate) use fd::tests::Recorder;
pub(crate) use numbering::Numbering;
pub use owned::OwnedPlan;
pub(crate) use sources::Source;

use segment::Segment;

use crate::TensorSerialize;
use crate::call::planning::Planning;
use crate::error::{Error, Result};
use crate::ser::{Options, Serializer, State};
use crate::wire::frame::{ENTRY_LEN, Entry, HEADER_LEN, Header};
use crate::wire::{path, to_u64};

/// A value planned for sending: the body is encoded, tensors on the host are borrowed, the exact length is known.
///
/// In a frame the body comes first and the table behind it, so a receiver can allocate before the data arrives. Tensors whose bytes
/// overlap in memory travel as one segment, whatever their size, and only the bytes that they show do.
///
/// ```
/// use serde_tensor::{Plan, Tensor};
///
/// let weights = Tensor::from_elements(&[0.5f32; 1024], &[32, 32])?;
/// let plan = Plan::new(&weights)?;
/// assert_eq!(plan.copied(), 0);
/// let mut message = Vec::new();
/// plan.write_to(&mut message)?;
/// assert_eq!(message.len(), plan.len());
/// assert_eq!(serde_tensor::from_slice::<Tensor>(&message)?, weights);
/// # Ok::<(), serde_tensor::Error>(())
/// ```
///
/// The value is borrowed, so it cannot change between planning and writing:
///
/// ```compile_fail,E0502
/// use serde_tensor::Plan;
///
/// let mut value = (vec![0.5f32; 1024], "weights");
/// let plan = Plan::new(&value)?;
/// value.0[0] = 1.0;
/// plan.write_to(Vec::new())?;
/// # Ok::<(), serde_tensor::Error>(())
/// ```
pub struct Plan<'a> {
    /// A plain message; or header, body and table of a frame.
    front: Bytes,
    /// The part of it that is the body.
    body: Range<usize>,
    segments: Vec<Segment<'a>>,
    len: usize,
    copied: usize,
}

impl<'a> Plan<'a> {
    /// Plans a value with the default options; [`Encoder::plan`](crate::Encoder::plan) takes others.
    ///
    /// # Errors
    ///
    /// What encoding the value would give: a tensor that cannot travel, a limit, an error of the value's own.
    pub fn new<T: ?Sized + TensorSerialize>(value: &'a T) -> Result<Self> {
        Self::with_options(value, &Options::default())
    }

    pub(crate) fn with_options<T: ?Sized + TensorSerialize>(value: &'a T, options: &Options) -> Result<Self> {
        let planning = Planning::begin();
        let numbering = survey::survey(value, options)?;
        let mut serializer: Serializer<'_> = Serializer::over(State::planned(options.clone(), numbering));
        planning.encode();
        value
            .serialize_tensors(&mut serializer)
            .map_err(|error| serializer.locate(error))?;
        let (body, segments) = serializer.into_state().into_plan();
        if body.is_empty() {
            return Err(Error::data("no value was serialized"));
        }
        let segments = segments.map(Numbering::into_segments).unwrap_or_default();
        let copied = segments.iter().map(Segment::copied).sum();
        if segments.is_empty() && !options.framed {
            return Ok(Self {
                len: body.len(),
                body: 0..body.len(),
                front: body.into(),
                segments,
                copied,
            });
        }
        frame(&body, segments, copied, options)
    }

    /// The exact length of the message, in bytes.
    #[expect(clippy::len_without_is_empty, reason = "a message is never empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// How many bytes of tensors the plan holds copies of: those of fields that are not marked `#[tensor]`, and all under
    /// [`Encoder::snapshot`](crate::Encoder::snapshot). Inline tensors are a part of the body and do not count.
    pub fn copied(&self) -> usize {
        self.copied
    }

    /// Whether the message is a frame, not a plain MessagePack value.
    pub fn is_frame(&self) -> bool {
        self.front.first() == Some(&crate::wire::frame::MAGIC[0])
    }
}

/// Lays out a frame: header, body, table, data.
fn frame<'a>(body: &[u8], mut segments: Vec<Segment<'a>>, copied: usize, options: &Options) -> Result<Plan<'a>> {
    let align = 1usize << options.align;
    let table_len = segments.len().checked_mul(ENTRY_LEN);
    let front_len = table_len.and_then(|len| len.checked_add(HEADER_LEN)?.checked_add(body.len()));
    let data_offset = front_len
        .and_then(|len| len.checked_next_multiple_of(align))
        .ok_or_else(too_long)?;
    let mut table = Vec::with_capacity(segments.len() * ENTRY_LEN);
    let mut end = data_offset;
    for segment in &mut segments {
        segment.offset = end.checked_next_multiple_of(align).ok_or_else(too_long)?;
        end = segment.offset.checked_add(segment.len).ok_or_else(too_long)?;
        let entry = Entry {
            offset: to_u64(segment.offset),
            len: to_u64(segment.len),
            checksum: if options.checksums {
                let at = segment.named_at;
                segment
                    .checksum()
                    .map_err(|error| error.within(|| path::locate(body, at).0))?
            } else {
                0
            },
        };
        entry.write(&mut table);
    }
    let header = Header {
        checksums: options.checksums,
        align: options.align,
        frame_len: to_u64(end),
        body_offset: to_u64(HEADER_LEN),
        body_len: to_u64(body.len()),
        table_offset: to_u64(HEADER_LEN + body.len()),
        segments: u32::try_from(segments.len()).map_err(|_| too_long())?,
        data_offset: to_u64(data_offset),
        data_len: to_u64(end - data_offset),
        checksum: 0,
    };
    let mut front = Vec::with_capacity(HEADER_LEN + body.len() + table.len());
    front.extend_from_slice(&header.write(body, &table));
    front.extend_from_slice(body);
    front.extend_from_slice(&table);
    Ok(Plan {
        body: HEADER_LEN..HEADER_LEN + body.len(),
        front: front.into(),
        segments,
        len: end,
        copied,
    })
}

#[cold]
fn too_long() -> Error {
    Error::limit("a message longer than the address space")
}
