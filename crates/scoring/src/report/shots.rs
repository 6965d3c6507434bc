//! The scores of each shot. Pure.

use serde::Serialize;

use crate::outcome::{ModelScores, ScoringOutcome};
use crate::report::pooling::{self, FrameValue};
use crate::shots::Shot;

/// A shot with the pooled scores of its frames.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShotSummary {
    #[serde(flatten)]
    pub shot: Shot,
    /// From the first pair to the first frame of the shot, if the frame rate is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_seconds: Option<f64>,
    /// The same to the first frame after the shot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_seconds: Option<f64>,
    /// In the order of the request; empty if the frame step left out all frames of the shot.
    pub models: Vec<ShotScore>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShotScore {
    /// Of the model.
    pub name: String,
    /// Arithmetic mean.
    pub mean: f64,
    /// The lowest score, at its first frame.
    pub min: FrameValue,
}

/// All shots, in their order.
pub fn of(outcome: &ScoringOutcome) -> Vec<ShotSummary> {
    let rate = outcome.frame_rate();
    #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53 frames")]
    let seconds = |frame: u64| Some(frame as f64 / rate?);
    let summary = |shot: &Shot| ShotSummary {
        shot: *shot,
        start_seconds: seconds(shot.first_frame),
        end_seconds: seconds(shot.end()),
        models: outcome.models.iter().filter_map(|model| score(outcome, model, *shot)).collect(),
    };
    outcome.shots.iter().map(summary).collect()
}

/// The shots that were scored, the lowest mean of the first model first.
pub fn worst_first(shots: &[ShotSummary]) -> Vec<&ShotSummary> {
    let mean = |shot: &ShotSummary| shot.models.first().map(|score| score.mean);
    let mut scored: Vec<&ShotSummary> = shots.iter().filter(|shot| mean(shot).is_some()).collect();
    let order = |shot: &ShotSummary| mean(shot).unwrap_or(f64::INFINITY);
    scored.sort_by(|a, b| order(a).total_cmp(&order(b)));
    scored
}

fn score(outcome: &ScoringOutcome, model: &ModelScores, shot: Shot) -> Option<ShotScore> {
    let row = |frame: u64| outcome.frames.partition_point(|&scored| scored < frame);
    let rows = row(shot.first_frame)..row(shot.end());
    let (frames, scores) = (outcome.frames.get(rows.clone())?, model.scores.get(rows)?);
    let values = frames.iter().zip(scores).map(|(&frame, &value)| FrameValue { value, frame });
    let min = values.min_by(|a, b| a.value.total_cmp(&b.value))?;
    Some(ShotScore { name: model.name.clone(), mean: pooling::mean(scores), min })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::example;

    /// Shots of two, one and two frames.
    fn outcome(scores: &[f64]) -> ScoringOutcome {
        let shot = |first_frame, frames| Shot { first_frame, frames };
        ScoringOutcome {
            shots: vec![shot(0, 2), shot(2, 1), shot(3, 2)],
            ..example::outcome("a.mp4", scores)
        }
    }

    #[test]
    fn a_shot_has_the_mean_and_the_minimum_of_its_frames() {
        let shots = of(&outcome(&[90.0, 80.0, 70.0, 50.0, 50.0]));
        let scores: Vec<_> = shots.iter().map(|shot| (shot.models[0].mean, shot.models[0].min)).collect();
        let min = |value, frame| FrameValue { value, frame };
        assert_eq!(scores, [(85.0, min(80.0, 1)), (70.0, min(70.0, 2)), (50.0, min(50.0, 3))]);
        assert_eq!((shots[2].start_seconds, shots[2].end_seconds), (Some(0.12), Some(0.2)));
    }

    #[test]
    fn a_shot_without_a_scored_frame_has_no_score_and_is_not_the_worst() {
        let mut outcome = outcome(&[90.0, 80.0]);
        outcome.frames = vec![0, 3];
        let shots = of(&outcome);
        assert_eq!(shots.iter().map(|shot| shot.models.len()).collect::<Vec<_>>(), [1, 0, 1]);
        let worst: Vec<u64> = worst_first(&shots).iter().map(|shot| shot.shot.first_frame).collect();
        assert_eq!(worst, [3, 0]);
    }

    #[test]
    fn without_a_frame_rate_there_are_no_seconds() {
        let mut outcome = outcome(&[90.0; 5]);
        (outcome.reference.frame_rate, outcome.distorted.frame_rate) = (None, None);
        assert_eq!(of(&outcome)[1].start_seconds, None);
    }
}
