//! How `vmafx-node run-once` ended: JSON, small enough for the termination message of a container.
//!
//! The operator reads what the node wrote, and the image of the one may be older or newer than the other: unknown keys are
//! ignored, and an unknown reason is classified by its number.

use serde::{Deserialize, Serialize};

use crate::{Failure, FailureReason, ScoreResult};

/// What Kubernetes keeps of a termination message.
pub const MAX_RUN_RESULT_BYTES: usize = 4096;

/// How the job ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all_fields = "camelCase")]
pub enum RunResult {
    Scored(Box<ScoreResult>),
    Failed {
        reason: FailureReason,
        /// The number of the reason, for a reader that does not know its name.
        number: i32,
        message: String,
    },
}

impl From<Result<ScoreResult, Failure>> for RunResult {
    fn from(result: Result<ScoreResult, Failure>) -> Self {
        match result {
            Ok(score) => Self::Scored(Box::new(score)),
            Err(Failure { reason, message }) => Self::Failed { reason, number: reason.number(), message },
        }
    }
}

/// Characters that a warning keeps in a result that is too long.
const SHORTENED_WARNING: usize = 200;

impl RunResult {
    /// Exit code when the job or its input is at fault.
    pub const EXIT_FINAL: u8 = 2;
    /// Exit code when the machine or the network is at fault.
    pub const EXIT_RETRYABLE: u8 = 3;
    /// Exit code of wrong usage: nothing was tried.
    pub const EXIT_USAGE: u8 = 64;

    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Scored(_) => 0,
            Self::Failed { reason, .. } if reason.is_retryable() => Self::EXIT_RETRYABLE,
            Self::Failed { .. } => Self::EXIT_FINAL,
        }
    }

    /// The reason of a failure; the number counts where the name is that of a later release.
    pub fn reason(&self) -> Option<FailureReason> {
        match self {
            Self::Scored(_) => None,
            Self::Failed { reason: FailureReason::Newer(_), number, .. } => {
                Some(FailureReason::from_number(*number))
            }
            Self::Failed { reason, .. } => Some(*reason),
        }
    }

    /// Shortens the result until `encode` makes at most [`MAX_RUN_RESULT_BYTES`] of it. What matters least goes first, and
    /// always the same: long warnings are cut, then warnings go, then features from the end of the alphabet; a message
    /// loses its end.
    pub fn encode_bounded<E>(&self, encode: impl Fn(&Self) -> Result<Vec<u8>, E>) -> Result<Vec<u8>, E> {
        let mut result = self.clone();
        loop {
            let text = encode(&result)?;
            if text.len() <= MAX_RUN_RESULT_BYTES || !result.shorten(text.len() - MAX_RUN_RESULT_BYTES) {
                return Ok(text);
            }
        }
    }

    /// Leaves something out; whether there was something left to leave out.
    fn shorten(&mut self, excess: usize) -> bool {
        match self {
            Self::Scored(score) => {
                let warnings = score.details.as_mut().map(|details| &mut details.warnings);
                let long = |warning: &&mut String| warning.chars().count() > SHORTENED_WARNING;
                if let Some(warnings) = warnings {
                    if let Some(long) = warnings.iter_mut().find(long) {
                        *long = long.chars().take(SHORTENED_WARNING - 1).chain(['…']).collect();
                        return true;
                    }
                    if warnings.pop().is_some() {
                        return true;
                    }
                }
                score.features.pop_last().is_some()
            }
            Self::Failed { message, .. } => {
                // A character takes up to six bytes in JSON.
                let count = message.chars().count();
                let fewer = count.saturating_sub((excess / 6).max(1) + 1);
                *message = message.chars().take(fewer).chain(['…']).collect();
                count > 1
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::ScoreDetails;

    fn scored(features: usize, warnings: &[usize]) -> RunResult {
        RunResult::Scored(Box::new(ScoreResult {
            score: 92.520_902_752_687_05,
            features: (0..features)
                .map(|number| (format!("feature_{number:03}"), 0.123_456_789_012_345_6))
                .collect(),
            details: Some(ScoreDetails {
                model: "vmaf_v0.6.1".to_owned(),
                model_digest: format!("sha256:{}", "0".repeat(64)),
                frames: 48,
                warnings: warnings.iter().map(|length| "ä".repeat(*length)).collect(),
                ..ScoreDetails::default()
            }),
        }))
    }

    fn shortened(result: &RunResult) -> RunResult {
        let encode = || result.encode_bounded(serde_json::to_vec).unwrap();
        let text = encode();
        assert!(text.len() <= MAX_RUN_RESULT_BYTES, "{}", text.len());
        assert_eq!(text, encode(), "always the same");
        serde_json::from_slice(&text).unwrap()
    }

    fn warnings_and_features(result: &RunResult) -> (Vec<usize>, usize) {
        let RunResult::Scored(score) = result else { panic!("{result:?}") };
        let warnings = &score.details.as_ref().unwrap().warnings;
        (warnings.iter().map(|warning| warning.chars().count()).collect(), score.features.len())
    }

    #[test]
    fn a_short_result_stays_as_it_is() {
        let result = scored(12, &[150, 10]);
        assert_eq!(shortened(&result), result);
    }

    #[test]
    fn long_warnings_are_cut_before_any_is_left_out() {
        assert_eq!(warnings_and_features(&shortened(&scored(12, &[3000, 10]))), (vec![200, 10], 12));
    }

    #[test]
    fn features_go_last_and_the_score_never() {
        let result = shortened(&scored(500, &[100; 50]));
        let (warnings, features) = warnings_and_features(&result);
        assert!(warnings.is_empty() && features > 50, "{warnings:?} {features}");
        let RunResult::Scored(score) = result else { panic!() };
        assert!(score.features.contains_key("feature_000"));
        assert_eq!(score.score.to_bits(), 92.520_902_752_687_05_f64.to_bits());
    }

    #[rstest]
    #[case("x".repeat(10_000))]
    #[case("ä".repeat(10_000))]
    #[case("\u{1}".repeat(10_000))]
    fn a_message_keeps_its_beginning(#[case] message: String) {
        let result = RunResult::from(Err(Failure::new(FailureReason::InputInvalid, message.clone())));
        let RunResult::Failed { message: found, .. } = shortened(&result) else { panic!() };
        let kept = found.strip_suffix('…').unwrap();
        assert!(message.starts_with(kept) && kept.chars().count() > 500, "{}", kept.chars().count());
    }

    #[rstest]
    #[case(FailureReason::InputNotFound, 2)]
    #[case(FailureReason::OptionsInvalid, 2)]
    #[case(FailureReason::SourceUnreachable, 3)]
    #[case(FailureReason::Internal, 3)]
    fn the_exit_code_tells_whether_to_try_again(#[case] reason: FailureReason, #[case] code: u8) {
        assert_eq!(RunResult::from(Err(Failure::new(reason, ""))).exit_code(), code);
    }

    #[test]
    fn a_reason_of_a_later_release_is_classified_by_its_number() {
        let text = r#"{"outcome":"Failed","reason":"Haunted","number":7,"message":"boo","more":1}"#;
        let read: RunResult = serde_json::from_str(text).unwrap();
        assert_eq!(read.reason(), Some(FailureReason::ModelInvalid));
        let text = r#"{"outcome":"Failed","reason":"Haunted","number":33,"message":"boo"}"#;
        let read: RunResult = serde_json::from_str(text).unwrap();
        assert_eq!(read.reason(), Some(FailureReason::Newer(33)));
    }

    #[test]
    fn a_score_that_an_older_node_wrote_is_read() {
        let text = r#"{"outcome":"Scored","score":92.5,"features":{"vmaf":92.5},"model":"m","modelDigest":"sha256:ab",
            "frames":48,"size":[160,90],"pooled":{"mean":92.5,"harmonicMean":92.0,"min":1.0,"max":99.0,"stddev":1.0,
            "p1":1.0,"p5":2.0,"p10":3.0,"p50":4.0},"warnings":[]}"#;
        let RunResult::Scored(score) = serde_json::from_str(text).unwrap() else { panic!() };
        let details = score.details.unwrap();
        assert_eq!((details.frames, details.size.unwrap().width), (48, 160));
        assert_eq!(details.scores.unwrap().p50.to_bits(), 4.0_f64.to_bits());
    }
}
