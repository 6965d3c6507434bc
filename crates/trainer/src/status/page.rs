//! `/status`, as the operator reads it: at most 4096 bytes, whatever went wrong.

use serde::Serialize;

use super::board::{Phase, Status};

/// Bytes of a text for people, as JSON writes them. Three of these and everything else are well below 4096.
const LONGEST: usize = 800;

/// The answer. What is not known is left out.
#[derive(Clone, Debug, Serialize)]
pub struct Page {
    phase: Phase,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    gate_passed: Option<bool>,
    gate_message: String,
    push_error: String,
    error: String,
}

impl From<&Status> for Page {
    fn from(status: &Status) -> Self {
        // Of the newest samples: over all, the errors of the first days would never be forgotten.
        let window = status.evaluation.as_ref().map(|evaluation| &evaluation.window);
        let window = window.filter(|pair| pair.model.count > 0);
        let finite = |number: Option<f64>| number.filter(|number| number.is_finite());
        let checkpoint = status.checkpoint.as_ref();
        Self {
            phase: status.phase,
            current_samples: status.samples,
            samples_pending: status.pending,
            last_checkpoint_time: checkpoint.map(|written| written.at.to_string()).unwrap_or_default(),
            model_version: checkpoint.map(|written| written.version.clone()).unwrap_or_default(),
            digest: checkpoint.map(|written| written.digest.clone()),
            stable_version: status.stable_version.clone(),
            rmse: finite(window.map(|pair| pair.model.rmse)),
            plcc: finite(window.and_then(|pair| pair.model.plcc)),
            srocc: finite(window.and_then(|pair| pair.model.srocc)),
            base_rmse: finite(window.map(|pair| pair.base.rmse)),
            base_srocc: finite(window.and_then(|pair| pair.base.srocc)),
            gate_passed: status.gate.as_ref().map(|gate| gate.passed),
            gate_message: status.gate.as_ref().map(|gate| cut(&gate.message)).unwrap_or_default(),
            push_error: cut(&status.push_error),
            error: cut(&status.error()),
        }
    }
}

/// As much of a text as fits, without control characters.
fn cut(text: &str) -> String {
    let mut left = LONGEST;
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
    use crate::status::{Gate, Written};

    #[rstest]
    #[case::quotes('"')]
    #[case::control('\u{1}')]
    #[case::wide('\u{1f41f}')]
    #[case::plain('a')]
    fn whatever_went_wrong_the_answer_is_short(#[case] c: char) {
        let flood = || std::iter::repeat_n(c, 10_000).collect::<String>();
        let name = "n".repeat(120);
        let number = Some(-1.234_567_890_123_456_7e-300);
        let metrics = |rmse| crate::learner::Metrics { count: u64::MAX, rmse, plcc: number, srocc: number };
        let pair = crate::learner::Pair { model: metrics(1.0 / 3.0), base: metrics(2.0 / 3.0) };
        let status = Status {
            samples: u64::MAX,
            pending: u64::MAX,
            checkpoint: Some(Written {
                version: name.clone(),
                digest: "d".repeat(71),
                at: jiff::Timestamp::MAX,
            }),
            stable_version: Some(name),
            evaluation: Some(crate::learner::Evaluation { all: pair.clone(), window: pair }),
            gate: Some(Gate { passed: false, message: flood() }),
            push_error: flood(),
            start_error: flood(),
            notice: flood(),
            ..Status::default()
        };
        let page = serde_json::to_string(&Page::from(&status)).unwrap();
        assert!(page.len() < 4096, "{}", page.len());
        assert!(page.len() > 3 * LONGEST);
    }

    #[test]
    fn the_gravest_error_comes_first() {
        let status = Status { start_error: "a".into(), notice: "c".into(), ..Status::default() };
        assert_eq!(Page::from(&status).error, "a; c");
    }
}
