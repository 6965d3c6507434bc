//! The result as a file.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Reason};
use crate::task::Score;

/// Most bytes: what Kubernetes keeps of a termination message.
pub const MOST_BYTES: usize = 4096;

/// How the job ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all_fields = "camelCase")]
pub enum RunResult {
    /// It has a score.
    Scored(Score),
    /// It has none.
    Failed {
        /// One word.
        reason: Reason,
        /// Its number: below 20 the job is at fault, from 20 on the machine.
        number: i32,
        /// One or two sentences.
        message: String,
    },
}

impl From<Result<Score, Failure>> for RunResult {
    fn from(result: Result<Score, Failure>) -> Self {
        match result {
            Ok(score) => Self::Scored(score),
            Err(Failure { reason, message }) => Self::Failed { reason, number: reason.number(), message },
        }
    }
}

impl RunResult {
    /// Exit code of a job that is at fault itself.
    pub const JOB: u8 = 2;
    /// Exit code of a machine that is.
    pub const MACHINE: u8 = 3;

    /// What the process ends with.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Scored(_) => 0,
            Self::Failed { reason, .. } if reason.may_pass() => Self::MACHINE,
            Self::Failed { .. } => Self::JOB,
        }
    }

    /// Writes it, short enough. In place: a container's termination message is a file that is mounted and cannot be
    /// replaced by another.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        std::fs::write(path, self.short()?)
    }

    /// As JSON of at most [`MOST_BYTES`]. What is least important goes first, and always the same: long warnings are
    /// cut, then warnings go, then features from the end of the alphabet; of a message the end goes.
    fn short(&self) -> io::Result<Vec<u8>> {
        let mut result = self.clone();
        loop {
            let text = serde_json::to_vec(&result)?;
            if text.len() <= MOST_BYTES || !result.give_way(text.len() - MOST_BYTES) {
                return Ok(text);
            }
        }
    }

    /// Leaves something out; whether there was something.
    fn give_way(&mut self, excess: usize) -> bool {
        match self {
            Self::Scored(score) => {
                if let Some(long) = score.warnings.iter_mut().find(|warning| warning.chars().count() > LONG) {
                    *long = long.chars().take(LONG - 1).chain(['…']).collect();
                    return true;
                }
                score.warnings.pop().is_some() || score.features.pop_last().is_some()
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

/// Most characters of a warning in a result that is too long.
const LONG: usize = 200;

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn score(features: usize, warnings: &[usize]) -> Score {
        Score {
            score: 92.520_902_752_687_05,
            features: (0..features)
                .map(|number| (format!("feature_{number:03}"), 0.123_456_789_012_345_6))
                .collect(),
            model: "vmaf_v0.6.1".to_owned(),
            model_digest: format!("sha256:{}", "0".repeat(64)),
            frames: 48,
            size: (160, 90),
            pooled: crate::task::Pooled::default(),
            warnings: warnings.iter().map(|length| "ä".repeat(*length)).collect(),
        }
    }

    fn shortened(result: &RunResult) -> RunResult {
        let text = result.short().unwrap();
        assert!(text.len() <= MOST_BYTES, "{}", text.len());
        assert_eq!(text, result.short().unwrap(), "always the same");
        serde_json::from_slice(&text).unwrap()
    }

    #[test]
    fn what_is_short_stays_as_it_is() {
        let result = RunResult::Scored(score(12, &[150, 10]));
        assert_eq!(shortened(&result), result);
    }

    #[test]
    fn long_warnings_are_cut_before_any_is_left_out() {
        let RunResult::Scored(found) = shortened(&RunResult::Scored(score(12, &[3000, 10]))) else {
            panic!()
        };
        assert_eq!(
            found.warnings.iter().map(|warning| warning.chars().count()).collect::<Vec<_>>(),
            [200, 10]
        );
        assert_eq!(found.features.len(), 12);
    }

    #[test]
    fn features_go_last_and_the_score_never() {
        let RunResult::Scored(found) = shortened(&RunResult::Scored(score(500, &[100; 50]))) else {
            panic!()
        };
        assert_eq!(found.warnings, Vec::<String>::new());
        assert!(found.features.contains_key("feature_000") && found.features.len() > 50);
        assert_eq!(found.score.to_bits(), 92.520_902_752_687_05_f64.to_bits());
    }

    #[rstest]
    #[case("x".repeat(10_000))]
    #[case("ä".repeat(10_000))]
    #[case("\u{1}".repeat(10_000))]
    fn a_message_keeps_its_beginning(#[case] message: String) {
        let result = RunResult::from(Err(Failure::new(Reason::InputInvalid, message.clone())));
        let RunResult::Failed { message: found, .. } = shortened(&result) else { panic!() };
        let kept = found.strip_suffix('…').unwrap();
        assert!(message.starts_with(kept) && kept.chars().count() > 500, "{}", kept.chars().count());
    }

    #[rstest]
    #[case(Reason::InputNotFound, 2)]
    #[case(Reason::OptionsInvalid, 2)]
    #[case(Reason::SourceUnreachable, 3)]
    #[case(Reason::Internal, 3)]
    fn the_exit_code_tells_whose_fault_it_is(#[case] reason: Reason, #[case] code: u8) {
        let result = RunResult::from(Err(Failure::new(reason, "")));
        assert_eq!(result.exit_code(), code);
    }
}
