//! The command's JSON in the words of a job. Pure.

use std::collections::BTreeMap;

use serde::Deserialize;
use vmafx_scoring::report::pooling;

use crate::failure::{Failure, Reason};
use crate::task::Score;
use crate::worker;

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

pub(super) fn score(text: &str, model: String, digest: String, size: (u32, u32)) -> Result<Score, Failure> {
    let unfit = |what: String| Failure::new(Reason::WorkerCrashed, format!("the engine's result {what}"));
    let output: Output =
        serde_json::from_str(text).map_err(|error| unfit(format!("cannot be read: {error}")))?;
    let mut features: BTreeMap<String, f64> =
        output.pooled_metrics.into_iter().map(|(name, pooled)| (name.to_lowercase(), pooled.mean)).collect();
    let score = features.remove(SCORE).ok_or_else(|| unfit(format!("has no mean of {SCORE}")))?;
    let numbers: Vec<u64> = output.frames.iter().map(|frame| frame.number).collect();
    let scores: Vec<f64> =
        output.frames.iter().filter_map(|frame| frame.metrics.get(SCORE).copied()).collect();
    let pooled =
        pooling::pool(&numbers, &scores).map_err(|error| unfit(format!("cannot be pooled: {error}")))?;
    Ok(Score {
        score,
        features,
        model,
        model_digest: digest,
        frames: numbers.len() as u64,
        size,
        pooled: worker::pooled(&pooled),
        warnings: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn parse(text: &str) -> Result<Score, Failure> {
        score(text, "m".to_owned(), "sha256:0".to_owned(), (160, 90))
    }

    #[test]
    fn names_are_lower_case_and_the_score_is_no_feature() {
        let found = parse(
            r#"{"version":"3","fps":9.5,"frames":[{"frameNum":0,"metrics":{"vmaf":90.0,"x":1.0}},{"frameNum":5,"metrics":{"vmaf":92.0}}],
                "pooled_metrics":{"vmaf":{"mean":91.0,"min":90.0},"PSNR_Y":{"mean":40.5}},"aggregate_metrics":{}}"#,
        )
        .unwrap();
        assert_eq!((found.score, found.frames, found.pooled.min, found.pooled.max), (91.0, 2, 90.0, 92.0));
        assert_eq!(found.features, BTreeMap::from([("psnr_y".to_owned(), 40.5)]));
    }

    #[rstest]
    #[case::empty("", "cannot be read")]
    #[case::no_number(r#"{"frames":[],"pooled_metrics":{"vmaf":{"mean":nan}}}"#, "cannot be read")]
    #[case::nothing(r#"{"frames":[],"pooled_metrics":{}}"#, "has no mean of vmaf")]
    #[case::no_frames(r#"{"frames":[],"pooled_metrics":{"vmaf":{"mean":9.0}}}"#, "cannot be pooled")]
    fn a_result_without_a_score_says_so(#[case] text: &str, #[case] what: &str) {
        let failure = parse(text).unwrap_err();
        assert_eq!(failure.reason, Reason::WorkerCrashed);
        assert!(failure.message.contains(what), "{}", failure.message);
    }
}
