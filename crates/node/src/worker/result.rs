//! What the engine found in the words of a job. Pure.

use std::path::PathBuf;

use vmafx_scoring::outcome::{Outcome, Warning};
use vmafx_scoring::report::{Summary, SummaryError, pooling, wording};

use super::internal;
use crate::failure::Failure;
use crate::task::{Model, Pooled, Score, Task};

/// Calls clips and model by their addresses, for everything that is made of the outcome.
pub(super) fn renamed(mut outcome: Outcome, task: &Task) -> Outcome {
    outcome.reference.path = PathBuf::from(&task.reference.name);
    outcome.distorted.path = PathBuf::from(&task.distorted.name);
    if let Model::File { name, .. } = &task.model {
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

/// One comparison by one model.
pub(super) fn score(outcome: &Outcome) -> Result<Score, Failure> {
    let unfit = |error: SummaryError| internal(format!("the comparison cannot be summed up: {error}"));
    let summary = Summary::of(outcome).map_err(unfit)?;
    let Some(model) = summary.models.into_iter().next() else {
        return Err(internal("the comparison has no model"));
    };
    let mut warnings: Vec<String> = outcome.warnings.iter().map(wording::warning).collect();
    if let Some(because) = &model.picked_because {
        warnings.push(format!("The model {} was picked because {because}.", model.name));
    }
    // JSON has no word for infinite, and a mean of such values says nothing.
    let (finite, endless): (Vec<_>, Vec<_>) =
        summary.features.into_iter().partition(|(_, values)| values.mean.is_finite());
    warnings.extend(
        endless.iter().map(|(name, _)| format!("{name} is infinite for equal pictures, so it has no mean.")),
    );
    let format = outcome.alignment.format;
    Ok(Score {
        score: model.pooled.mean,
        features: finite.into_iter().map(|(name, values)| (name.to_lowercase(), values.mean)).collect(),
        model: model.name,
        model_digest: model.digest,
        frames: summary.frames,
        size: (format.width, format.height),
        pooled: pooled(&model.pooled),
        warnings,
    })
}

/// Without the frames that the numbers come from.
pub(crate) fn pooled(from: &pooling::Pooled) -> Pooled {
    Pooled {
        mean: from.mean,
        harmonic_mean: from.harmonic_mean,
        min: from.min.value,
        max: from.max.value,
        stddev: from.stddev,
        p1: from.p1.value,
        p5: from.p5.value,
        p10: from.p10.value,
        p50: from.p50.value,
    }
}
