//! Large memory in large pages, where the system gives them to those who ask.

#![allow(unsafe_code, reason = "the system is told about memory by its address")]

use std::mem::MaybeUninit;

/// From how many bytes on the system is asked: of less, a large page would be too large a part.
#[cfg(all(target_os = "linux", not(miri)))]
const LARGE: usize = 4 << 20;

/// Says that what a vector has room for is about to be filled. Linux, where it is set to give large pages as `madvise` asks for them, then
/// takes one step for 2 MiB rather than for 4 KiB, and filling new memory about half the time. Elsewhere, and for little room, nothing happens.
///
/// Not for a vector that will grow: memory in large pages is not moved as easily.
pub(crate) fn expect_filling(bytes: &mut Vec<u8>) {
    expect_filling_of(bytes.spare_capacity_mut());
}

/// The same of any memory.
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) fn expect_filling_of(room: &mut [MaybeUninit<u8>]) {
    const SMALL_PAGE: usize = 4096;
    if room.len() < LARGE {
        return;
    }
    let start = room.as_mut_ptr();
    let skip = start.addr().next_multiple_of(SMALL_PAGE) - start.addr();
    let len = room.len() - skip;
    // SAFETY: `skip` is less than a page and `room` is longer, so both ends are in `room`; the system rounds the end up to that of
    // its page. Advice changes neither what is in memory nor who may use it. A system that has no large pages refuses it; one
    // whose pages are longer than 4 KiB may, too.
    unsafe { libc::madvise(start.add(skip).cast(), len, libc::MADV_HUGEPAGE) };
}

#[cfg(not(all(target_os = "linux", not(miri))))]
pub(crate) fn expect_filling_of(_: &mut [MaybeUninit<u8>]) {}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// Whether the mapping that holds an address was advised; `None` where the system does not say.
    fn is_advised(address: usize) -> Option<bool> {
        if !Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
            return None;
        }
        let maps = fs::read_to_string("/proc/self/smaps").ok()?;
        let mut inside = false;
        for line in maps.lines() {
            let first = line.split_whitespace().next()?;
            if let Some((start, end)) = first.split_once('-')
                && let (Ok(start), Ok(end)) = (usize::from_str_radix(start, 16), usize::from_str_radix(end, 16))
            {
                inside = (start..end).contains(&address);
            }
            if let Some(flags) = line.strip_prefix("VmFlags:").filter(|_| inside) {
                return Some(flags.split_whitespace().any(|flag| flag == "hg"));
            }
        }
        None
    }

    fn advised(bytes: &[u8], offset: usize) -> bool {
        is_advised(bytes.as_ptr().addr() + offset).unwrap_or_else(|| {
            println!("the system does not say what pages it was asked for");
            offset > 0
        })
    }

    #[test]
    fn large_room_is_asked_for_in_large_pages_and_its_content_stays() {
        // Longer than what an allocator keeps in its heap, so that nobody else's advice is seen.
        let mut bytes = Vec::with_capacity(40 << 20);
        bytes.extend([7; 5000]);
        expect_filling(&mut bytes);
        assert!(!advised(&bytes, 0), "what is filled already is left alone");
        assert!(advised(&bytes, 20 << 20));
        bytes.resize(40 << 20, 9);
        assert!(bytes[..5000].iter().all(|byte| *byte == 7) && bytes[5000..].iter().all(|byte| *byte == 9));
    }

    #[test]
    fn little_room_is_left_alone() {
        let mut bytes: Vec<u8> = Vec::with_capacity(40 << 20);
        bytes.resize((40 << 20) - LARGE + 1, 0);
        expect_filling(&mut bytes);
        assert!(!advised(&bytes, 0));
    }
}
