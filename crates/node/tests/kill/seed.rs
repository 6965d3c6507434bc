//! Reproducible random numbers.

/// `SplitMix64`.
pub(crate) struct Seed(u64);

impl Seed {
    /// `VMAFX_TEST_SEED` if it is set, otherwise a constant.
    pub(crate) fn from_environment() -> Self {
        let chosen = std::env::var("VMAFX_TEST_SEED").ok().and_then(|text| text.parse().ok());
        let seed = chosen.unwrap_or(20_260_411);
        eprintln!("VMAFX_TEST_SEED={seed}");
        Self(seed)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        usize::try_from(mixed % u64::try_from(bound).unwrap()).unwrap()
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}
