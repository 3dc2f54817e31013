//! The memory that tensors of one message share, for as long as the call lasts: what names one segment shares memory, as it did
//! where it came from.

use std::collections::HashMap;

use ::tch::{Kind, Tensor};

use super::arena::Arena;
use super::import::Wanted;
use super::transfer::{self, Target};
use super::{fault, memory, signed};
use crate::Result;
use crate::backend::{Import, Segment};

/// A region is viewed as elements of up to 16 bytes, so its length is a multiple of that.
const UNIT: usize = 16;

/// A segment, by where it begins in the message and how long it is, and a device. An empty one may begin where the next does.
type Key = (usize, usize, Target);

/// The memory of a message's tensors.
#[derive(Default)]
pub(super) struct Segments {
    /// Where a segment is on a device: which region, and where in it.
    places: HashMap<Key, (usize, usize)>,
    regions: Vec<Region>,
    /// The message's own memory.
    message: Option<Region>,
}

/// A piece of memory that tensors show.
struct Region {
    /// What holds it, from the first byte on: a tensor of bytes, or one that is all of it.
    memory: Tensor,
    /// Where the memory was when it was made. Code that runs while a value is decoded may give the tensor another.
    address: usize,
    /// How many elements of the memory's kind there are.
    elements: usize,
    /// Of few regions: most have one name.
    shared: Option<Box<Shared>>,
}

/// What a region of several names needs.
#[derive(Default)]
struct Shared {
    /// The memory, flat, as elements of each kind that was asked for.
    flat: Vec<(Kind, Tensor)>,
    /// Tensors that require a gradient, by their offset and what was wanted: another name for one of them is the same
    /// tensor, so that it has the same gradient.
    leaves: HashMap<(usize, Wanted), Tensor>,
}

impl Segments {
    /// A tensor of the bytes at `offset` of the message's own memory.
    pub(super) fn in_message(
        &mut self,
        wanted: &Wanted,
        arena: &Arena,
        offset: usize,
        import: &Import<'_>,
    ) -> Result<Tensor> {
        let region = match &mut self.message {
            Some(region) => region,
            None => {
                let (memory, len) = arena.memory();
                self.message.insert(Region::new(
                    memory.shallow_clone(),
                    len.next_multiple_of(UNIT).min(memory.numel()),
                ))
            }
        };
        let again = wanted.requires_grad && import.segment().is_some();
        region.tensor(wanted, offset, again)
    }

    /// A tensor on the CPU of the bytes at `offset` of a segment that others name too.
    pub(super) fn tied(
        &mut self,
        wanted: &Wanted,
        segment: &Segment<'_>,
        bytes: &[u8],
        offset: usize,
        import: &Import<'_>,
    ) -> Result<Tensor> {
        let key = key_of(segment, wanted.target);
        if let Some((region, start)) = self.region(key) {
            return region.tensor(wanted, start + offset, true);
        }
        if offset == 0 && import.bytes().len() == segment.len() {
            let tensor = wanted.copy(import)?;
            let mut region = Region::new(tensor.shallow_clone(), segment.len() / wanted.element);
            region.note_leaf(wanted, offset, &tensor);
            self.insert([(key, 0)], region);
            return Ok(tensor);
        }
        import.account(segment.len())?;
        let len = segment.len().next_multiple_of(UNIT);
        let mut region = Region::new(memory::filled(Kind::Uint8, &[signed(len)?], bytes)?, len);
        let tensor = region.tensor(wanted, offset, true)?;
        self.insert([(key, 0)], region);
        Ok(tensor)
    }

    /// A tensor on a device of the bytes at `offset` of a segment. `None` where it is to move by itself.
    pub(super) fn on_device(
        &mut self,
        wanted: &Wanted,
        segment: &Segment<'_>,
        offset: usize,
        import: &Import<'_>,
    ) -> Result<Option<Tensor>> {
        let key = key_of(segment, wanted.target);
        let again = || wanted.requires_grad && import.segment().is_some();
        if let Some((region, start)) = self.region(key) {
            return region.tensor(wanted, start + offset, again()).map(Some);
        }
        // What moved already with others stays where it is.
        let mut group = import.transfer::<Tensor>();
        group.retain(|segment| !self.places.contains_key(&key_of(segment, wanted.target)));
        if group.is_empty() && import.segment().is_some() {
            group.push(*segment);
        }
        if group.is_empty() {
            return Ok(None);
        }
        import.account(group.iter().map(Segment::len).sum())?;
        let arena = import.memory::<Arena>().map(|(arena, _)| arena);
        let (memory, starts) = transfer::send_segments(&group, arena, wanted.target)?;
        let len = memory.numel();
        let keys = group.iter().map(|segment| key_of(segment, wanted.target)).zip(starts);
        self.insert(keys, Region::new(memory, len));
        match self.region(key) {
            Some((region, start)) => region.tensor(wanted, start + offset, again()).map(Some),
            None => Ok(None),
        }
    }

    fn region(&mut self, key: Key) -> Option<(&mut Region, usize)> {
        let &(region, start) = self.places.get(&key)?;
        let region = self.regions.get_mut(region).filter(|region| region.is_in_place())?;
        Some((region, start))
    }

    fn insert(&mut self, keys: impl IntoIterator<Item = (Key, usize)>, region: Region) {
        let at = self.regions.len();
        self.regions.push(region);
        self.places
            .extend(keys.into_iter().map(|(key, start)| (key, (at, start))));
    }
}

fn key_of(segment: &Segment<'_>, target: Target) -> Key {
    (segment.start(), segment.len(), target)
}

impl Region {
    fn new(memory: Tensor, elements: usize) -> Self {
        Self {
            address: memory.data_ptr().addr(),
            memory,
            elements,
            shared: None,
        }
    }

    fn is_in_place(&self) -> bool {
        self.memory.defined() && self.memory.data_ptr().addr() == self.address
    }

    /// A tensor at an offset in bytes, which is a multiple of its element's size. `again`: the same one may be asked for again.
    fn tensor(&mut self, wanted: &Wanted, offset: usize, again: bool) -> Result<Tensor> {
        if wanted.requires_grad
            && let Some(shared) = &self.shared
            && let Some(leaf) = shared.leaves.get(&(offset, wanted.clone()))
        {
            return Ok(leaf.shallow_clone());
        }
        let flat = self.flat(wanted.kind, wanted.element)?;
        let tensor = wanted.view(flat, offset / wanted.element)?;
        if again {
            self.note_leaf(wanted, offset, &tensor);
        }
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
