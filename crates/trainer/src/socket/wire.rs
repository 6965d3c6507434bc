//! What is said on the socket.

use serde::{Deserialize, Serialize};

/// A sample as clients send it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Offered {
    /// The job.
    pub job_id: String,
    /// Its features, in the order of the model.
    pub features: Vec<f64>,
    /// What viewers said, 0 to 100.
    pub true_score: f64,
}

impl Offered {
    /// Reads a line; what is wrong with it is for the client.
    pub(super) fn parse(line: &[u8]) -> Result<Self, String> {
        // Only an object: a list of three would pass for one.
        let object: serde_json::Map<String, serde_json::Value> =
            serde_json::from_slice(line).map_err(|error| format!("no JSON object: {error}"))?;
        serde_json::from_value(object.into()).map_err(|error| error.to_string())
    }
}

/// What a client is told.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Answer {
    /// It was taken.
    Taken {
        /// Always true.
        ok: bool,
        /// Samples learned from, with this one.
        step: u64,
        /// Whether the model moved; it did not if the sample was put aside for the gate.
        trained: bool,
        /// Square of what the prediction was off by.
        #[serde(skip_serializing_if = "Option::is_none")]
        loss: Option<f64>,
        /// Which one it was.
        job_id: String,
    },
    /// Not now.
    Later {
        /// Always false.
        ok: bool,
        /// Always true.
        retryable: bool,
        /// Why not.
        error: String,
    },
    /// Never.
    Refused {
        /// Always false.
        ok: bool,
        /// Why not.
        error: String,
    },
}

impl Answer {
    /// It was taken.
    pub fn taken(step: u64, loss: Option<f64>, job_id: String) -> Self {
        Self::Taken { ok: true, step, trained: loss.is_some(), loss, job_id }
    }

    /// Not now.
    pub fn later(error: impl Into<String>) -> Self {
        Self::Later { ok: false, retryable: true, error: error.into() }
    }

    /// Never.
    pub fn refused(error: impl Into<String>) -> Self {
        Self::Refused { ok: false, error: error.into() }
    }

    /// As a line.
    pub(super) fn line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::trained(Answer::taken(7, Some(0.25), "j".into()), r#"{"ok":true,"step":7,"trained":true,"loss":0.25,"job_id":"j"}"#)]
    #[case::put_aside(Answer::taken(7, None, "j".into()), r#"{"ok":true,"step":7,"trained":false,"job_id":"j"}"#)]
    #[case::full(Answer::later("full"), r#"{"ok":false,"retryable":true,"error":"full"}"#)]
    #[case::malformed(Answer::refused("no"), r#"{"ok":false,"error":"no"}"#)]
    fn answers_are_those_of_the_contract(#[case] answer: Answer, #[case] line: &str) {
        assert_eq!(String::from_utf8(answer.line()).unwrap(), format!("{line}\n"));
    }

    #[rstest]
    #[case::empty("", "no JSON object")]
    #[case::no_json("hello", "no JSON object")]
    #[case::a_list(r#"["j", [1], 2]"#, "no JSON object")]
    #[case::two("{} {}", "no JSON object")]
    #[case::nan(r#"{"job_id":"j","features":[NaN],"true_score":1}"#, "no JSON object")]
    #[case::too_large_for_a_number(
        r#"{"job_id":"j","features":[1e999],"true_score":1}"#,
        "number out of range"
    )]
    #[case::text(r#"{"job_id":"j","features":["1"],"true_score":1}"#, "expected f64")]
    #[case::truth(r#"{"job_id":"j","features":[true],"true_score":1}"#, "expected f64")]
    #[case::null(r#"{"job_id":"j","features":[null],"true_score":1}"#, "expected f64")]
    #[case::no_features(r#"{"job_id":"j","true_score":1}"#, "missing field `features`")]
    #[case::no_score(r#"{"job_id":"j","features":[]}"#, "missing field `true_score`")]
    #[case::no_job(r#"{"features":[],"true_score":1}"#, "missing field `job_id`")]
    #[case::job_is_a_number(r#"{"job_id":7,"features":[],"true_score":1}"#, "expected a string")]
    fn what_is_wrong_with_a_line_is_said(#[case] line: &str, #[case] why: &str) {
        let said = Offered::parse(line.as_bytes()).unwrap_err();
        assert!(said.contains(why), "{said}");
    }

    #[test]
    fn more_than_is_needed_does_no_harm() {
        let line = br#"{"job_id":"j","features":[1,2.5],"true_score":70,"node":"n"}"#;
        let expected = Offered { job_id: "j".into(), features: vec![1.0, 2.5], true_score: 70.0 };
        assert_eq!(Offered::parse(line), Ok(expected));
    }
}
