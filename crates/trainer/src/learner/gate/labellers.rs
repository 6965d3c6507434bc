//! The comparison of two models as the median over labellers.
//!
//! Each labeller with enough held-out samples is compared by itself, and all others together, because nothing can be told
//! from a few samples. A labeller weighs as much as it gave labels, a third of all at most. So labellers whose labels are a
//! third of all have half of the weight at most, and the median lies where at least one of the others has it.

use super::super::evaluation::{ModelComparison, SamplePredictions};
use super::{GateLimits, HeldOutSample, MIN_HELD_OUT, word};
use std::collections::BTreeMap;

/// With fewer, the majority is not known.
pub(super) const MIN_GROUPS: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LabellerMedian {
    groups: usize,
    rmse_ratio: f64,
    /// By how much SROCC is lower than the base model's.
    srocc_drop: f64,
}

#[derive(Default)]
struct Group {
    samples: Vec<SamplePredictions>,
    weight: u64,
}

/// `None` while there are too few labellers with enough samples.
pub(super) fn median(samples: &[HeldOutSample]) -> Option<LabellerMedian> {
    let mut by_labeller: BTreeMap<u64, Group> = BTreeMap::new();
    for sample in samples {
        let group = by_labeller.entry(sample.labeller).or_default();
        group.samples.push(sample.predictions);
        group.weight = sample.weight;
    }
    let enough = |group: &Group| group.samples.len() as u64 >= MIN_HELD_OUT;
    let (mut groups, small): (Vec<Group>, Vec<Group>) = by_labeller.into_values().partition(enough);
    let together = small.into_iter().fold(Group::default(), |mut all, group| {
        all.samples.extend(group.samples);
        all.weight += group.weight;
        all
    });
    groups.extend(Some(together).filter(enough));
    if groups.len() < MIN_GROUPS {
        return None;
    }
    let compared: Vec<(ModelComparison, u64)> =
        groups.iter().map(|group| (ModelComparison::of(&group.samples), group.weight)).collect();
    let rmse_ratio = |compared: &ModelComparison| compared.model.rmse / compared.base.rmse;
    // No limit applies where the base model's SROCC is undefined.
    let srocc_drop = |compared: &ModelComparison| {
        compared.base.srocc.map_or(0.0, |base| base - compared.model.srocc.unwrap_or(-1.0))
    };
    Some(LabellerMedian {
        groups: groups.len(),
        rmse_ratio: weighted_median(
            compared.iter().map(|(compared, weight)| (rmse_ratio(compared), *weight)),
        ),
        srocc_drop: weighted_median(
            compared.iter().map(|(compared, weight)| (srocc_drop(compared), *weight)),
        ),
    })
}

/// The smallest value at which at least half of the weight is reached.
fn weighted_median(values: impl Iterator<Item = (f64, u64)>) -> f64 {
    let mut values: Vec<(f64, u64)> = values.collect();
    values.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let total: u64 = values.iter().map(|(_, weight)| weight).sum();
    let mut reached = 0;
    for (value, weight) in values {
        reached += weight;
        if reached * 2 >= total {
            return value;
        }
    }
    f64::NAN
}

impl LabellerMedian {
    pub(super) fn holds(&self, limits: &GateLimits) -> bool {
        self.srocc_holds(limits) && self.rmse_holds(limits)
    }

    fn srocc_holds(&self, limits: &GateLimits) -> bool {
        self.srocc_drop <= limits.max_srocc_drop
    }

    fn rmse_holds(&self, limits: &GateLimits) -> bool {
        self.rmse_ratio <= limits.max_rmse_ratio
    }

    pub(super) fn describe(&self, limits: &GateLimits) -> String {
        format!(
            "median of {} labellers: RMSE {:.2} times the base model's (at most {:.2}) {}, SROCC lower by {:.4} (at most {:.4}) {}",
            self.groups,
            self.rmse_ratio,
            limits.max_rmse_ratio,
            word(self.rmse_holds(limits)),
            self.srocc_drop,
            limits.max_srocc_drop,
            word(self.srocc_holds(limits)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::samples;
    use super::*;

    #[test]
    fn the_median_is_weighted() {
        let median = |values: [(f64, u64); 3]| (weighted_median(values.into_iter()),);
        assert_eq!(median([(1.0, 1), (2.0, 1), (3.0, 1)]), (2.0,));
        assert_eq!(median([(1.0, 1), (2.0, 1), (3.0, 5)]), (3.0,));
        assert_eq!(median([(1.0, 5), (9.0, 4), (8.0, 1)]), (1.0,));
    }

    #[test]
    fn two_labellers_cannot_be_told_apart() {
        let two = [samples(40, 1, 6.0, 12.0), samples(40, 2, 6.0, 12.0)].concat();
        assert_eq!(median(&two), None);
    }

    #[test]
    fn labellers_with_few_samples_are_compared_together() {
        let mut all = [samples(40, 1, 6.0, 12.0), samples(40, 2, 6.0, 12.0)].concat();
        for labeller in 10..28 {
            all.extend(
                samples(1, labeller, 24.0, 12.0)
                    .into_iter()
                    .map(|sample| HeldOutSample { weight: 1, ..sample }),
            );
        }
        let found = median(&all).unwrap();
        assert_eq!((found.groups, found.rmse_ratio), (3, 0.5));
    }
}
