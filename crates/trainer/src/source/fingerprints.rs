//! Fingerprints of the most recent samples.
//!
//! A cursor is valid only in the life of the store that issued it. When a controller returns with another store, or with
//! an older copy of its own, the trainer reads the stream again and skips what it knows by its fingerprint. A copy may
//! score a job again whose sample was learned, between samples that were not, so every sample is compared. Samples
//! before the first known one were learned too if older fingerprints had to be dropped.

use std::collections::{HashSet, VecDeque};

use crate::learner::Sample;

/// 128 KiB of fingerprints. A copy of a store that is older than this many samples is read from its beginning.
const MAX_FINGERPRINTS: usize = 16 * 1024;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fingerprints {
    /// Oldest first.
    newest: VecDeque<u64>,
    known: HashSet<u64>,
}

impl Fingerprints {
    /// Adds a sample, and drops the oldest one if the list is full.
    pub fn add(&mut self, sample: &Sample) {
        if self.is_full()
            && let Some(oldest) = self.newest.pop_front()
        {
            self.known.remove(&oldest);
        }
        let fingerprint = fingerprint(sample);
        self.newest.push_back(fingerprint);
        self.known.insert(fingerprint);
    }

    pub fn contains(&self, sample: &Sample) -> bool {
        self.known.contains(&fingerprint(sample))
    }

    /// Whether older fingerprints may have been dropped.
    pub fn is_full(&self) -> bool {
        self.newest.len() == MAX_FINGERPRINTS
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        self.newest.iter().flat_map(|fingerprint| fingerprint.to_le_bytes()).collect()
    }

    /// `None` if the length is not a multiple of eight.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (all, rest) = bytes.as_chunks::<8>();
        let excess = all.len().saturating_sub(MAX_FINGERPRINTS);
        let newest: VecDeque<u64> = all.iter().skip(excess).map(|bytes| u64::from_le_bytes(*bytes)).collect();
        rest.is_empty().then(|| Self { known: newest.iter().copied().collect(), newest })
    }
}

/// FNV-1a of the job and its label: a job with a new label is another sample. Checkpoints store the result, so it
/// must be the same in every release.
fn fingerprint(sample: &Sample) -> u64 {
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
        Sample { job_id: format!("job-{number}"), features: BTreeMap::new(), ground_truth }
    }

    #[test]
    fn a_job_with_another_label_is_another_sample() {
        let mut fingerprints = Fingerprints::default();
        fingerprints.add(&sample(1, 50.0));
        assert!(fingerprints.contains(&sample(1, 50.0)));
        assert!(!fingerprints.contains(&sample(1, 51.0)) && !fingerprints.contains(&sample(2, 50.0)));
        assert!(!fingerprints.is_full());
    }

    #[test]
    fn the_oldest_are_dropped_and_the_rest_is_read_back() {
        let mut fingerprints = Fingerprints::default();
        for number in 0..MAX_FINGERPRINTS + 2 {
            fingerprints.add(&sample(number, 1.0));
        }
        let back = Fingerprints::from_bytes(&fingerprints.to_bytes()).unwrap();
        assert_eq!(back, fingerprints);
        assert!(back.is_full());
        let known = back;
        assert!(
            !known.contains(&sample(1, 1.0))
                && known.contains(&sample(2, 1.0))
                && known.contains(&sample(MAX_FINGERPRINTS + 1, 1.0))
        );
    }

    #[test]
    fn a_truncated_fingerprint_is_refused() {
        assert_eq!(Fingerprints::from_bytes(&[1, 2, 3]), None);
    }

    #[test]
    fn a_fingerprint_is_the_same_in_every_release() {
        assert_eq!(fingerprint(&sample(7, 62.5)), FINGERPRINT);
    }

    /// The fingerprint of that sample in existing checkpoints.
    const FINGERPRINT: u64 = 0x2819_2f17_6974_a7ab;
}
