//! Everything that is known about a comparison once its frames are pooled: small enough for a job's status.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::outcome::{Interval, ModelScores, Outcome, Warning};
use crate::report::metrics;
use crate::report::pooling::{self, Pooled, PoolingError};

/// One comparison in numbers.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Frames that were scored.
    pub frames: u64,
    /// What each model says, in the order in which the models were asked for.
    pub models: Vec<ModelSummary>,
    /// The features, by libvmaf's short name.
    pub features: BTreeMap<String, Pooled>,
    /// What a careful reader should know.
    pub warnings: Vec<Warning>,
}

/// One model's word on a comparison.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelSummary {
    /// Name of the model.
    pub name: String,
    /// Digest of the model.
    pub digest: String,
    /// Why `auto` picked it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picked_because: Option<String>,
    /// The pooled scores.
    #[serde(flatten)]
    pub pooled: Pooled,
    /// The 95 % confidence interval, each end averaged over the frames as libvmaf pools it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci95: Option<Interval>,
}

/// A comparison that has no summary.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SummaryError {
    /// A model gave something that is no score.
    #[error("model {model} gave no number for frame {frame}")]
    NoNumber {
        /// The model.
        model: String,
        /// The frame.
        frame: u64,
    },
    /// The numbers cannot be pooled.
    #[error("the values of {name} cannot be pooled")]
    Pooling {
        /// The model or feature.
        name: String,
        /// Why.
        source: PoolingError,
    },
}

impl Summary {
    /// Pools a comparison.
    pub fn of(outcome: &Outcome) -> Result<Self, SummaryError> {
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

fn pool_intervals(name: &str, frames: &[u64], intervals: &[Interval]) -> Result<Interval, SummaryError> {
    let lows: Vec<f64> = intervals.iter().map(|interval| interval.low).collect();
    let highs: Vec<f64> = intervals.iter().map(|interval| interval.high).collect();
    let (low, high) = (pool(name, frames, &lows)?.mean, pool(name, frames, &highs)?.mean);
    Ok(Interval { low, high })
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
        let summary = Summary::of(&outcome("dis.mp4", &[90.0, 80.0, 70.0])).unwrap();
        assert_eq!(summary.frames, 3);
        assert!((summary.models[0].pooled.mean - 80.0).abs() < 1e-12);
        assert_eq!(
            summary.features.keys().collect::<Vec<_>>(),
            ["integer_adm2", "integer_motion2", "psnr_y"]
        );
    }

    #[test]
    fn each_end_of_a_confidence_interval_is_averaged_over_the_frames() {
        let summary = Summary::of(&bootstrap(&[90.0, 80.0])).unwrap();
        assert_eq!(summary.models[0].ci95, Some(Interval { low: 83.0, high: 86.0 }));
    }

    #[test]
    fn a_score_that_is_no_number_stops_the_summary_and_names_its_frame() {
        let error = Summary::of(&outcome("dis.mp4", &[90.0, f64::NAN])).unwrap_err();
        assert_eq!(error, SummaryError::NoNumber { model: "vmaf_v0.6.1".to_owned(), frame: 1 });
    }

    #[test]
    fn a_comparison_without_frames_has_no_summary() {
        let error = Summary::of(&outcome("dis.mp4", &[])).unwrap_err();
        assert!(matches!(error, SummaryError::Pooling { source: PoolingError::Empty, .. }));
    }

    #[test]
    fn a_summary_serialises_flat_and_without_empty_fields() {
        let summary = Summary::of(&outcome("dis.mp4", &[90.0])).unwrap();
        let json = serde_json::to_value(summary).unwrap();
        assert_eq!(json["models"][0]["p1"]["frame"], 0);
        assert_eq!(json["models"][0]["harmonicMean"], 90.0);
        assert!(json["models"][0].get("ci95").is_none());
    }
}
