//! Samples, and why the learner refuses some.
//!
//! A sample is validated before anything changes, so a refused one leaves no partial update behind.

use std::collections::BTreeMap;

/// A labelled job.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// A hash of the id and the seed decides whether the sample is held out.
    pub job_id: String,
    /// Mean of each feature over the scored frames, by lower-case name. Features that the model does not use are
    /// ignored.
    pub features: BTreeMap<String, f64>,
    /// The label, 0 to 100.
    pub ground_truth: f64,
    /// Who gave the label: an opaque name. Empty if that is unknown, which is a labeller of its own.
    pub labelled_by: String,
}

/// Why a sample was refused. A refusal changes nothing but its counter.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SampleRefusal {
    #[error("the sample has no feature {name}, which the model uses")]
    Missing { name: String },
    #[error("the sample has {found} features, more than the maximum of {MAX_FEATURES}")]
    TooMany { found: usize },
    /// Features in the model's order, but not as many as the model uses.
    #[error("the sample has {found} features, and the model uses {expected}")]
    Count { found: usize, expected: usize },
    #[error("feature {name} is {value}, which is not a finite number")]
    NotFinite { name: String, value: f64 },
    #[error("feature {name} is {value}, and its absolute value must be at most {MAX_FEATURE_VALUE:e}")]
    Implausible { name: String, value: f64 },
    #[error("the label is {value}, and must be from 0 to 100")]
    Label { value: f64 },
    #[error("learning from the sample would have made the weights infinite or undefined")]
    Diverged,
}

/// A refusal without its details, for counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RefusalReason {
    Missing,
    /// Too many features, or not as many as the model uses.
    Count,
    NotFinite,
    Implausible,
    Label,
    Diverged,
}

/// All feature extractors together have about forty.
pub const MAX_FEATURES: usize = 1000;
pub const MAX_FEATURE_VALUE: f64 = 1e6;

impl SampleRefusal {
    pub const fn reason(&self) -> RefusalReason {
        match self {
            Self::Missing { .. } => RefusalReason::Missing,
            Self::TooMany { .. } | Self::Count { .. } => RefusalReason::Count,
            Self::NotFinite { .. } => RefusalReason::NotFinite,
            Self::Implausible { .. } => RefusalReason::Implausible,
            Self::Label { .. } => RefusalReason::Label,
            Self::Diverged => RefusalReason::Diverged,
        }
    }
}

impl RefusalReason {
    pub const ALL: [Self; 6] =
        [Self::Missing, Self::Count, Self::NotFinite, Self::Implausible, Self::Label, Self::Diverged];

    /// The value of the metrics' label `reason`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing_feature",
            Self::Count => "feature_count",
            Self::NotFinite => "not_finite",
            Self::Implausible => "implausible",
            Self::Label => "label",
            Self::Diverged => "undone",
        }
    }
}

/// Validates a sample and returns the features that the model uses, in its order.
pub(super) fn validate(names: &[String], sample: &Sample) -> Result<Vec<f64>, SampleRefusal> {
    let found = sample.features.len();
    if found > MAX_FEATURES {
        return Err(SampleRefusal::TooMany { found });
    }
    let values = names
        .iter()
        .map(|name| {
            sample.features.get(name).copied().ok_or_else(|| SampleRefusal::Missing { name: name.clone() })
        })
        .collect::<Result<Vec<_>, _>>()?;
    validate_row(names, &values, sample.ground_truth)?;
    Ok(values)
}

/// Validates features that are already in the model's order.
pub(super) fn validate_row(names: &[String], values: &[f64], label: f64) -> Result<(), SampleRefusal> {
    if values.len() != names.len() {
        return Err(SampleRefusal::Count { found: values.len(), expected: names.len() });
    }
    for (name, &value) in names.iter().zip(values) {
        let name = || name.clone();
        if !value.is_finite() {
            return Err(SampleRefusal::NotFinite { name: name(), value });
        }
        if value.abs() > MAX_FEATURE_VALUE {
            return Err(SampleRefusal::Implausible { name: name(), value });
        }
    }
    if (0.0..=100.0).contains(&label) { Ok(()) } else { Err(SampleRefusal::Label { value: label }) }
}

/// Number of refusals by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RefusalCounts(pub(super) [u64; RefusalReason::ALL.len()]);

impl RefusalCounts {
    pub(super) fn count(&mut self, reason: RefusalReason) {
        self.0[reason as usize] += 1;
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (RefusalReason, u64)> {
        RefusalReason::ALL.into_iter().zip(self.0)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn names() -> Vec<String> {
        vec!["adm".to_owned(), "vif".to_owned()]
    }

    fn sample(adm: f64, vif: f64, label: f64) -> Sample {
        let features = [("adm", adm), ("vif", vif), ("psnr_y", f64::NAN)];
        let features = features.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Sample { job_id: "job".to_owned(), features, ground_truth: label, labelled_by: String::new() }
    }

    #[test]
    fn features_are_returned_in_the_models_order_and_others_are_ignored() {
        let reversed: Vec<String> = names().into_iter().rev().collect();
        assert_eq!(validate(&reversed, &sample(0.5, 0.25, 0.0)), Ok(vec![0.25, 0.5]));
    }

    #[rstest]
    #[case::nan(f64::NAN, 50.0, RefusalReason::NotFinite)]
    #[case::infinite(f64::NEG_INFINITY, 50.0, RefusalReason::NotFinite)]
    #[case::huge(1e308, 50.0, RefusalReason::Implausible)]
    #[case::huge_and_negative(-1.1e6, 50.0, RefusalReason::Implausible)]
    #[case::label_too_low(0.5, -0.001, RefusalReason::Label)]
    #[case::label_too_high(0.5, 100.001, RefusalReason::Label)]
    #[case::label_that_is_not_a_number(0.5, f64::NAN, RefusalReason::Label)]
    fn an_invalid_sample_is_refused(#[case] adm: f64, #[case] label: f64, #[case] reason: RefusalReason) {
        assert_eq!(
            validate(&names(), &sample(adm, 0.5, label)).map_err(|refusal| refusal.reason()),
            Err(reason)
        );
    }

    #[test]
    fn a_missing_feature_is_named() {
        let mut without = sample(0.5, 0.5, 50.0);
        without.features.remove("vif");
        assert_eq!(validate(&names(), &without), Err(SampleRefusal::Missing { name: "vif".to_owned() }));
    }

    #[test]
    fn too_many_features_and_too_short_a_list_are_refused() {
        let mut crowded = sample(0.5, 0.5, 50.0);
        crowded.features.extend((0..MAX_FEATURES).map(|index| (index.to_string(), 0.0)));
        assert_eq!(validate(&names(), &crowded), Err(SampleRefusal::TooMany { found: MAX_FEATURES + 3 }));
        assert_eq!(validate_row(&names(), &[0.5], 50.0), Err(SampleRefusal::Count { found: 1, expected: 2 }));
    }

    #[test]
    fn every_reason_has_a_counter_of_its_own() {
        let mut counts = RefusalCounts::default();
        for (times, reason) in RefusalReason::ALL.into_iter().enumerate() {
            for _ in 0..times {
                counts.count(reason);
            }
        }
        assert!(counts.iter().enumerate().all(|(times, (_, count))| count == times as u64));
    }
}
