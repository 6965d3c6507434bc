//! Fingerprints of the most recent samples.
//!
//! A cursor is valid only in the life of the store that issued it. When a controller returns with another store, or with
//! an older copy of its own, the trainer reads the stream again and skips each sample that it has learned, once. A copy
//! may score a job again whose sample was learned, between samples that were not, so every sample is compared. The same
//! label that is given to a job twice makes two samples, and both are learned: nothing is skipped that was not read
//! again. Samples before the first known one were learned too if older fingerprints had to be dropped.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::learner::Sample;

/// 128 KiB of fingerprints. A copy of a store that is older than this many samples is read from its beginning.
const MAX_FINGERPRINTS: usize = 16 * 1024;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fingerprints {
    /// Those that are expected again, then the others; oldest first.
    newest: VecDeque<u64>,
    /// How often each one is expected again.
    expected: HashMap<u64, usize>,
    /// The sum of `expected`.
    expected_total: usize,
}

impl Fingerprints {
    /// Adds a sample, and drops the oldest one if the list is full.
    pub fn add(&mut self, sample: &Sample) {
        self.push(fingerprint(sample));
    }

    fn push(&mut self, fingerprint: u64) {
        if self.is_full()
            && let Some(oldest) = self.newest.pop_front()
            && self.expected_total > 0
        {
            self.unexpect(oldest);
        }
        self.newest.push_back(fingerprint);
    }

    /// Reading begins again, so that every sample may come once more.
    pub fn expect_all_again(&mut self) {
        self.expect_oldest_again(self.newest.len());
    }

    fn expect_oldest_again(&mut self, total: usize) {
        self.expected.clear();
        for fingerprint in self.newest.iter().take(total) {
            *self.expected.entry(*fingerprint).or_default() += 1;
        }
        self.expected_total = total.min(self.newest.len());
    }

    /// Whether this sample was learned and is read again. It is not expected a second time.
    pub fn is_read_again(&mut self, sample: &Sample) -> bool {
        let fingerprint = fingerprint(sample);
        if !self.expected.contains_key(&fingerprint) {
            return false;
        }
        let position = self.newest.iter().position(|known| *known == fingerprint);
        if let Some(position) = position {
            self.newest.remove(position);
        }
        self.unexpect(fingerprint);
        self.newest.push_back(fingerprint);
        true
    }

    fn unexpect(&mut self, fingerprint: u64) {
        self.expected_total = self.expected_total.saturating_sub(1);
        if let Some(times) = self.expected.get_mut(&fingerprint) {
            *times -= 1;
            if *times == 0 {
                self.expected.remove(&fingerprint);
            }
        }
    }

    /// The fingerprints of all known samples.
    pub fn to_set(&self) -> HashSet<u64> {
        self.newest.iter().copied().collect()
    }

    /// Whether older fingerprints may have been dropped.
    pub fn is_full(&self) -> bool {
        self.newest.len() == MAX_FINGERPRINTS
    }

    /// How many of the oldest ones are expected again.
    pub fn expected_again(&self) -> usize {
        self.expected_total
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        self.newest.iter().flat_map(|fingerprint| fingerprint.to_le_bytes()).collect()
    }

    /// `None` if the length is not a multiple of eight.
    pub fn from_bytes(bytes: &[u8], expected_again: usize) -> Option<Self> {
        let (all, rest) = bytes.as_chunks::<8>();
        let excess = all.len().saturating_sub(MAX_FINGERPRINTS);
        let newest = all.iter().skip(excess).map(|bytes| u64::from_le_bytes(*bytes)).collect();
        let mut fingerprints = Self { newest, ..Self::default() };
        fingerprints.expect_oldest_again(expected_again);
        rest.is_empty().then_some(fingerprints)
    }
}

/// FNV-1a of the job and its label: a job with a new label is another sample. Checkpoints store the result, so it
/// must be the same in every release.
pub(super) fn fingerprint(sample: &Sample) -> u64 {
    let label = sample.ground_truth.to_bits().to_le_bytes();
    sample.job_id.bytes().chain(label).fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn sample(number: usize, ground_truth: f64) -> Sample {
        Sample {
            job_id: format!("job-{number}"),
            features: BTreeMap::new(),
            ground_truth,
            labelled_by: String::new(),
        }
    }

    fn known(numbers: impl IntoIterator<Item = usize>) -> Fingerprints {
        let mut fingerprints = Fingerprints::default();
        numbers.into_iter().for_each(|number| fingerprints.add(&sample(number, 1.0)));
        fingerprints
    }

    #[test]
    fn nothing_is_skipped_before_reading_begins_again() {
        let mut fingerprints = known([1]);
        assert!(!fingerprints.is_read_again(&sample(1, 1.0)));
    }

    #[test]
    fn each_sample_is_skipped_as_often_as_it_was_learned() {
        let mut fingerprints = known([1, 2, 1]);
        fingerprints.expect_all_again();
        assert!(!fingerprints.is_read_again(&sample(1, 2.0)), "another label makes another sample");
        let skipped = [1, 1, 1, 3, 2, 2].map(|number| fingerprints.is_read_again(&sample(number, 1.0)));
        assert_eq!(skipped, [true, true, false, false, true, false]);
        assert_eq!((fingerprints.expected_again(), fingerprints.newest.len()), (0, 3));
        fingerprints.expect_all_again();
        assert!(fingerprints.is_read_again(&sample(2, 1.0)), "a second restore");
    }

    #[test]
    fn the_oldest_are_dropped_and_the_rest_is_read_back() {
        let mut fingerprints = known(0..MAX_FINGERPRINTS + 2);
        fingerprints.expect_all_again();
        fingerprints.add(&sample(MAX_FINGERPRINTS + 2, 1.0));
        assert!(fingerprints.is_read_again(&sample(7, 1.0)));
        let mut back =
            Fingerprints::from_bytes(&fingerprints.to_bytes(), fingerprints.expected_again()).unwrap();
        assert_eq!(back, fingerprints);
        assert!(back.is_full());
        let skipped = [2, 3, 7, MAX_FINGERPRINTS + 1, MAX_FINGERPRINTS + 2]
            .map(|number| back.is_read_again(&sample(number, 1.0)));
        assert_eq!(skipped, [false, true, false, true, false]);
    }

    #[test]
    fn a_truncated_fingerprint_is_refused() {
        assert_eq!(Fingerprints::from_bytes(&[1, 2, 3], 0), None);
    }

    #[test]
    fn a_fingerprint_is_the_same_in_every_release() {
        assert_eq!(fingerprint(&sample(7, 62.5)), FINGERPRINT);
    }

    /// The fingerprint of that sample in existing checkpoints.
    const FINGERPRINT: u64 = 0x2819_2f17_6974_a7ab;
}
