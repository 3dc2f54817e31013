//! Which segments can turn out to hold another tensor's bytes.

use std::any::Any;
use std::collections::BTreeMap;
use std::mem;

use crate::call::encode::Storage;
use crate::device::Device;
use crate::wire::to_u64;

/// How many segments are searched one by one. A message of a few tensors needs no tree, which takes as long as writing a tensor does.
const FEW: usize = 8;

/// Segments by the place of their bytes in memory.
#[derive(Default)]
pub(super) struct Ties {
    few: Vec<((Device, Storage), Tied)>,
    /// All, once there are more than a few.
    many: BTreeMap<(Device, Storage), Tied>,
}

/// A segment that other tensors may turn out to share.
struct Tied {
    end: u64,
    index: u64,
    /// Keeps the storage alive, so that nothing else can come to lie at its address.
    _owner: Box<dyn Any>,
}

impl Ties {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.few.is_empty() && self.many.is_empty()
    }

    /// Adds the segment of `len` bytes at a place, which `owner` keeps from being used anew.
    pub(super) fn insert(&mut self, device: Device, storage: Storage, len: usize, index: u64, owner: Box<dyn Any>) {
        let Some(end) = storage.address.checked_add(to_u64(len)) else {
            return;
        };
        let tied = Tied {
            end,
            index,
            _owner: owner,
        };
        if self.many.is_empty() && self.few.len() < FEW {
            self.few.push(((device, storage), tied));
            return;
        }
        self.many.extend(mem::take(&mut self.few));
        self.many.insert((device, storage), tied);
    }

    /// The segment, and the offset in it, that holds `len` bytes at a place.
    pub(super) fn find(&self, device: Device, storage: Storage, len: usize) -> Option<(u64, u64)> {
        let before = |&(on, start): &(Device, Storage)| {
            on == device && start.space == storage.space && start.address <= storage.address
        };
        // The segment that begins last before the place; of two that begin there, the later one.
        let (place, tied) = if self.many.is_empty() {
            let few = self.few.iter().filter(|(place, _)| before(place));
            few.max_by_key(|(place, _)| place.1.address)
                .map(|(place, tied)| (place, tied))?
        } else {
            let last = self.many.range(..=(device, storage)).next_back();
            last.filter(|(place, _)| before(place))?
        };
        let end = storage.address.checked_add(to_u64(len))?;
        (end <= tied.end).then(|| (tied.index, storage.address - place.1.address))
    }
}

#[cfg(test)]
mod tests {
    use super::{Device, FEW, Storage, Ties, to_u64};

    fn at(address: u64) -> Storage {
        Storage { space: 0, address }
    }

    #[test]
    fn what_lies_inside_a_segment_is_found_among_few_and_many() {
        let mut ties = Ties::default();
        assert!(ties.is_empty());
        for count in 0..3 * to_u64(FEW) {
            ties.insert(Device::Cpu, at(1000 * count), 100, count, Box::new(()));
            for index in 0..=count {
                assert_eq!(ties.find(Device::Cpu, at(1000 * index), 100), Some((index, 0)));
                assert_eq!(ties.find(Device::Cpu, at(1000 * index + 40), 60), Some((index, 40)));
                assert_eq!(ties.find(Device::Cpu, at(1000 * index + 40), 61), None);
                assert_eq!(ties.find(Device::Cpu, at(1000 * index + 100), 1), None);
                assert_eq!(ties.find(Device::Cuda(0), at(1000 * index), 100), None);
                let elsewhere = Storage {
                    space: 1,
                    ..at(1000 * index)
                };
                assert_eq!(ties.find(Device::Cpu, elsewhere, 100), None);
            }
        }
        assert!(!ties.is_empty());
    }
}
