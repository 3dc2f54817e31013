//! Bytes on their way between the host and a device: all of them pass here, and are counted in tests.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use ::tch::{Kind, Tensor};

use super::arena::Arena;
use super::import::refused;
use super::staging::Staging;
use super::{devices, signed};
use crate::backend::Segment;
use crate::{Device, Error, Result};

/// How much one transfer moves at most. What is more goes in several, through the same staging memory.
const STAGE: usize = if cfg!(test) { 1 << 20 } else { 64 << 20 };

/// Where segments begin in a device's memory: at multiples of this, which suits every element.
const ALIGN: usize = 64;

/// Host memory that transfers go through, made for the first of them and then reused: pinned, where libtorch can.
static STAGING: Mutex<Option<Staging>> = Mutex::new(None);

/// A device as libtorch is told, and as this crate knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Target {
    pub(super) device: Device,
    tch: ::tch::Device,
}

impl Target {
    pub(super) fn of(device: Device) -> Result<Self> {
        let tch = devices::to_tch(device)?;
        Ok(Self { device, tch })
    }

    /// Whether it has memory of its own.
    pub(super) fn is_remote(self) -> bool {
        !self.device.is_cpu()
    }
}

/// Moves a small tensor that nobody else has to a device, by itself.
pub(super) fn send(tensor: &Tensor, kind: Kind, to: Target) -> Result<Tensor> {
    count(tensor.numel() * kind.elt_size_in_bytes());
    tensor.f_to_device_(to.tch, kind, false, true).map_err(refused)
}

/// Copies segments to a device, in one piece of its memory: a flat tensor of bytes, and where in it each begins.
pub(super) fn send_segments(
    segments: &[Segment<'_>],
    arena: Option<&Arena>,
    to: Target,
) -> Result<(Tensor, Vec<usize>)> {
    let (starts, len) = lay_out(segments)?;
    let memory = Tensor::f_empty([signed(len)?], (Kind::Uint8, to.tch)).map_err(refused)?;
    let mut place = STAGING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut staging = stage(place.take(), len.min(STAGE), to)?;
    for from in (0..len).step_by(STAGE) {
        let window = from..len.min(from + STAGE);
        for (segment, &start) in segments.iter().zip(&starts) {
            fill(&mut staging, &window, segment, start, arena)?;
        }
        let part = memory.f_narrow(0, signed(from)?, signed(window.len())?);
        count(window.len());
        staging.send(&mut part.map_err(refused)?)?;
    }
    *place = Some(staging);
    Ok((memory, starts))
}

/// Where in one piece of memory each segment begins, and the length of all.
fn lay_out(segments: &[Segment<'_>]) -> Result<(Vec<usize>, usize)> {
    let mut end = 0usize;
    let mut starts = Vec::with_capacity(segments.len());
    for segment in segments {
        starts.push(end);
        end = end
            .checked_add(segment.len())
            .and_then(|end| end.checked_next_multiple_of(ALIGN))
            .ok_or_else(|| Error::limit("segments longer than the address space"))?;
    }
    Ok((starts, end))
}

/// Staging memory of at least `len` bytes: what there is, or new.
fn stage(there: Option<Staging>, len: usize, to: Target) -> Result<Staging> {
    if let Some(staging) = there.filter(|staging| staging.len() >= len) {
        return Ok(staging);
    }
    Staging::new(len.next_power_of_two().min(STAGE), to.tch)
}

/// Copies the part of a segment that lies in a window of the device's memory into the staging memory.
fn fill(
    staging: &mut Staging,
    window: &Range<usize>,
    segment: &Segment<'_>,
    start: usize,
    arena: Option<&Arena>,
) -> Result<()> {
    let (from, to) = (start.max(window.start), (start + segment.len()).min(window.end));
    if from >= to {
        return Ok(());
    }
    let part = from - start..to - start;
    match (segment.bytes(), arena) {
        (Some(bytes), _) => staging.write(from - window.start, &bytes[part]),
        (None, Some(arena)) => {
            let bytes = arena.part(segment.start() + part.start, part.len())?;
            staging.copy(from - window.start, &bytes)
        }
        (None, None) => Err(Error::backend("a segment whose bytes are nowhere")),
    }
}

/// Brings a tensor that nobody else has to the host.
pub(super) fn fetch(tensor: &Tensor) -> Result<Tensor> {
    let kind = tensor.f_kind().map_err(refused)?;
    count(tensor.numel() * kind.elt_size_in_bytes());
    tensor
        .f_to_device_(::tch::Device::Cpu, kind, false, false)
        .map_err(refused)
}

#[cfg(test)]
thread_local! {
    /// How many transfers there were, and of how many bytes.
    static MOVED: std::cell::Cell<(usize, usize)> = const { std::cell::Cell::new((0, 0)) };
}

/// Counts a transfer between the host and a device, in tests.
pub(super) fn count(bytes: usize) {
    #[cfg(test)]
    MOVED.set((MOVED.get().0 + 1, MOVED.get().1 + bytes));
    #[cfg(not(test))]
    let _ = bytes;
}

/// How many transfers a function makes, and how many bytes they move.
#[cfg(test)]
pub(super) fn counted<R>(run: impl FnOnce() -> R) -> (R, (usize, usize)) {
    let before = MOVED.replace((0, 0));
    let result = run();
    (result, MOVED.replace(before))
}
