//! The promotion gate: whether the stable tag may move to a model.
//!
//! The gate compares the exported weights with the base model on the held-out set, from which the model never learned.
//! Two conditions must hold: SROCC is not much lower than the base model's, and RMSE is not higher. Some of the labels may
//! be wrong, so both are computed in two ways that wrong labels cannot steer:
//!
//! - [`trimmed`]: over the more plausible two thirds of the samples, for labels that are wrong here and there;
//! - [`labellers`]: as the median over labellers, for labellers all of whose labels are wrong.
//!
//! Both must hold. The trimmed comparison has a larger sampling error than that of all samples. So it may miss a limit by as
//! much as that error if the comparison of all samples holds.

mod labellers;
mod trimmed;

use std::collections::BTreeSet;

use super::evaluation::{ModelComparison, SamplePredictions};

/// Size of the held-out set below which the gate does not pass: a rank correlation of fewer samples means nothing.
pub const MIN_HELD_OUT: u64 = 10;

/// The same where the samples are of three labellers or more, so that wrong labels can be told from correct ones: a third
/// of fewer samples is too often more than a third of wrong ones.
const MIN_HELD_OUT_OF_SEVERAL: u64 = 40;

/// Limits relative to the base model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GateLimits {
    /// By how much SROCC may be lower.
    pub max_srocc_drop: f64,
    /// By which factor RMSE may be higher.
    pub max_rmse_ratio: f64,
}

impl Default for GateLimits {
    fn default() -> Self {
        Self { max_srocc_drop: 0.005, max_rmse_ratio: 1.0 }
    }
}

impl GateLimits {
    /// Limits that are wider by the sampling error of a trimmed comparison.
    fn with_sampling_error(&self, count: usize) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "a million samples at most")]
        let root = (count.max(1) as f64).sqrt();
        Self {
            max_srocc_drop: self.max_srocc_drop + TRIMMED_SROCC_ERROR / root,
            max_rmse_ratio: self.max_rmse_ratio + TRIMMED_RMSE_ERROR / root,
        }
    }

    fn holds(&self, compared: &ModelComparison) -> bool {
        self.srocc_holds(compared) && self.rmse_holds(compared)
    }

    fn srocc_holds(&self, ModelComparison { model, base }: &ModelComparison) -> bool {
        self.min_srocc(base.srocc).is_none_or(|min| model.srocc.is_some_and(|srocc| srocc >= min))
    }

    /// The base model's SROCC is undefined if all labels are equal; then there is no limit.
    fn min_srocc(&self, base: Option<f64>) -> Option<f64> {
        base.map(|srocc| srocc - self.max_srocc_drop)
    }

    fn rmse_holds(&self, ModelComparison { model, base }: &ModelComparison) -> bool {
        model.rmse <= base.rmse * self.max_rmse_ratio
    }
}

/// Standard errors of the trimmed comparison of two similar models with one sample.
const TRIMMED_RMSE_ERROR: f64 = 0.5;
const TRIMMED_SROCC_ERROR: f64 = 0.2;

/// A held-out sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeldOutSample {
    pub(super) predictions: SamplePredictions,
    pub(super) labeller: u64,
    /// Weight of the labeller, the same for all of its samples.
    pub(super) weight: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateOutcome {
    Passed,
    Failed,
    /// The held-out set is too small for a comparison.
    TooFewSamples,
}

#[derive(Clone, Debug, PartialEq)]
pub struct GateVerdict {
    pub outcome: GateOutcome,
    /// The compared numbers.
    pub message: String,
    /// The comparison of all held-out samples.
    pub held_out: ModelComparison,
}

impl GateVerdict {
    pub fn passed(&self) -> bool {
        self.outcome == GateOutcome::Passed
    }
}

pub(super) fn evaluate(limits: &GateLimits, samples: &[HeldOutSample]) -> GateVerdict {
    let all: Vec<SamplePredictions> = samples.iter().map(|sample| sample.predictions).collect();
    let held_out = ModelComparison::of(&all);
    let count = held_out.model.count;
    let labellers: BTreeSet<u64> = samples.iter().map(|sample| sample.labeller).collect();
    let needed = if labellers.len() < labellers::MIN_GROUPS { MIN_HELD_OUT } else { MIN_HELD_OUT_OF_SEVERAL };
    if count < needed {
        let message = format!("{count} of {needed} held-out samples so far");
        return GateVerdict { outcome: GateOutcome::TooFewSamples, message, held_out };
    }
    let trimmed = trimmed::compare(&all);
    let limits_of_trimmed =
        if limits.holds(&held_out) { limits.with_sampling_error(all.len()) } else { *limits };
    let mut message = format!(
        "{}, on the more plausible two thirds of {count} held-out samples",
        describe(&limits_of_trimmed, &trimmed)
    );
    let mut passed = limits_of_trimmed.holds(&trimmed);
    if let Some(median) = labellers::median(samples) {
        passed &= median.holds(limits);
        message = format!("{message}; {}", median.describe(limits));
    }
    let outcome = if passed { GateOutcome::Passed } else { GateOutcome::Failed };
    GateVerdict { outcome, message, held_out }
}

fn describe(limits: &GateLimits, compared: &ModelComparison) -> String {
    let ModelComparison { model, base } = compared;
    let number =
        |srocc: Option<f64>| srocc.map_or_else(|| "undefined".to_owned(), |value| format!("{value:.4}"));
    let min_srocc =
        limits.min_srocc(base.srocc).map_or_else(|| "anything".to_owned(), |min| format!("{min:.4}"));
    format!(
        "SROCC {} (base {}, at least {min_srocc}) {}, RMSE {:.2} (base {:.2}, at most {:.2}) {}",
        number(model.srocc),
        number(base.srocc),
        word(limits.srocc_holds(compared)),
        model.rmse,
        base.rmse,
        base.rmse * limits.max_rmse_ratio,
        word(limits.rmse_holds(compared)),
    )
}

const fn word(holds: bool) -> &'static str {
    if holds { "holds" } else { "fails" }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::learner::evaluation::QualityMetrics;

    fn comparison(model: (f64, Option<f64>), base: (f64, Option<f64>)) -> ModelComparison {
        let metrics = |(rmse, srocc)| QualityMetrics { count: 40, rmse, plcc: srocc, srocc };
        ModelComparison { model: metrics(model), base: metrics(base) }
    }

    #[rstest]
    #[case::better_in_both((9.0, Some(0.9)), (12.0, Some(0.88)), true)]
    #[case::equal((12.0, Some(0.88)), (12.0, Some(0.88)), true)]
    #[case::srocc_at_its_limit((9.0, Some(0.875)), (12.0, Some(0.88)), true)]
    #[case::srocc_below_its_limit((9.0, Some(0.8749)), (12.0, Some(0.88)), false)]
    #[case::rmse_above_its_limit((12.01, Some(0.95)), (12.0, Some(0.88)), false)]
    #[case::srocc_became_undefined((9.0, None), (12.0, Some(0.88)), false)]
    #[case::labels_all_equal((9.0, None), (12.0, None), true)]
    #[case::not_a_number((f64::NAN, Some(1.0)), (12.0, Some(0.88)), false)]
    fn both_limits_must_hold(
        #[case] model: (f64, Option<f64>),
        #[case] base: (f64, Option<f64>),
        #[case] passed: bool,
    ) {
        assert_eq!(GateLimits::default().holds(&comparison(model, base)), passed);
    }

    /// Labels of equal distance, a model that is off by `model` points and a base that is off by `base`.
    pub(super) fn samples(count: u32, labeller: u64, model: f64, base: f64) -> Vec<HeldOutSample> {
        let sample = |index: u32| {
            let label = f64::from(index * 37 % 100);
            let sign = if index.is_multiple_of(2) { 1.0 } else { -1.0 };
            let predictions =
                SamplePredictions { model: label + sign * model, base: label + sign * base, label };
            HeldOutSample { predictions, labeller, weight: 10 }
        };
        (0..count).map(sample).collect()
    }

    #[test]
    fn a_few_samples_are_not_enough() {
        let verdict = evaluate(&GateLimits::default(), &samples(9, 1, 1.0, 12.0));
        assert_eq!(verdict.outcome, GateOutcome::TooFewSamples);
        assert_eq!(verdict.message, "9 of 10 held-out samples so far");
        assert!(evaluate(&GateLimits::default(), &samples(10, 1, 1.0, 12.0)).passed());
    }

    #[test]
    fn a_verdict_states_its_numbers() {
        let verdict = evaluate(&GateLimits::default(), &samples(30, 1, 14.5, 12.0));
        assert_eq!(verdict.outcome, GateOutcome::Failed);
        let rmse = "RMSE 14.50 (base 12.00, at most 12.00) fails, on the more plausible two thirds of 30 held-out samples";
        assert!(verdict.message.ends_with(rmse), "{}", verdict.message);
        let mut several = samples(30, 1, 6.0, 12.0);
        several.extend(samples(30, 2, 6.0, 12.0).into_iter().chain(samples(30, 3, 6.0, 12.0)));
        let verdict = evaluate(&GateLimits::default(), &several);
        let median = "median of 3 labellers: RMSE 0.50 times the base model's (at most 1.00) holds";
        assert!(verdict.passed() && verdict.message.contains(median), "{}", verdict.message);
    }

    #[test]
    fn labellers_that_are_a_third_neither_promote_nor_block() {
        let with_a_third = |good: (f64, f64), bad: (f64, f64)| {
            let mut all = samples(40, 1, good.0, good.1);
            all.extend(samples(40, 2, good.0, good.1).into_iter().chain(samples(40, 3, bad.0, bad.1)));
            evaluate(&GateLimits::default(), &all).passed()
        };
        assert!(with_a_third((9.0, 12.0), (60.0, 10.0)));
        assert!(!with_a_third((14.0, 12.0), (10.0, 60.0)));
    }
}
