//! The body of `/status`. The operator reads at most 4096 bytes, so texts are truncated.

use serde::Serialize;

use super::shared::{TrainerPhase, TrainerStatus};

/// Maximum length of a text in bytes of JSON. Three texts and all other fields stay well below 4096.
const MAX_TEXT_BYTES: usize = 800;

/// Unknown values are omitted.
#[derive(Clone, Debug, Serialize)]
pub struct StatusPage {
    phase: TrainerPhase,
    current_samples: u64,
    samples_pending: u64,
    last_checkpoint_time: String,
    model_version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stable_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rmse: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plcc: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    srocc: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base_rmse: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base_srocc: Option<f64>,
    labellers: usize,
    largest_labeller_share: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    gate_passed: Option<bool>,
    gate_message: String,
    push_error: String,
    error: String,
}

impl From<&TrainerStatus> for StatusPage {
    fn from(status: &TrainerStatus) -> Self {
        // The metrics are those of the most recent samples. Over all samples, the errors of an untrained model would
        // weigh forever.
        let window = status.evaluation.as_ref().map(|evaluation| &evaluation.window);
        let window = window.filter(|both| both.model.count > 0);
        let finite = |number: Option<f64>| number.filter(|number| number.is_finite());
        let checkpoint = status.checkpoint.as_ref();
        Self {
            phase: status.phase,
            current_samples: status.samples,
            samples_pending: status.pending,
            last_checkpoint_time: checkpoint
                .map(|checkpoint| checkpoint.created.to_string())
                .unwrap_or_default(),
            model_version: checkpoint.map(|checkpoint| checkpoint.version.clone()).unwrap_or_default(),
            digest: checkpoint.map(|checkpoint| checkpoint.digest.clone()),
            stable_version: status.stable_version.clone(),
            rmse: finite(window.map(|both| both.model.rmse)),
            plcc: finite(window.and_then(|both| both.model.plcc)),
            srocc: finite(window.and_then(|both| both.model.srocc)),
            base_rmse: finite(window.map(|both| both.base.rmse)),
            base_srocc: finite(window.and_then(|both| both.base.srocc)),
            labellers: status.labellers.labellers,
            largest_labeller_share: status.labellers.largest_share,
            gate_passed: status.gate.as_ref().map(|gate| gate.passed),
            gate_message: status.gate.as_ref().map(|gate| truncate(&gate.message)).unwrap_or_default(),
            push_error: truncate(&status.push_error),
            error: truncate(&status.error()),
        }
    }
}

/// Replaces control characters, which JSON would escape, by spaces.
fn truncate(text: &str) -> String {
    let mut left = MAX_TEXT_BYTES;
    let fits = |c: &char| {
        let bytes = if matches!(c, '"' | '\\') { 2 } else { c.len_utf8() };
        left.checked_sub(bytes).map(|rest| left = rest).is_some()
    };
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::learner::{Evaluation, LabellerSummary, ModelComparison, QualityMetrics};
    use crate::status::{CheckpointSummary, GateSummary};

    #[rstest]
    #[case::quotes('"')]
    #[case::control('\u{1}')]
    #[case::wide('\u{1f41f}')]
    #[case::plain('a')]
    fn the_page_is_short_whatever_the_errors_are(#[case] c: char) {
        let long_text = || std::iter::repeat_n(c, 10_000).collect::<String>();
        let name = "n".repeat(120);
        let number = Some(-1.234_567_890_123_456_7e-300);
        let metrics = |rmse| QualityMetrics { count: u64::MAX, rmse, plcc: number, srocc: number };
        let both = ModelComparison { model: metrics(1.0 / 3.0), base: metrics(2.0 / 3.0) };
        let status = TrainerStatus {
            samples: u64::MAX,
            pending: u64::MAX,
            checkpoint: Some(CheckpointSummary {
                version: name.clone(),
                digest: "d".repeat(71),
                created: jiff::Timestamp::MAX,
            }),
            stable_version: Some(name),
            evaluation: Some(Evaluation { all: both.clone(), window: both }),
            gate: Some(GateSummary { passed: false, message: long_text() }),
            labellers: LabellerSummary { labellers: usize::MAX, largest_share: 1.0 / 3.0, capped: true },
            push_error: long_text(),
            start_error: long_text(),
            notice: long_text(),
            ..TrainerStatus::default()
        };
        let page = serde_json::to_string(&StatusPage::from(&status)).unwrap();
        assert!(page.len() < 4096, "{}", page.len());
        assert!(page.len() > 3 * MAX_TEXT_BYTES);
    }

    #[test]
    fn the_most_severe_error_comes_first() {
        let status =
            TrainerStatus { start_error: "a".into(), notice: "c".into(), ..TrainerStatus::default() };
        assert_eq!(StatusPage::from(&status).error, "a; c");
    }
}
