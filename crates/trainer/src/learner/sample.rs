//! What the learner is taught, and what it refuses to be taught.
//!
//! A refusal is decided before anything is touched, so a bad sample cannot leave half of itself behind.

use std::collections::BTreeMap;

/// A job that somebody has judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The job. Decides, with the seed, whether the sample is held out.
    pub job_id: String,
    /// Mean of each feature over the scored frames, by lower-case name. Features that the model does not use may be there.
    pub features: BTreeMap<String, f64>,
    /// What viewers said, 0 to 100.
    pub ground_truth: f64,
}

/// Why a sample was refused. Nothing but a counter has changed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// A feature that the model uses is not there.
    #[error("the sample has no feature {name}, which the model uses")]
    Missing {
        /// The feature.
        name: String,
    },
    /// More features than any job has.
    #[error("the sample has {found} features, and no job has more than {MOST_FEATURES}")]
    TooMany {
        /// How many.
        found: usize,
    },
    /// A list of features that is not as long as that of the model.
    #[error("the sample has {found} features, and the model uses {expected}")]
    Count {
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// A feature is not a number, or infinite.
    #[error("feature {name} is {value}, which is no number to learn from")]
    NotFinite {
        /// The feature.
        name: String,
        /// Its value.
        value: f64,
    },
    /// A feature that no picture has.
    #[error("feature {name} is {value}, and no picture has more than {LARGEST:e}")]
    Implausible {
        /// The feature.
        name: String,
        /// Its value.
        value: f64,
    },
    /// A label that is not on the scale.
    #[error("the label is {value}, and must be from 0 to 100")]
    Label {
        /// The label.
        value: f64,
    },
    /// The step would have left the numbers.
    #[error("the step from this sample led to no number and was undone")]
    Undone,
}

/// A refusal without its details: what is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RefusalKind {
    /// A feature is missing.
    Missing,
    /// Too many features, or not as many as the model uses.
    Count,
    /// A feature is not a number, or infinite.
    NotFinite,
    /// A feature is larger than any picture's.
    Implausible,
    /// The label is not from 0 to 100.
    Label,
    /// The step was undone.
    Undone,
}

/// Most features of a sample. All extractors together have about forty.
pub const MOST_FEATURES: usize = 1000;
/// Largest value of a feature.
pub const LARGEST: f64 = 1e6;

impl Refusal {
    /// What it counts as.
    pub const fn kind(&self) -> RefusalKind {
        match self {
            Self::Missing { .. } => RefusalKind::Missing,
            Self::TooMany { .. } | Self::Count { .. } => RefusalKind::Count,
            Self::NotFinite { .. } => RefusalKind::NotFinite,
            Self::Implausible { .. } => RefusalKind::Implausible,
            Self::Label { .. } => RefusalKind::Label,
            Self::Undone => RefusalKind::Undone,
        }
    }
}

impl RefusalKind {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Missing, Self::Count, Self::NotFinite, Self::Implausible, Self::Label, Self::Undone];

    /// One word, for a metric's label.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing_feature",
            Self::Count => "feature_count",
            Self::NotFinite => "not_finite",
            Self::Implausible => "implausible",
            Self::Label => "label",
            Self::Undone => "undone",
        }
    }
}

/// The features that the model uses, in its order, if all of the sample is fit to be learned from.
pub(super) fn admit(names: &[String], sample: &Sample) -> Result<Vec<f64>, Refusal> {
    let found = sample.features.len();
    if found > MOST_FEATURES {
        return Err(Refusal::TooMany { found });
    }
    let values = names
        .iter()
        .map(|name| sample.features.get(name).copied().ok_or_else(|| Refusal::Missing { name: name.clone() }))
        .collect::<Result<Vec<_>, _>>()?;
    admit_row(names, &values, sample.ground_truth)?;
    Ok(values)
}

/// The same for features that are in the model's order already.
pub(super) fn admit_row(names: &[String], values: &[f64], label: f64) -> Result<(), Refusal> {
    if values.len() != names.len() {
        return Err(Refusal::Count { found: values.len(), expected: names.len() });
    }
    for (name, &value) in names.iter().zip(values) {
        let name = || name.clone();
        if !value.is_finite() {
            return Err(Refusal::NotFinite { name: name(), value });
        }
        if value.abs() > LARGEST {
            return Err(Refusal::Implausible { name: name(), value });
        }
    }
    if (0.0..=100.0).contains(&label) { Ok(()) } else { Err(Refusal::Label { value: label }) }
}

/// How often each kind was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Refusals([u64; RefusalKind::ALL.len()]);

impl Refusals {
    pub(super) fn count(&mut self, kind: RefusalKind) {
        self.0[kind as usize] += 1;
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (RefusalKind, u64)> {
        RefusalKind::ALL.into_iter().zip(self.0)
    }

    pub(super) fn from_counts(counts: [u64; RefusalKind::ALL.len()]) -> Self {
        Self(counts)
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
        Sample { job_id: "job".to_owned(), features, ground_truth: label }
    }

    #[test]
    fn features_come_in_the_order_of_the_model_and_others_do_not_matter() {
        let reversed: Vec<String> = names().into_iter().rev().collect();
        assert_eq!(admit(&reversed, &sample(0.5, 0.25, 0.0)), Ok(vec![0.25, 0.5]));
    }

    #[rstest]
    #[case::nan(f64::NAN, 50.0, RefusalKind::NotFinite)]
    #[case::infinite(f64::NEG_INFINITY, 50.0, RefusalKind::NotFinite)]
    #[case::huge(1e308, 50.0, RefusalKind::Implausible)]
    #[case::huge_and_negative(-1.1e6, 50.0, RefusalKind::Implausible)]
    #[case::label_too_low(0.5, -0.001, RefusalKind::Label)]
    #[case::label_too_high(0.5, 100.001, RefusalKind::Label)]
    #[case::label_that_is_no_number(0.5, f64::NAN, RefusalKind::Label)]
    fn what_no_job_has_is_refused(#[case] adm: f64, #[case] label: f64, #[case] kind: RefusalKind) {
        assert_eq!(admit(&names(), &sample(adm, 0.5, label)).map_err(|refusal| refusal.kind()), Err(kind));
    }

    #[test]
    fn a_missing_feature_is_named() {
        let mut without = sample(0.5, 0.5, 50.0);
        without.features.remove("vif");
        assert_eq!(admit(&names(), &without), Err(Refusal::Missing { name: "vif".to_owned() }));
    }

    #[test]
    fn neither_a_flood_of_features_nor_a_short_list_is_taken() {
        let mut flood = sample(0.5, 0.5, 50.0);
        flood.features.extend((0..MOST_FEATURES).map(|index| (index.to_string(), 0.0)));
        assert_eq!(admit(&names(), &flood), Err(Refusal::TooMany { found: MOST_FEATURES + 3 }));
        assert_eq!(admit_row(&names(), &[0.5], 50.0), Err(Refusal::Count { found: 1, expected: 2 }));
    }

    #[test]
    fn every_kind_has_a_counter_of_its_own() {
        let mut refusals = Refusals::default();
        for (times, kind) in RefusalKind::ALL.into_iter().enumerate() {
            for _ in 0..times {
                refusals.count(kind);
            }
        }
        assert!(refusals.iter().enumerate().all(|(times, (_, count))| count == times as u64));
    }
}
