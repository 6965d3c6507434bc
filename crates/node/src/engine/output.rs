//! Converts the command's JSON into a result. Pure.

use std::collections::BTreeMap;

use serde::Deserialize;
use vmafx_job::{Failure, FailureReason, FrameSize, PooledScores, ScoreDetails, ScoreResult};
use vmafx_scoring::report::pooling;

/// The score's name, in lower case.
const SCORE: &str = "vmaf";

#[derive(Deserialize)]
struct Output {
    frames: Vec<Frame>,
    pooled_metrics: BTreeMap<String, Mean>,
}

#[derive(Deserialize)]
struct Frame {
    #[serde(rename = "frameNum")]
    number: u64,
    metrics: BTreeMap<String, f64>,
}

#[derive(Deserialize)]
struct Mean {
    mean: f64,
}

pub(super) fn score_result(
    text: &str,
    model: String,
    model_digest: String,
    size: FrameSize,
) -> Result<ScoreResult, Failure> {
    let invalid = |problem: String| {
        Failure::new(FailureReason::WorkerCrashed, format!("the result of the external engine {problem}"))
    };
    let output: Output =
        serde_json::from_str(text).map_err(|error| invalid(format!("cannot be parsed: {error}")))?;
    let mut features: BTreeMap<String, f64> =
        output.pooled_metrics.into_iter().map(|(name, pooled)| (name.to_lowercase(), pooled.mean)).collect();
    let score = features.remove(SCORE).ok_or_else(|| invalid(format!("has no mean of {SCORE}")))?;
    let numbers: Vec<u64> = output.frames.iter().map(|frame| frame.number).collect();
    let scores: Vec<f64> =
        output.frames.iter().filter_map(|frame| frame.metrics.get(SCORE).copied()).collect();
    let pooled =
        pooling::pool(&numbers, &scores).map_err(|error| invalid(format!("cannot be pooled: {error}")))?;
    let details = ScoreDetails {
        model,
        model_digest,
        frames: numbers.len() as u64,
        size: Some(size),
        scores: Some(PooledScores::from(&pooled)),
        ..ScoreDetails::default()
    };
    Ok(ScoreResult { score, features, details: Some(details) })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn parse(text: &str) -> Result<ScoreResult, Failure> {
        score_result(text, "m".to_owned(), "sha256:0".to_owned(), FrameSize { width: 160, height: 90 })
    }

    #[test]
    fn names_are_lower_case_and_the_score_is_no_feature() {
        let result = parse(
            r#"{"version":"3","fps":9.5,"frames":[{"frameNum":0,"metrics":{"vmaf":90.0,"x":1.0}},{"frameNum":5,"metrics":{"vmaf":92.0}}],
                "pooled_metrics":{"vmaf":{"mean":91.0,"min":90.0},"PSNR_Y":{"mean":40.5}},"aggregate_metrics":{}}"#,
        )
        .unwrap();
        let details = result.details.unwrap();
        let scores = details.scores.unwrap();
        assert_eq!((result.score, details.frames, scores.min, scores.max), (91.0, 2, 90.0, 92.0));
        assert_eq!(result.features, BTreeMap::from([("psnr_y".to_owned(), 40.5)]));
    }

    #[rstest]
    #[case::empty("", "cannot be parsed")]
    #[case::no_number(r#"{"frames":[],"pooled_metrics":{"vmaf":{"mean":nan}}}"#, "cannot be parsed")]
    #[case::nothing(r#"{"frames":[],"pooled_metrics":{}}"#, "has no mean of vmaf")]
    #[case::no_frames(r#"{"frames":[],"pooled_metrics":{"vmaf":{"mean":9.0}}}"#, "cannot be pooled")]
    fn a_result_without_a_score_is_refused(#[case] text: &str, #[case] problem: &str) {
        let failure = parse(text).unwrap_err();
        assert_eq!(failure.reason, FailureReason::WorkerCrashed);
        assert!(failure.message.contains(problem), "{}", failure.message);
    }
}
