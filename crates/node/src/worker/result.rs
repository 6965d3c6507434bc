//! Converts the outcome of `vmafx-scoring` into a result. Pure.

use std::path::PathBuf;

use vmafx_job::{Failure, FrameSize, PooledScores, ScoreDetails, ScoreResult};
use vmafx_scoring::outcome::{ScoringOutcome, Warning};
use vmafx_scoring::report::{ScoreSummary, SummaryError, wording};

use super::internal;
use crate::task::{ModelSource, Task};

/// Replaces local paths by the addresses of the job, for the result and for the report.
pub(super) fn with_public_names(mut outcome: ScoringOutcome, task: &Task) -> ScoringOutcome {
    outcome.reference.path = PathBuf::from(&task.reference.name);
    outcome.distorted.path = PathBuf::from(&task.distorted.name);
    if let ModelSource::File { name, .. } = &task.model {
        for scores in &mut outcome.models {
            scores.name.clone_from(name);
        }
        for warning in &mut outcome.warnings {
            if let Warning::HdrWithSdrModel { model, .. } | Warning::NearZeroFrames { model, .. } = warning {
                model.clone_from(name);
            }
        }
    }
    outcome
}

/// The result of a comparison with one model.
pub(super) fn score_result(outcome: &ScoringOutcome) -> Result<ScoreResult, Failure> {
    let summary = ScoreSummary::of(outcome).map_err(|error: SummaryError| {
        internal(format!("the scores of the frames cannot be summarized: {error}"))
    })?;
    let Some(model) = summary.models.into_iter().next() else {
        return Err(internal("the comparison has no model"));
    };
    let mut warnings: Vec<String> = outcome.warnings.iter().map(wording::warning).collect();
    if let Some(because) = &model.picked_because {
        warnings.push(format!("The model {} was picked because {because}.", model.name));
    }
    // JSON cannot carry an infinite number.
    let (finite, infinite): (Vec<_>, Vec<_>) =
        summary.features.into_iter().partition(|(_, values)| values.mean.is_finite());
    warnings.extend(
        infinite.iter().map(|(name, _)| format!("{name} is infinite for equal pictures, so it has no mean.")),
    );
    let format = outcome.alignment.format;
    Ok(ScoreResult {
        score: model.pooled.mean,
        features: finite.into_iter().map(|(name, values)| (name.to_lowercase(), values.mean)).collect(),
        details: Some(ScoreDetails {
            model: model.name,
            model_digest: model.digest,
            engine: outcome.engine.features.clone(),
            frames: summary.frames,
            size: Some(FrameSize { width: format.width, height: format.height }),
            scores: Some(PooledScores::from(&model.pooled)),
            warnings,
            ..ScoreDetails::default()
        }),
    })
}
