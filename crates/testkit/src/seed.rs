//! Reproducible random numbers.

/// `SplitMix64`.
#[derive(Debug, Clone)]
pub struct Seed(u64);

impl Seed {
    /// `VMAFX_TEST_SEED` if it is set, otherwise a constant. Prints the seed, so that a failure can be reproduced.
    pub fn from_environment() -> Self {
        let chosen = std::env::var("VMAFX_TEST_SEED").ok().and_then(|text| text.parse().ok());
        let seed = chosen.unwrap_or(20_260_411);
        eprintln!("VMAFX_TEST_SEED={seed}");
        Self(seed)
    }

    /// An independent sequence.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self(self.next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which must not be zero.
    pub fn below(&mut self, bound: usize) -> usize {
        // The remainder is less than `bound`, so it fits.
        usize::try_from(self.next() % bound as u64).unwrap_or_default()
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}
