//! The status report of a trainer.
//!
//! Every trainer reports `phase`, `current_samples`, `last_checkpoint_time` and `model_version`; VMAFX's own trainer reports
//! the rest too. Unknown keys are ignored, and a key that is missing, null or empty reports nothing.

use k8s_openapi::jiff::Timestamp;
use serde::{Deserialize, Deserializer, de};
use serde_json::{Map, Value};
use vmafx_api::training::{TrainingMetrics, TrainingPhase};

use crate::conditions::whole_second;

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0}")]
pub struct InvalidReport(String);

#[derive(Clone, Debug, PartialEq)]
pub struct TrainerReport {
    /// An unknown phase counts as `Initializing`.
    pub phase: TrainingPhase,
    pub samples: Option<i32>,
    /// Samples since the last checkpoint.
    pub samples_pending: Option<i32>,
    /// Time of the last checkpoint, in whole seconds as a status has them.
    pub checkpoint: Option<Timestamp>,
    pub version: Option<String>,
    pub digest: Option<String>,
    /// The last version that passed the gate.
    pub stable_version: Option<String>,
    pub metrics: TrainingMetrics,
    /// Whether the last checkpoint passed the gate.
    pub gate_passed: Option<bool>,
    pub gate_message: String,
    /// Why the last checkpoint could not be pushed; empty if it was.
    pub push_error: String,
    /// Why the trainer has failed.
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

#[derive(Deserialize)]
struct WireReport {
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
    /// An error names the key.
    pub fn parse(body: &[u8]) -> Result<Self, InvalidReport> {
        // The object is decoded first, because a list of seventeen values would pass for a report.
        let object: Map<String, Value> =
            serde_json::from_slice(body).map_err(|error| InvalidReport(error.to_string()))?;
        let decoded: Result<WireReport, _> = serde_path_to_error::deserialize(Value::Object(object));
        let wire = decoded.map_err(|error| InvalidReport(error.to_string()))?;
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

    #[must_use]
    pub fn without_checkpoint(&self) -> Self {
        Self { checkpoint: None, version: None, digest: None, ..self.clone() }
    }
}

fn phase(name: &str) -> TrainingPhase {
    match name {
        "running" => TrainingPhase::Running,
        "paused" => TrainingPhase::Paused,
        "failed" => TrainingPhase::Failed,
        _ => TrainingPhase::Initializing,
    }
}

/// Capped at the maximum of the status field.
fn count(samples: u64) -> i32 {
    i32::try_from(samples).unwrap_or(i32::MAX)
}

fn text(value: Option<String>) -> Option<String> {
    value.filter(|text| !text.is_empty())
}

/// Some languages write a time before 1970 for none.
fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    let Some(text) = text(Option::deserialize(deserializer)?) else { return Ok(None) };
    let time: Timestamp = text.parse().map_err(|_| {
        de::Error::custom(format!("\"{text}\" is not a time; use a format such as 2026-01-31T12:00:00Z"))
    })?;
    Ok(Some(whole_second(time)).filter(|time| time.as_second() > 0))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_four_keys_of_every_trainer_are_read() {
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
    fn the_keys_of_our_own_trainer_are_read() {
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
    fn an_unknown_phase_counts_as_initializing(#[case] name: &str, #[case] phase: TrainingPhase) {
        let body = json!({ "phase": name }).to_string();
        assert_eq!(TrainerReport::parse(body.as_bytes()).unwrap().phase, phase);
    }

    #[rstest]
    #[case::nothing(json!({}))]
    #[case::nulls(json!({ "phase": null, "current_samples": null, "last_checkpoint_time": null }))]
    #[case::empty(json!({ "last_checkpoint_time": "", "model_version": "", "digest": "" }))]
    #[case::no_time(json!({ "last_checkpoint_time": "0001-01-01T00:00:00Z" }))]
    fn what_is_not_reported_is_none(#[case] body: serde_json::Value) {
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
    fn an_error_names_the_key(#[case] body: &str, #[case] message: &str) {
        let InvalidReport(error) = TrainerReport::parse(body.as_bytes()).unwrap_err();
        assert!(error.contains(message), "{error}");
    }

    #[test]
    fn samples_are_capped() {
        let report = TrainerReport::parse(br#"{"current_samples": 9000000000}"#).unwrap();
        assert_eq!(report.samples, Some(i32::MAX));
    }
}
