//! Which segments can turn out to hold another tensor's bytes.

use std::collections::BTreeMap;

use crate::backend::KeepAlive;
use crate::call::encode::Storage;
use crate::device::Device;
use crate::wire::to_u64;

/// Segments by the place of their bytes in memory.
#[derive(Default)]
pub(super) struct Ties {
    /// Those that begin behind all that were here before, as most do of tensors that were made in order. That is quickly seen, and a tree takes as
    /// long as writing a small tensor does.
    ascending: Vec<(Place, Tied)>,
    others: BTreeMap<Place, Tied>,
}

type Place = (Device, Storage);

/// A segment that other tensors may turn out to share.
struct Tied {
    end: u64,
    index: u64,
    /// Keeps the storage alive, so that nothing else can come to lie at its address; or says that it does not any more.
    owner: Box<dyn KeepAlive>,
}

impl Ties {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.ascending.is_empty()
    }

    /// Adds the segment of `len` bytes at a place, which `owner` keeps from being used anew.
    pub(super) fn insert(
        &mut self,
        device: Device,
        storage: Storage,
        len: usize,
        index: u64,
        owner: Box<dyn KeepAlive>,
    ) {
        let Some(end) = storage.address.checked_add(to_u64(len)) else {
            return;
        };
        let place = (device, storage);
        let tied = Tied { end, index, owner };
        if self.ascending.last().is_none_or(|(last, _)| *last < place) {
            self.ascending.push((place, tied));
        } else {
            self.others.insert(place, tied);
        }
    }

    /// The segment, and the offset in it, that holds `len` bytes at a place.
    pub(super) fn find(&self, device: Device, storage: Storage, len: usize) -> Option<(u64, u64)> {
        let place = (device, storage);
        let end = storage.address.checked_add(to_u64(len))?;
        let offset = |&((on, start), tied): &(Place, &Tied)| {
            let holds = on == device && start.space == storage.space && end <= tied.end && tied.owner.is_at(start);
            holds.then(|| (tied.index, storage.address - start.address))
        };
        // In each, the segment that begins last before the place.
        let other = self
            .others
            .range(..=place)
            .next_back()
            .map(|(start, tied)| (*start, tied));
        other.as_ref().and_then(offset).or_else(|| {
            let behind = match self.ascending.last() {
                Some((last, _)) if *last <= place => self.ascending.len(),
                _ => self.ascending.partition_point(|(start, _)| *start <= place),
            };
            let (start, tied) = self.ascending.get(behind.checked_sub(1)?)?;
            offset(&(*start, tied))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;

    fn at(address: u64) -> Storage {
        Storage { space: 0, address }
    }

    fn check(ties: &Ties, address: u64, index: u64) {
        assert_eq!(ties.find(Device::Cpu, at(address), 100), Some((index, 0)));
        assert_eq!(ties.find(Device::Cpu, at(address + 40), 60), Some((index, 40)));
        assert_eq!(ties.find(Device::Cpu, at(address + 40), 61), None);
        assert_eq!(ties.find(Device::Cpu, at(address + 100), 1), None);
        assert_eq!(ties.find(Device::Cpu, at(address - 1), 2), None);
        assert_eq!(ties.find(Device::Cuda(0), at(address), 100), None);
        let elsewhere = Storage {
            space: 1,
            ..at(address)
        };
        assert_eq!(ties.find(Device::Cpu, elsewhere, 100), None);
    }

    #[test]
    fn what_lies_inside_a_segment_is_found_in_whatever_order_they_came() {
        for step in [1, 7, 22] {
            let mut ties = Ties::default();
            assert!(ties.is_empty());
            for count in 0..23 {
                let address = |index: u64| 1000 * (1 + index * step % 23);
                ties.insert(Device::Cpu, at(address(count)), 100, count, Box::new(Rc::new(())));
                (0..=count).for_each(|index| check(&ties, address(index), index));
            }
            assert!(!ties.is_empty());
        }
    }

    #[test]
    fn a_place_that_is_not_kept_any_more_ties_nothing_and_can_be_taken_anew() {
        struct Kept(Rc<Cell<bool>>);
        impl KeepAlive for Kept {
            fn is_at(&self, storage: Storage) -> bool {
                assert_eq!(storage, at(1000), "where the segment begins");
                self.0.get()
            }
        }
        let kept = Rc::new(Cell::new(true));
        let mut ties = Ties::default();
        ties.insert(Device::Cpu, at(1000), 100, 0, Box::new(Kept(Rc::clone(&kept))));
        check(&ties, 1000, 0);
        kept.set(false);
        assert_eq!(ties.find(Device::Cpu, at(1000), 100), None);
        ties.insert(Device::Cpu, at(1000), 100, 1, Box::new(Rc::new(())));
        check(&ties, 1000, 1);
    }
}
