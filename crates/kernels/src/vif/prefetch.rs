//! Hints that memory will be read.
#![allow(unsafe_code, reason = "the instruction takes a pointer")]

use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

/// Starts to fetch `samples` into the first-level cache. A strip jumps from row to row, which processors do not foresee.
#[inline]
pub(super) fn prefetch<T>(samples: &[T]) {
    const LINE: usize = 64;
    for line in samples.chunks(LINE / size_of::<T>()) {
        // SAFETY: the instruction has no effect on values, whatever the address, and here it is that of a sample.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
}
