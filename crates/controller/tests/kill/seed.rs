//! Numbers that look random and come again when the seed does.

/// `SplitMix64`.
#[derive(Clone)]
pub(crate) struct Seed(u64);

impl Seed {
    /// The one that the environment names (`VMAFX_TEST_SEED`), else always the same.
    pub(crate) fn chosen() -> Self {
        let chosen = std::env::var("VMAFX_TEST_SEED").ok().and_then(|text| text.parse().ok());
        let seed = chosen.unwrap_or(20_260_411);
        eprintln!("VMAFX_TEST_SEED={seed}");
        Self(seed)
    }

    /// Another sequence, for somebody else.
    pub(crate) fn fork(&mut self) -> Self {
        Self(self.next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).unwrap();
        usize::try_from(self.next() % bound).unwrap()
    }
}
