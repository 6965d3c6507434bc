//! A random number generator whose whole state is one number, so that a checkpoint can store it.

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SplitMix64(u64);

const INCREMENT: u64 = 0x9e37_79b9_7f4a_7c15;

impl SplitMix64 {
    /// `state` is a seed, or what [`state`](Self::state) returned earlier.
    pub(crate) const fn new(state: u64) -> Self {
        Self(state)
    }

    pub(super) const fn state(&self) -> u64 {
        self.0
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(INCREMENT);
        mix(self.0)
    }

    /// A number below `limit`; zero if `limit` is zero. The distribution deviates from uniform by less than one part in
    /// 2^32.
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        let wide = u128::from(self.next()) * u128::from(limit);
        u64::try_from(wide >> 64).unwrap_or(0)
    }

    /// Reservoir sampling: the index at which the `count`-th item of a stream enters a sample of `capacity` items, or
    /// `None` if it is not kept. Draws a number only once the sample is full.
    pub(super) fn reservoir_index(&mut self, count: u64, capacity: usize) -> Option<usize> {
        let before = count.saturating_sub(1);
        let index = if before < capacity as u64 { before } else { self.below(count) };
        usize::try_from(index).ok().filter(|index| *index < capacity)
    }

    pub(crate) fn shuffle<T>(&mut self, list: &mut [T]) {
        for end in (1..list.len()).rev() {
            let other = usize::try_from(self.below(end as u64 + 1)).unwrap_or(end);
            list.swap(end, other);
        }
    }
}

/// A seeded hash of a name: FNV-1a with a final mix, because the low bits of FNV-1a alone are not uniform enough.
pub(super) fn hash(seed: u64, name: &str) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325 ^ mix(seed);
    mix(name.bytes().fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)))
}

const fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_published_generator() {
        // The first outputs of SplitMix64 for the seed 1234567.
        let mut random = SplitMix64::new(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn a_saved_generator_continues_its_sequence() {
        let mut random = SplitMix64::new(7);
        random.below(10);
        let mut copy = SplitMix64::new(random.state());
        assert_eq!(
            (0..9).map(|_| random.below(1000)).collect::<Vec<_>>(),
            (0..9).map(|_| copy.below(1000)).collect::<Vec<_>>()
        );
    }

    #[test]
    fn numbers_are_about_uniform() {
        let mut random = SplitMix64::new(1);
        let mut drawn = [0_u32; 10];
        for _ in 0..10_000 {
            drawn[usize::try_from(random.below(10)).unwrap()] += 1;
        }
        assert!(drawn.iter().all(|count| (850..1150).contains(count)), "{drawn:?}");
        assert_eq!(random.below(0), 0);
    }

    #[test]
    fn a_reservoir_keeps_the_last_items_as_often_as_the_first() {
        let mut kept = [0_u32; 100];
        for seed in 0..2000 {
            let (mut random, mut list) = (SplitMix64::new(seed), Vec::new());
            for item in 0..100_usize {
                match random.reservoir_index(item as u64 + 1, 10) {
                    Some(index) if index < list.len() => list[index] = item,
                    Some(_) => list.push(item),
                    None => {}
                }
            }
            for item in list {
                kept[item] += 1;
            }
        }
        let (first, last) = (kept[..20].iter().sum::<u32>(), kept[80..].iter().sum::<u32>());
        assert!(first.abs_diff(last) < 400, "kept {first} of the first fifth and {last} of the last");
    }

    #[test]
    fn hashes_of_names_are_uniform_and_differ_by_seed() {
        let one_in_eight =
            |seed| (0..8000).filter(|job| hash(seed, &format!("job-{job}")).is_multiple_of(8)).count();
        assert!((900..1100).contains(&one_in_eight(0)), "{}", one_in_eight(0));
        assert_ne!(hash(0, "job-1"), hash(1, "job-1"));
    }
}
