//! An allocator that counts, for tests in binaries of their own.
//!
//! The counters are per thread, so tests that run at once do not disturb each other, and what another thread frees is not seen.

#![allow(unsafe_code, reason = "a counting allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

pub(crate) struct Counting;

thread_local! {
    static NOW: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
    static LARGEST: Cell<usize> = const { Cell::new(0) };
    static CALLS: Cell<usize> = const { Cell::new(0) };
    /// The longest piece of memory that there is when one is made longer, in bytes.
    static LONGEST: Cell<usize> = const { Cell::new(usize::MAX) };
}

fn note(change: isize, asked: usize) {
    // A thread that is ending has no counters any more.
    let _ = NOW.try_with(|now| {
        now.set(now.get() + change);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(now.get())));
        let _ = LARGEST.try_with(|largest| largest.set(largest.get().max(asked)));
        let _ = CALLS.try_with(|calls| calls.set(calls.get() + usize::from(asked > 0)));
    });
}

// SAFETY: every call goes to the system's allocator as it is, or fails as it may; the counters are per thread and allocate nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size().cast_signed(), layout.size());
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size().cast_signed(), layout.size());
        // SAFETY: the caller's.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        note(-layout.size().cast_signed(), 0);
        // SAFETY: the caller's.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if LONGEST.try_with(Cell::get).is_ok_and(|longest| size > longest) {
            return std::ptr::null_mut();
        }
        note(size.cast_signed() - layout.size().cast_signed(), size);
        // SAFETY: the caller's.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// What the heap did on this thread.
pub(crate) struct Heap {
    /// By how many bytes it grew at most.
    pub(crate) peak: usize,
    /// By how many bytes it was larger at the end.
    pub(crate) kept: isize,
    /// The largest size that was asked for, in bytes.
    pub(crate) largest: usize,
    /// How often memory was asked for.
    pub(crate) calls: usize,
}

/// Runs `body` on this thread: its result, and what the heap did meanwhile.
pub(crate) fn watch<R>(body: impl FnOnce() -> R) -> (R, Heap) {
    let (before, calls) = (NOW.get(), CALLS.get());
    PEAK.set(before);
    LARGEST.set(0);
    let result = body();
    let heap = Heap {
        peak: usize::try_from(PEAK.get() - before).unwrap_or(0),
        kept: NOW.get() - before,
        largest: LARGEST.get(),
        calls: CALLS.get() - calls,
    };
    (result, heap)
}

/// Runs `body` on this thread while no piece of memory can be made longer than `longest` bytes.
pub(crate) fn within<R>(longest: usize, body: impl FnOnce() -> R) -> R {
    LONGEST.set(longest);
    let result = body();
    LONGEST.set(usize::MAX);
    result
}
