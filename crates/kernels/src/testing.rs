//! What the unit tests of kernels share.

use crate::{InstructionSet, dispatch::Avx2};

/// xorshift64*.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: usize) -> Self {
        Self(u64::try_from(seed).unwrap().wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// From 0 to less than `end`.
    pub(crate) fn below(&mut self, end: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
        u32::try_from((high * u64::from(end)) >> 32).unwrap()
    }

    pub(crate) fn sample(&mut self, end: u32) -> u16 {
        u16::try_from(self.below(end)).unwrap()
    }
}

/// `None` on a CPU without AVX2.
pub(crate) fn avx2() -> Option<Avx2> {
    Avx2::new(InstructionSet::Avx2)
}
