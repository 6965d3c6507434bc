//! How a job of its own ended.

use serde::{Deserialize, Serialize};

use super::{Reason, Score};

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

impl RunResult {
    /// Exit code of a job that is at fault itself.
    pub const JOB: u8 = 2;
    /// Exit code of a machine that is.
    pub const MACHINE: u8 = 3;
    /// Exit code of wrong usage: nothing was tried.
    pub const USAGE: u8 = 64;

    /// From a score, or from why there is none.
    pub fn of(result: Result<Score, (Reason, String)>) -> Self {
        match result {
            Ok(score) => Self::Scored(score),
            Err((reason, message)) => Self::Failed { reason, number: reason.number(), message },
        }
    }

    /// What the process ends with.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Scored(_) => 0,
            Self::Failed { reason, .. } if reason.may_pass() => Self::MACHINE,
            Self::Failed { .. } => Self::JOB,
        }
    }

    /// As JSON of at most [`MOST_BYTES`]. What is least important goes first, and always the same: long warnings are
    /// cut, then warnings go, then features from the end of the alphabet; of a message the end goes.
    pub fn to_json(&self) -> serde_json::Result<Vec<u8>> {
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
            pooled: crate::run_once::Pooled::default(),
            warnings: warnings.iter().map(|length| "ä".repeat(*length)).collect(),
        }
    }

    fn shortened(result: &RunResult) -> RunResult {
        let text = result.to_json().unwrap();
        assert!(text.len() <= MOST_BYTES, "{}", text.len());
        assert_eq!(text, result.to_json().unwrap(), "always the same");
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
        let result = RunResult::of(Err((Reason::InputInvalid, message.clone())));
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
        let result = RunResult::of(Err((reason, String::new())));
        assert_eq!(result.exit_code(), code);
    }

    #[test]
    fn a_word_of_a_later_release_is_read_by_its_number() {
        let text = r#"{"outcome":"Failed","reason":"Haunted","number":7,"message":"boo","more":1}"#;
        let read: RunResult = serde_json::from_str(text).unwrap();
        assert_eq!(read, RunResult::Failed { reason: Reason::Other, number: 7, message: "boo".to_owned() });
    }
}
