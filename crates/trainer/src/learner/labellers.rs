//! Who gave the most recent samples, and the bound on what one labeller contributes.
//!
//! A labeller with more than a third of the most recent samples counts as if it had given a third of them: the noise of its
//! labels grows with the excess. A third of all samples is the tightest bound at which wrong labels that are at most a
//! third of all cannot outweigh the others, even if a single labeller gave all correct ones. Nothing is bounded while there
//! are fewer than three labellers, because a bound could tell none of them from the others.

use std::collections::{BTreeMap, VecDeque};

use super::random::SplitMix64;
use super::state::{StateReader, StateWriter, damaged};
use super::{LearnerError, LearnerOptions};

/// The part of the recent samples that one labeller may contribute is one in this many.
const MAX_SHARE_ONE_IN: u64 = 3;
const MIN_LABELLERS: usize = 3;
/// Held-out samples that a labeller may give in excess of twice its expected number.
const HELD_OUT_ALLOWANCE: u64 = 4;

/// What the learner knows about the labellers of the most recent samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LabellerSummary {
    pub labellers: usize,
    /// The largest share of one labeller, from 0 to 1.
    pub largest_share: f64,
    /// Whether that labeller counts less than three quarters of what it gave.
    pub capped: bool,
}

/// A ring buffer of the labellers of the most recent samples.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RecentLabellers {
    recent: VecDeque<RecentLabel>,
    by_labeller: BTreeMap<u64, LabelCounts>,
    capacity: usize,
    held_out_one_in: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct RecentLabel {
    labeller: u64,
    held_out: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct LabelCounts {
    all: u64,
    held_out: u64,
}

impl RecentLabellers {
    pub(super) fn new(options: &LearnerOptions) -> Self {
        Self {
            recent: VecDeque::new(),
            by_labeller: BTreeMap::new(),
            capacity: options.window,
            held_out_one_in: options.held_out_one_in.into(),
        }
    }

    pub(super) fn add(&mut self, labeller: u64, held_out: bool) {
        if self.recent.len() >= self.capacity
            && let Some(oldest) = self.recent.pop_front()
            && let Some(counts) = self.by_labeller.get_mut(&oldest.labeller)
        {
            counts.all -= 1;
            counts.held_out -= u64::from(oldest.held_out);
            if counts.all == 0 {
                self.by_labeller.remove(&oldest.labeller);
            }
        }
        self.recent.push_back(RecentLabel { labeller, held_out });
        let counts = self.by_labeller.entry(labeller).or_default();
        counts.all += 1;
        counts.held_out += u64::from(held_out);
    }

    /// Factor on the label variance of a sample of this labeller.
    #[expect(clippy::cast_precision_loss, reason = "a million samples at most")]
    pub(super) fn noise_factor(&self, labeller: u64) -> f64 {
        if self.by_labeller.len() < MIN_LABELLERS {
            return 1.0;
        }
        let given = self.by_labeller.get(&labeller).map_or(0, |counts| counts.all);
        ((given * MAX_SHARE_ONE_IN) as f64 / self.recent.len().max(1) as f64).max(1.0)
    }

    /// Whether a sample of a job that is held out enters the held-out set. What does not is not used at all.
    pub(super) fn holds_out(&self, labeller: u64, random: &mut SplitMix64) -> bool {
        let counts = self.by_labeller.get(&labeller).copied().unwrap_or_default();
        let (given, total) = (counts.all * MAX_SHARE_ONE_IN, self.recent.len() as u64);
        let is_bounded = self.by_labeller.len() >= MIN_LABELLERS && given > total;
        !self.favours_held_out(counts) && (!is_bounded || random.below(given) < total)
    }

    /// Whether the labeller gives labels mainly to jobs that are held out. It could know which ones these are, because their
    /// ids tell, and take over the held-out set with few labels.
    fn favours_held_out(&self, counts: LabelCounts) -> bool {
        let expected = (counts.all + 1) / self.held_out_one_in.max(1);
        counts.held_out >= HELD_OUT_ALLOWANCE + 2 * expected
    }

    #[expect(clippy::cast_precision_loss, reason = "a million samples at most")]
    pub(super) fn summary(&self) -> LabellerSummary {
        let labellers = self.by_labeller.len();
        let largest = self.by_labeller.values().map(|counts| counts.all).max().unwrap_or_default();
        let total = self.recent.len() as u64;
        LabellerSummary {
            labellers,
            largest_share: largest as f64 / total.max(1) as f64,
            capped: labellers >= MIN_LABELLERS && largest * MAX_SHARE_ONE_IN * 3 > total * 4,
        }
    }

    pub(super) fn write(&self, writer: &mut StateWriter) {
        writer.count(self.recent.len());
        for label in &self.recent {
            writer.unsigned(label.labeller);
            writer.unsigned(label.held_out.into());
        }
    }

    /// States of earlier versions know no labellers, so counting starts with the next sample.
    pub(super) fn read(options: &LearnerOptions, reader: &mut StateReader<'_>) -> Result<Self, LearnerError> {
        let mut labellers = Self::new(options);
        if !reader.has_labellers() {
            return Ok(labellers);
        }
        let recent = reader.list(2, |reader| {
            let (labeller, held_out) = (reader.unsigned()?, reader.unsigned()?);
            if held_out > 1 {
                return Err(damaged("a label is held out neither or never"));
            }
            Ok((labeller, held_out == 1))
        })?;
        let excess = recent.len().saturating_sub(options.window);
        recent.into_iter().skip(excess).for_each(|(labeller, held_out)| labellers.add(labeller, held_out));
        Ok(labellers)
    }
}

/// The weight of what a labeller gave among `total`, by the same rule.
pub(super) fn bounded_count(given: u64, total: u64, labellers: usize) -> u64 {
    // Multiplied by three, so that a third needs no fraction.
    let bound = if labellers < MIN_LABELLERS { total * MAX_SHARE_ONE_IN } else { total };
    (given * MAX_SHARE_ONE_IN).min(bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recent(labels: &[(u64, u64)], window: usize) -> RecentLabellers {
        let mut recent = RecentLabellers::new(&LearnerOptions { window, ..LearnerOptions::default() });
        for (labeller, count) in labels {
            (0..*count).for_each(|_| recent.add(*labeller, false));
        }
        recent
    }

    #[test]
    fn nobody_contributes_more_than_a_third_of_the_recent_samples() {
        let recent = recent(&[(1, 80), (2, 15), (3, 5)], 100);
        let effective = |labeller: u64, count: f64| count / recent.noise_factor(labeller);
        assert!((effective(1, 80.0) - 100.0 / 3.0).abs() < 1e-9);
        assert_eq!((recent.noise_factor(2), recent.noise_factor(3), recent.noise_factor(4)), (1.0, 1.0, 1.0));
        let summary = recent.summary();
        assert_eq!((summary.labellers, summary.largest_share, summary.capped), (3, 0.8, true));
    }

    #[test]
    fn one_labeller_or_two_are_not_bounded() {
        for labels in [&[(1, 50)][..], &[(1, 45), (2, 5)]] {
            let recent = recent(labels, 100);
            assert_eq!((recent.noise_factor(1), recent.summary().capped), (1.0, false));
        }
    }

    #[test]
    fn only_the_recent_samples_count() {
        let recent = recent(&[(1, 500), (2, 30), (3, 30), (4, 30)], 90);
        assert_eq!(
            recent.summary(),
            LabellerSummary { labellers: 3, largest_share: 1.0 / 3.0, capped: false }
        );
        assert_eq!(recent.by_labeller.len(), 3);
    }

    #[test]
    fn a_third_of_all_is_never_the_majority_whoever_gave_the_rest() {
        // One honest labeller, and any number of others with a third of all samples together.
        for others in [2_u64, 5, 50] {
            let honest = bounded_count(200, 300, 3);
            let wrong: u64 = (0..others).map(|_| bounded_count(100 / others, 300, 3)).sum();
            assert!(honest >= wrong, "{honest} {wrong}");
        }
    }

    #[test]
    fn who_labels_only_held_out_jobs_is_noticed_and_who_labels_all_is_not() {
        let (mut recent, mut random) = (recent(&[], 1000), SplitMix64::new(1));
        for number in 0..400 {
            assert!(recent.holds_out(1, &mut random), "after {number}");
            recent.add(1, number % 8 == 0);
        }
        let mut given = 0;
        while recent.holds_out(2, &mut random) {
            recent.add(2, true);
            given += 1;
        }
        assert!(given < 8, "{given}");
    }

    #[test]
    fn the_held_out_set_gets_a_third_at_most_of_one_labeller() {
        let (recent, mut random) = (recent(&[(1, 800), (2, 100), (3, 100)], 1000), SplitMix64::new(1));
        let mut share = |labeller| (0..10_000).filter(|_| recent.holds_out(labeller, &mut random)).count();
        let (most, few) = (share(1), share(2));
        assert!((4000..4340).contains(&most), "{most} of 10000, which is a third of 0.8");
        assert_eq!(few, 10_000);
    }
}
