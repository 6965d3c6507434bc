//! Chance that can be saved and goes on where it was: `SplitMix64`, one number of state.

/// A source of chance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Random(u64);

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    /// The one that begins at this seed, or goes on from this state.
    pub(crate) const fn new(state: u64) -> Self {
        Self(state)
    }

    /// Where it is.
    pub(super) const fn state(&self) -> u64 {
        self.0
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// A number below `limit`, each as likely as any other but for less than one part in 2^32. Zero below zero.
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        let wide = u128::from(self.next()) * u128::from(limit);
        u64::try_from(wide >> 64).unwrap_or(0)
    }

    /// Where the `seen`-th of many goes in a list that keeps `capacity` of them, each as likely as any other; nothing
    /// if it is not kept. Draws only once the list is full.
    pub(super) fn place(&mut self, seen: u64, capacity: usize) -> Option<usize> {
        let before = seen.saturating_sub(1);
        let place = if before < capacity as u64 { before } else { self.below(seen) };
        usize::try_from(place).ok().filter(|place| *place < capacity)
    }

    /// Puts a list into an order of chance.
    pub(crate) fn shuffle<T>(&mut self, list: &mut [T]) {
        for end in (1..list.len()).rev() {
            let other = usize::try_from(self.below(end as u64 + 1)).unwrap_or(end);
            list.swap(end, other);
        }
    }
}

/// A number for a name under a seed, spread over all of its range.
pub(super) fn hash(seed: u64, name: &str) -> u64 {
    // FNV-1a, then mixed: its low bits alone are weak.
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
        let mut random = Random::new(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn a_saved_source_goes_on_where_it_was() {
        let mut random = Random::new(7);
        random.below(10);
        let mut copy = Random::new(random.state());
        assert_eq!(
            (0..9).map(|_| random.below(1000)).collect::<Vec<_>>(),
            (0..9).map(|_| copy.below(1000)).collect::<Vec<_>>()
        );
    }

    #[test]
    fn everything_is_about_as_likely() {
        let mut random = Random::new(1);
        let mut drawn = [0_u32; 10];
        for _ in 0..10_000 {
            drawn[usize::try_from(random.below(10)).unwrap()] += 1;
        }
        assert!(drawn.iter().all(|count| (850..1150).contains(count)), "{drawn:?}");
        assert_eq!(random.below(0), 0);
    }

    #[test]
    fn a_full_list_keeps_the_last_as_likely_as_the_first() {
        let mut kept = [0_u32; 100];
        for seed in 0..2000 {
            let (mut random, mut list) = (Random::new(seed), Vec::new());
            for item in 0..100_usize {
                match random.place(item as u64 + 1, 10) {
                    Some(place) if place < list.len() => list[place] = item,
                    Some(_) => list.push(item),
                    None => {}
                }
            }
            for item in list {
                kept[item] += 1;
            }
        }
        let (first, last) = (kept[..20].iter().sum::<u32>(), kept[80..].iter().sum::<u32>());
        assert!(first.abs_diff(last) < 400, "{first} of the first fifth and {last} of the last");
    }

    #[test]
    fn names_spread_over_all_numbers_and_differ_by_seed() {
        let one_in_eight =
            |seed| (0..8000).filter(|job| hash(seed, &format!("job-{job}")).is_multiple_of(8)).count();
        assert!((900..1100).contains(&one_in_eight(0)), "{}", one_in_eight(0));
        assert_ne!(hash(0, "job-1"), hash(1, "job-1"));
    }
}
