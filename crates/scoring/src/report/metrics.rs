//! The per-frame columns of a comparison, named as in libvmaf's files.
//!
//! libvmaf calls a score `vmaf` whatever the model, so the first model is `vmaf` here too; further ones have their own names.
//! A model with a confidence interval has additional columns that end in `_ci_p95_lo` and `_ci_p95_hi`. Features come first and
//! scores last, as in libvmaf's files.

use std::borrow::Cow;

use crate::outcome::{ModelScores, ScoringOutcome};

/// One column.
#[derive(Clone, Debug)]
pub struct Metric<'a> {
    pub key: String,
    /// One value per scored frame.
    pub values: Cow<'a, [f64]>,
}

/// All columns of a comparison, with unique names.
pub fn of(outcome: &ScoringOutcome) -> Vec<Metric<'_>> {
    let features = outcome
        .features
        .iter()
        .map(|(name, values)| Metric { key: short_name(name), values: Cow::Borrowed(values) });
    let mut all: Vec<Metric<'_>> = features.collect();
    for (index, model) in outcome.models.iter().enumerate() {
        let taken = |key: &str| all.iter().any(|metric| metric.key == key);
        let key = free_key(if index == 0 { "vmaf" } else { &model.name }, taken);
        all.extend(columns(key, model));
    }
    all
}

fn columns(key: String, model: &ModelScores) -> impl Iterator<Item = Metric<'_>> {
    let end = |suffix: &str, pick: fn(&crate::outcome::ConfidenceInterval) -> f64| {
        let values: Vec<f64> = model.intervals.as_ref()?.iter().map(pick).collect();
        Some(Metric { key: format!("{key}{suffix}"), values: Cow::Owned(values) })
    };
    let (low, high) = (end("_ci_p95_lo", |ci| ci.low), end("_ci_p95_hi", |ci| ci.high));
    let score = Metric { key, values: Cow::Borrowed(model.scores.as_slice()) };
    [low, high].into_iter().flatten().chain([score])
}

/// The wanted name, or one with a number if it is taken: two requested files may both be called `model.json`.
pub(super) fn free_key(wanted: &str, taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2_u32..).map(|number| format!("{wanted}_{number}"));
    std::iter::once(wanted.to_owned()).chain(numbered).find(|key| !taken(key)).unwrap_or_default()
}

/// The name of a feature in libvmaf's files: `VMAF_integer_feature_adm2_score` becomes `integer_adm2`. A short name is
/// returned unchanged.
pub fn short_name(feature: &str) -> String {
    let stem = |prefix: &str| feature.strip_prefix(prefix)?.strip_suffix("_score");
    if let Some(stem) = stem("VMAF_integer_feature_") {
        return format!("integer_{stem}");
    }
    ["VMAF_feature_", "Cambi_feature_", "Speed_chroma_feature_", "Speed_temporal_feature_"]
        .into_iter()
        .find_map(stem)
        .unwrap_or(feature)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::report::example::{bootstrap, outcome};

    fn keys(outcome: &ScoringOutcome) -> Vec<String> {
        of(outcome).into_iter().map(|metric| metric.key).collect()
    }

    #[rstest]
    #[case("VMAF_integer_feature_adm2_score", "integer_adm2")]
    #[case("VMAF_integer_feature_vif_scale0_score", "integer_vif_scale0")]
    #[case("VMAF_feature_motion2_score", "motion2")]
    #[case("Cambi_feature_cambi_score", "cambi")]
    #[case("Speed_chroma_feature_speed_chroma_uv_score", "speed_chroma_uv")]
    #[case("integer_adm2", "integer_adm2")]
    #[case("psnr_y", "psnr_y")]
    #[case("float_ms_ssim", "float_ms_ssim")]
    #[case("VMAF_feature_new", "VMAF_feature_new")]
    fn features_have_the_names_of_libvmafs_files(#[case] name: &str, #[case] short: &str) {
        assert_eq!(short_name(name), short);
    }

    #[test]
    fn the_first_model_is_vmaf_and_further_ones_have_their_names() {
        let mut outcome = outcome("dis.mp4", &[1.0]);
        for name in ["vmaf_v0.6.1neg", "vmaf"] {
            outcome.models.push(ModelScores { name: name.to_owned(), ..outcome.models[0].clone() });
        }
        let keys = keys(&outcome);
        assert_eq!(keys[3..], ["vmaf", "vmaf_v0.6.1neg", "vmaf_2"]);
    }

    #[test]
    fn a_bootstrap_model_has_its_interval_beside_its_score() {
        let outcome = bootstrap(&[90.0]);
        assert_eq!(keys(&outcome)[3..], ["vmaf_ci_p95_lo", "vmaf_ci_p95_hi", "vmaf"]);
        assert_eq!(of(&outcome)[3].values.as_ref(), [88.0]);
    }
}
