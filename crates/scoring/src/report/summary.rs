//! The pooled scores of one comparison: small enough for the status of a job.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::outcome::{ConfidenceInterval, ModelScores, ScoringOutcome, Warning};
use crate::report::metrics;
use crate::report::pooling::{self, Pooled, PoolingError};

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScoreSummary {
    pub frames: u64,
    /// In the order of the request.
    pub models: Vec<ModelSummary>,
    /// By the name in libvmaf's files.
    pub features: BTreeMap<String, Pooled>,
    pub warnings: Vec<Warning>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelSummary {
    pub name: String,
    pub digest: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picked_because: Option<String>,
    #[serde(flatten)]
    pub pooled: Pooled,
    /// The 95 % confidence interval, each end averaged over the frames as in libvmaf.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci95: Option<ConfidenceInterval>,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SummaryError {
    #[error("model {model} has no finite score for frame {frame}")]
    NoNumber { model: String, frame: u64 },
    #[error("the values of {name} cannot be pooled")]
    Pooling { name: String, source: PoolingError },
}

impl ScoreSummary {
    pub fn of(outcome: &ScoringOutcome) -> Result<Self, SummaryError> {
        let models =
            outcome.models.iter().map(|model| summarise(&outcome.frames, model)).collect::<Result<_, _>>()?;
        let features = outcome
            .features
            .iter()
            .map(|(name, values)| Ok((metrics::short_name(name), pool(name, &outcome.frames, values)?)))
            .collect::<Result<_, _>>()?;
        Ok(Self { frames: outcome.frames.len() as u64, models, features, warnings: outcome.warnings.clone() })
    }
}

fn summarise(frames: &[u64], model: &ModelScores) -> Result<ModelSummary, SummaryError> {
    let pooled = pool(&model.name, frames, &model.scores)?;
    if let Some((&frame, _)) = frames.iter().zip(&model.scores).find(|(_, score)| !score.is_finite()) {
        return Err(SummaryError::NoNumber { model: model.name.clone(), frame });
    }
    let ci95 = model.intervals.as_deref().map(|all| pool_intervals(&model.name, frames, all)).transpose()?;
    Ok(ModelSummary {
        name: model.name.clone(),
        digest: model.digest.clone(),
        picked_because: model.picked_because.clone(),
        pooled,
        ci95,
    })
}

fn pool_intervals(
    name: &str,
    frames: &[u64],
    intervals: &[ConfidenceInterval],
) -> Result<ConfidenceInterval, SummaryError> {
    let lows: Vec<f64> = intervals.iter().map(|interval| interval.low).collect();
    let highs: Vec<f64> = intervals.iter().map(|interval| interval.high).collect();
    let (low, high) = (pool(name, frames, &lows)?.mean, pool(name, frames, &highs)?.mean);
    Ok(ConfidenceInterval { low, high })
}

fn pool(name: &str, frames: &[u64], values: &[f64]) -> Result<Pooled, SummaryError> {
    pooling::pool(frames, values).map_err(|source| SummaryError::Pooling { name: name.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::example::{bootstrap, outcome};

    #[test]
    fn every_model_and_feature_is_pooled() {
        let summary = ScoreSummary::of(&outcome("dis.mp4", &[90.0, 80.0, 70.0])).unwrap();
        assert_eq!(summary.frames, 3);
        assert!((summary.models[0].pooled.mean - 80.0).abs() < 1e-12);
        assert_eq!(
            summary.features.keys().collect::<Vec<_>>(),
            ["integer_adm2", "integer_motion2", "psnr_y"]
        );
    }

    #[test]
    fn each_end_of_a_confidence_interval_is_averaged_over_the_frames() {
        let summary = ScoreSummary::of(&bootstrap(&[90.0, 80.0])).unwrap();
        assert_eq!(summary.models[0].ci95, Some(ConfidenceInterval { low: 83.0, high: 86.0 }));
    }

    #[test]
    fn a_score_that_is_not_finite_is_an_error_with_its_frame() {
        let error = ScoreSummary::of(&outcome("dis.mp4", &[90.0, f64::NAN])).unwrap_err();
        assert_eq!(error, SummaryError::NoNumber { model: "vmaf_v0.6.1".to_owned(), frame: 1 });
    }

    #[test]
    fn a_comparison_without_frames_has_no_summary() {
        let error = ScoreSummary::of(&outcome("dis.mp4", &[])).unwrap_err();
        assert!(matches!(error, SummaryError::Pooling { source: PoolingError::Empty, .. }));
    }

    #[test]
    fn a_summary_serializes_flat_and_without_empty_fields() {
        let summary = ScoreSummary::of(&outcome("dis.mp4", &[90.0])).unwrap();
        let json = serde_json::to_value(summary).unwrap();
        assert_eq!(json["models"][0]["p1"]["frame"], 0);
        assert_eq!(json["models"][0]["harmonicMean"], 90.0);
        assert!(json["models"][0].get("ci95").is_none());
    }
}
