//! The segments of a message that tensors were made from, for as long as the call lasts: what names one segment shares
//! memory, as it did where it came from.

use std::collections::HashMap;

use ::tch::{Device, Kind, Tensor};

use super::import::{Wanted, refused};
use super::{fault, memory, signed};
use crate::Result;
use crate::backend::Import;

/// An arena is viewed as elements of up to 16 bytes, so its length is a multiple of that.
const ARENA_UNIT: usize = 16;

/// By the address of a segment's bytes in the message, their number, and the device.
#[derive(Default)]
pub(super) struct Segments(HashMap<(usize, usize, Device), Segment>);

/// A segment that arrived on a device.
struct Segment {
    /// What holds its memory, from the first byte on: an arena, or a tensor that is all of it.
    memory: Tensor,
    /// Where the memory was when it was made. Code that runs while a value is decoded may give the tensor another.
    address: usize,
    /// How many elements of the memory's kind there are.
    elements: usize,
    /// Of few segments: most have one name.
    shared: Option<Box<Shared>>,
}

/// What a segment of several names needs.
#[derive(Default)]
struct Shared {
    /// The memory, flat, as elements of each kind that was asked for.
    flat: Vec<(Kind, Tensor)>,
    /// Tensors that require a gradient, by their offset and what was wanted: another name for one of them is the same
    /// tensor, so that it has the same gradient.
    leaves: HashMap<(usize, Wanted), Tensor>,
}

impl Segments {
    /// A tensor of the `bytes` at `offset` of a segment.
    pub(super) fn tensor(
        &mut self,
        wanted: &Wanted,
        segment: &[u8],
        offset: usize,
        import: &Import<'_>,
    ) -> Result<Tensor> {
        // Elements lie at multiples of their size in libtorch's memory, as they did where they came from; in a segment that
        // another tensor begins they need not.
        if !offset.is_multiple_of(wanted.element) {
            return wanted.copy(import);
        }
        let key = (segment.as_ptr().addr(), segment.len(), wanted.device);
        if let Some(known) = self.0.get_mut(&key).filter(|known| known.is_in_place()) {
            return known.tensor(wanted, offset);
        }
        if offset == 0 && import.bytes().len() == segment.len() {
            let tensor = wanted.copy(import)?;
            let mut known = Segment::new(tensor.shallow_clone(), segment.len() / wanted.element);
            known.note_leaf(wanted, offset, &tensor);
            self.0.insert(key, known);
            return Ok(tensor);
        }
        import.account(segment.len())?;
        let mut known = Segment::arena(segment, wanted.device)?;
        let tensor = known.tensor(wanted, offset)?;
        self.0.insert(key, known);
        Ok(tensor)
    }
}

impl Segment {
    fn new(memory: Tensor, elements: usize) -> Self {
        Self {
            address: memory.data_ptr().addr(),
            memory,
            elements,
            shared: None,
        }
    }

    fn arena(segment: &[u8], device: Device) -> Result<Self> {
        let len = segment.len().next_multiple_of(ARENA_UNIT);
        let mut memory = memory::filled(Kind::Uint8, &[signed(len)?], segment)?;
        if device != Device::Cpu {
            memory = memory
                .f_to_device_(device, Kind::Uint8, false, false)
                .map_err(refused)?;
        }
        Ok(Self::new(memory, len))
    }

    fn is_in_place(&self) -> bool {
        self.memory.defined() && self.memory.data_ptr().addr() == self.address
    }

    fn tensor(&mut self, wanted: &Wanted, offset: usize) -> Result<Tensor> {
        if wanted.requires_grad
            && let Some(shared) = &self.shared
            && let Some(leaf) = shared.leaves.get(&(offset, wanted.clone()))
        {
            return Ok(leaf.shallow_clone());
        }
        let flat = self.flat(wanted.kind, wanted.element)?;
        let tensor = wanted.view(flat, offset / wanted.element)?;
        self.note_leaf(wanted, offset, &tensor);
        Ok(tensor)
    }

    fn note_leaf(&mut self, wanted: &Wanted, offset: usize, tensor: &Tensor) {
        if wanted.requires_grad {
            let shared = self.shared.get_or_insert_default();
            shared.leaves.insert((offset, wanted.clone()), tensor.shallow_clone());
        }
    }

    /// The memory as elements of a kind in a row, as many as fit.
    fn flat(&mut self, kind: Kind, element: usize) -> Result<&Tensor> {
        let known = self.shared.iter().flat_map(|shared| &shared.flat);
        let at = match known.into_iter().position(|(known, _)| *known == kind) {
            Some(at) => at,
            None => {
                let view = self.view_as(kind, element);
                let view = view.map_err(|error| fault("libtorch cannot share the memory", error))?;
                let flat = &mut self.shared.get_or_insert_default().flat;
                flat.push((kind, view));
                flat.len() - 1
            }
        };
        Ok(&self.shared.get_or_insert_default().flat[at].1)
    }

    fn view_as(&self, kind: Kind, element: usize) -> std::result::Result<Tensor, ::tch::TchError> {
        let elements = i64::try_from(self.elements).unwrap_or(i64::MAX);
        let mut flat = self.memory.f_data()?;
        let _same = flat.f_as_strided_([elements], [1], 0)?;
        if flat.f_kind()? == kind {
            return Ok(flat);
        }
        let bytes = flat.f_view_dtype(Kind::Uint8)?;
        let len = bytes.size1()?;
        let element = i64::try_from(element).unwrap_or(1);
        bytes.f_narrow(0, 0, len - len % element)?.f_view_dtype(kind)
    }
}
