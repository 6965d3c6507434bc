//! What a trainer says of itself.
//!
//! `phase`, `current_samples`, `last_checkpoint_time` and `model_version` are what every trainer says; the rest is what
//! ours says too. Keys that are not known are ignored, and one that is missing, null or empty says nothing.

use k8s_openapi::jiff::Timestamp;
use serde::{Deserialize, Deserializer, de};
use serde_json::{Map, Value};
use vmafx_api::training::{TrainingMetrics, TrainingPhase};

use crate::conditions::whole_second;

/// An answer that is no report.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0}")]
pub struct InvalidReport(String);

/// What a trainer says.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainerReport {
    /// Where it stands; a word that is not known is one of a trainer that is not ready.
    pub phase: TrainingPhase,
    /// Samples learned from.
    pub samples: Option<i32>,
    /// Of these, since the last checkpoint.
    pub samples_pending: Option<i32>,
    /// When the last checkpoint was written, in whole seconds as a status has them.
    pub checkpoint: Option<Timestamp>,
    /// Its version.
    pub version: Option<String>,
    /// Its digest.
    pub digest: Option<String>,
    /// The version that is known to be good.
    pub stable_version: Option<String>,
    /// How good the model is.
    pub metrics: TrainingMetrics,
    /// Whether the last checkpoint was good enough for the stable tag.
    pub gate_passed: Option<bool>,
    /// Why.
    pub gate_message: String,
    /// Why the last checkpoint has not reached the registry; empty if it has.
    pub push_error: String,
    /// Why it cannot go on.
    pub error: String,
}

impl Default for TrainerReport {
    fn default() -> Self {
        Self {
            phase: TrainingPhase::Initializing,
            samples: None,
            samples_pending: None,
            checkpoint: None,
            version: None,
            digest: None,
            stable_version: None,
            metrics: TrainingMetrics::default(),
            gate_passed: None,
            gate_message: String::new(),
            push_error: String::new(),
            error: String::new(),
        }
    }
}

/// As it is sent.
#[derive(Deserialize)]
struct Wire {
    phase: Option<String>,
    current_samples: Option<u64>,
    samples_pending: Option<u64>,
    #[serde(default, deserialize_with = "time")]
    last_checkpoint_time: Option<Timestamp>,
    model_version: Option<String>,
    digest: Option<String>,
    stable_version: Option<String>,
    rmse: Option<f64>,
    plcc: Option<f64>,
    srocc: Option<f64>,
    base_rmse: Option<f64>,
    base_srocc: Option<f64>,
    gate_passed: Option<bool>,
    gate_message: Option<String>,
    push_error: Option<String>,
    error: Option<String>,
}

impl TrainerReport {
    /// Reads an answer. What is wrong with it names the key.
    pub fn parse(body: &[u8]) -> Result<Self, InvalidReport> {
        // An object first: a list of seventeen values would pass for one.
        let object: Map<String, Value> =
            serde_json::from_slice(body).map_err(|error| InvalidReport(error.to_string()))?;
        let read: Result<Wire, _> = serde_path_to_error::deserialize(Value::Object(object));
        let wire = read.map_err(|error| InvalidReport(error.to_string()))?;
        Ok(Self {
            phase: phase(wire.phase.as_deref().unwrap_or_default()),
            samples: wire.current_samples.map(count),
            samples_pending: wire.samples_pending.map(count),
            checkpoint: wire.last_checkpoint_time,
            version: text(wire.model_version),
            digest: text(wire.digest),
            stable_version: text(wire.stable_version),
            metrics: TrainingMetrics {
                rmse: wire.rmse,
                plcc: wire.plcc,
                srocc: wire.srocc,
                base_rmse: wire.base_rmse,
                base_srocc: wire.base_srocc,
            },
            gate_passed: wire.gate_passed,
            gate_message: wire.gate_message.unwrap_or_default(),
            push_error: wire.push_error.unwrap_or_default(),
            error: wire.error.unwrap_or_default(),
        })
    }

    /// The same without a word about a checkpoint.
    #[must_use]
    pub fn without_checkpoint(&self) -> Self {
        Self { checkpoint: None, version: None, digest: None, ..self.clone() }
    }
}

fn phase(word: &str) -> TrainingPhase {
    match word {
        "running" => TrainingPhase::Running,
        "paused" => TrainingPhase::Paused,
        "failed" => TrainingPhase::Failed,
        _ => TrainingPhase::Initializing,
    }
}

/// More samples than a status can hold are as many as it can.
fn count(samples: u64) -> i32 {
    i32::try_from(samples).unwrap_or(i32::MAX)
}

fn text(value: Option<String>) -> Option<String> {
    value.filter(|text| !text.is_empty())
}

/// A time before 1970 is what some languages write for none.
fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    let Some(text) = text(Option::deserialize(deserializer)?) else { return Ok(None) };
    let time: Timestamp = text
        .parse()
        .map_err(|_| de::Error::custom(format!("\"{text}\" is no time such as 2026-01-31T12:00:00Z")))?;
    Ok(Some(whole_second(time)).filter(|time| time.as_second() > 0))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_four_keys_of_every_trainer() {
        let body = json!({ "phase": "running", "current_samples": 4200,
            "last_checkpoint_time": "2026-11-16T10:00:00.75+01:00", "model_version": "m-v000004" });
        let expected = TrainerReport {
            phase: TrainingPhase::Running,
            samples: Some(4200),
            checkpoint: Some("2026-11-16T09:00:00Z".parse().unwrap()),
            version: Some("m-v000004".to_owned()),
            ..TrainerReport::default()
        };
        assert_eq!(TrainerReport::parse(body.to_string().as_bytes()), Ok(expected));
    }

    #[test]
    fn and_ours() {
        let body = json!({ "phase": "failed", "samples_pending": 7, "stable_version": "m-v000003",
            "digest": "sha256:ab", "rmse": 0.25, "plcc": 0.5, "srocc": 0.75, "base_rmse": 1, "base_srocc": -0.5,
            "gate_passed": false, "gate_message": "too far off", "push_error": "401", "error": "no samples",
            "of_next_year": { "a": [] } });
        let report = TrainerReport::parse(body.to_string().as_bytes()).unwrap();
        let metrics = TrainingMetrics {
            rmse: Some(0.25),
            plcc: Some(0.5),
            srocc: Some(0.75),
            base_rmse: Some(1.0),
            base_srocc: Some(-0.5),
        };
        assert_eq!((report.phase, report.metrics), (TrainingPhase::Failed, metrics));
        assert_eq!((report.samples_pending, report.gate_passed), (Some(7), Some(false)));
        let texts = [report.gate_message, report.push_error, report.error, report.digest.unwrap_or_default()];
        assert_eq!(texts, ["too far off", "401", "no samples", "sha256:ab"]);
    }

    #[rstest]
    #[case("initializing", TrainingPhase::Initializing)]
    #[case("running", TrainingPhase::Running)]
    #[case("paused", TrainingPhase::Paused)]
    #[case("failed", TrainingPhase::Failed)]
    #[case("meditating", TrainingPhase::Initializing)]
    #[case("Running", TrainingPhase::Initializing)]
    fn words_that_are_not_known_are_of_a_trainer_that_is_not_ready(
        #[case] word: &str,
        #[case] phase: TrainingPhase,
    ) {
        let body = json!({ "phase": word }).to_string();
        assert_eq!(TrainerReport::parse(body.as_bytes()).unwrap().phase, phase);
    }

    #[rstest]
    #[case::nothing(json!({}))]
    #[case::nulls(json!({ "phase": null, "current_samples": null, "last_checkpoint_time": null }))]
    #[case::empty(json!({ "last_checkpoint_time": "", "model_version": "", "digest": "" }))]
    #[case::no_time(json!({ "last_checkpoint_time": "0001-01-01T00:00:00Z" }))]
    fn what_is_not_said_is_not_known(#[case] body: serde_json::Value) {
        assert_eq!(TrainerReport::parse(body.to_string().as_bytes()), Ok(TrainerReport::default()));
    }

    #[rstest]
    #[case(r#"{"current_samples": "many"}"#, "current_samples: ")]
    #[case(r#"{"current_samples": -1}"#, "current_samples: ")]
    #[case(r#"{"phase": 3}"#, "phase: ")]
    #[case(r#"{"last_checkpoint_time": "yesterday"}"#, "last_checkpoint_time: \"yesterday\"")]
    #[case(r#"{"rmse": "NaN"}"#, "rmse: ")]
    #[case(r#"{"gate_passed": "yes"}"#, "gate_passed: ")]
    #[case("[]", "invalid type")]
    #[case("<html>", "expected value")]
    #[case("", "EOF")]
    #[case("{} {}", "trailing")]
    fn what_makes_no_sense_names_the_key(#[case] body: &str, #[case] words: &str) {
        let InvalidReport(said) = TrainerReport::parse(body.as_bytes()).unwrap_err();
        assert!(said.contains(words), "{said}");
    }

    #[test]
    fn more_samples_than_fit_are_as_many_as_fit() {
        let report = TrainerReport::parse(br#"{"current_samples": 9000000000}"#).unwrap();
        assert_eq!(report.samples, Some(i32::MAX));
    }
}
