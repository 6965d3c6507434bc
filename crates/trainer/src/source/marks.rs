//! The samples that were seen last, remembered by fingerprint.
//!
//! A cursor is only good in the store that gave it. When a controller comes back with another store, or with an older
//! copy of its own, the cursor is worthless and these are what is left to tell where we were: samples come in the order in
//! which they came to be, so everything up to the last one that we know has been seen.

use std::collections::{HashSet, VecDeque};

use crate::learner::Sample;

/// As many are remembered: 128 KiB. A copy of a store that is older than that many samples is read from its beginning.
const MOST: usize = 16 * 1024;

/// The samples that were seen last, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks(VecDeque<u64>);

impl Marks {
    /// Remembers a sample, and forgets the oldest beyond the limit.
    pub fn add(&mut self, sample: &Sample) {
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back(fingerprint(sample));
    }

    /// For looking up.
    pub fn known(&self) -> Known {
        Known(self.0.iter().copied().collect())
    }

    /// As bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|mark| mark.to_le_bytes()).collect()
    }

    /// Back from bytes; `None` if there are some left over.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (marks, rest) = bytes.as_chunks::<8>();
        let newest = marks.len().saturating_sub(MOST);
        let marks = marks.iter().skip(newest).map(|mark| u64::from_le_bytes(*mark));
        rest.is_empty().then(|| Self(marks.collect()))
    }
}

/// Marks in no order.
#[derive(Debug)]
pub struct Known(HashSet<u64>);

impl Known {
    /// Whether a sample is among them.
    pub fn has(&self, sample: &Sample) -> bool {
        self.0.contains(&fingerprint(sample))
    }
}

/// FNV-1a of the job and its label, because a job that is labelled again is another sample. It is kept in checkpoints, so
/// it must be the same in every release.
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
        let mut marks = Marks::default();
        marks.add(&sample(1, 50.0));
        let known = marks.known();
        assert!(known.has(&sample(1, 50.0)));
        assert!(!known.has(&sample(1, 51.0)) && !known.has(&sample(2, 50.0)));
    }

    #[test]
    fn the_oldest_are_forgotten_and_the_rest_is_read_back() {
        let mut marks = Marks::default();
        for number in 0..MOST + 2 {
            marks.add(&sample(number, 1.0));
        }
        let back = Marks::from_bytes(&marks.to_bytes()).unwrap();
        assert_eq!(back, marks);
        let known = back.known();
        assert!(
            !known.has(&sample(1, 1.0)) && known.has(&sample(2, 1.0)) && known.has(&sample(MOST + 1, 1.0))
        );
    }

    #[test]
    fn half_a_mark_is_none() {
        assert_eq!(Marks::from_bytes(&[1, 2, 3]), None);
    }

    #[test]
    fn a_fingerprint_is_the_same_in_every_release() {
        assert_eq!(fingerprint(&sample(7, 62.5)), FINGERPRINT);
    }

    /// What earlier checkpoints hold for that sample.
    const FINGERPRINT: u64 = 0x2819_2f17_6974_a7ab;
}
