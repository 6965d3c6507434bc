//! Validation of reports and releases.

use vmafx_job::limits::{MAX_MODEL_LENGTH, MAX_NAME_LENGTH, MAX_URI_LENGTH};
use vmafx_job::{FailureReason, PooledScores, ScoreDetails, ScoreResult};

use super::text::{abbreviated, at_most, finite, free_text, identifier, path, required_identifier};
use super::{MAX_FEATURES, MAX_WARNINGS};
use crate::refusal::Refusal;
use crate::service::request::{ReleaseJob, ReportResult};

const MAX_DIGEST_LENGTH: usize = 128;
const MAX_FEATURE_NAME_LENGTH: usize = 128;
/// The contract numbers its reasons below 60; the rest leaves room for later releases.
const MAX_FAILURE_REASON: i32 = 999;

/// Returns the score, or the reason and the text of a failure.
pub(in crate::service) fn report(
    request: &ReportResult,
) -> Result<Result<ScoreResult, (FailureReason, String)>, Refusal> {
    // Numbers must be finite even where they are ignored: others reveal a fault of the node that must not go unnoticed.
    finite("score", request.success.score)?;
    at_most("features", request.success.features.len(), MAX_FEATURES)?;
    for (name, value) in &request.success.features {
        let field = format!("features[{:?}]", abbreviated(name));
        required_identifier(&field, name, MAX_FEATURE_NAME_LENGTH)?;
        finite(&field, *value)?;
    }
    if !(0..=MAX_FAILURE_REASON).contains(&request.failure_reason.number()) {
        return Err(Refusal::invalid(
            "failure_reason",
            format!("must be between 0 and {MAX_FAILURE_REASON}"),
        ));
    }
    if !request.error.is_empty() {
        return Ok(Err((request.failure_reason, free_text("error", &request.error)?)));
    }
    let details = request.success.details.as_ref().map(validated_details).transpose()?;
    let ScoreResult { score, features, .. } = request.success.clone();
    Ok(Ok(ScoreResult { score, features, details }))
}

/// Returns the reason of the release.
pub(in crate::service) fn release(request: &ReleaseJob) -> Result<String, Refusal> {
    if request.attempt == 0 {
        return Err(Refusal::invalid("attempt", "is required"));
    }
    free_text("reason", &request.reason)
}

fn validated_details(details: &ScoreDetails) -> Result<ScoreDetails, Refusal> {
    let at = |field: &str| path("result", field);
    identifier(&at("model"), &details.model, MAX_MODEL_LENGTH)?;
    identifier(&at("model_digest"), &details.model_digest, MAX_DIGEST_LENGTH)?;
    identifier(&at("backend"), &details.backend, MAX_NAME_LENGTH)?;
    identifier(&at("report_uri"), &details.report_uri, MAX_URI_LENGTH)?;
    if i64::try_from(details.frames).is_err() {
        return Err(Refusal::invalid(at("frames"), "does not fit into 63 bits"));
    }
    for (name, number) in details.scores.iter().flat_map(PooledScores::named) {
        finite(&path(&at("scores"), name), number)?;
    }
    at_most(&at("warnings"), details.warnings.len(), MAX_WARNINGS)?;
    let warnings = details
        .warnings
        .iter()
        .map(|warning| free_text(&at("warnings"), warning))
        .collect::<Result<_, _>>()?;
    Ok(ScoreDetails { warnings, ..details.clone() })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::service::request::NodeSession;

    fn with(success: ScoreResult) -> ReportResult {
        ReportResult {
            session: NodeSession::default(),
            job_id: String::new(),
            tenant: String::new(),
            attempt: 0,
            is_final: true,
            success,
            error: String::new(),
            failure_reason: FailureReason::Unspecified,
        }
    }

    fn feature(name: &str, value: f64) -> ScoreResult {
        ScoreResult { features: [(name.to_owned(), value)].into(), ..ScoreResult::default() }
    }

    fn with_details(details: ScoreDetails) -> ScoreResult {
        ScoreResult { details: Some(details), ..ScoreResult::default() }
    }

    fn many_features() -> ScoreResult {
        ScoreResult { features: (0..257).map(|n| (n.to_string(), 1.0)).collect(), ..ScoreResult::default() }
    }

    #[rstest]
    #[case::score(ScoreResult { score: f64::NAN, ..ScoreResult::default() }, "score: must be a finite number")]
    #[case::infinite(ScoreResult { score: f64::NEG_INFINITY, ..ScoreResult::default() }, "score: must be a finite number")]
    #[case::feature(feature("vif", f64::INFINITY), "features[\"vif\"]: must be a finite number")]
    #[case::nameless(feature("", 1.0), "features[\"\"]: is required")]
    #[case::control(feature("a\0", 1.0), "features[\"a\\0\"]: must not contain control characters")]
    #[case::many(many_features(), "features: must have at most 256 items")]
    #[case::pooled(with_details(ScoreDetails { scores: Some(PooledScores { p5: f64::NAN, ..PooledScores::default() }), ..ScoreDetails::default() }), "result.scores.p5: must be a finite number")]
    #[case::warnings(with_details(ScoreDetails { warnings: vec![String::new(); 65], ..ScoreDetails::default() }), "result.warnings: must have at most 64 items")]
    #[case::model(with_details(ScoreDetails { model: "\n".into(), ..ScoreDetails::default() }), "result.model: must not contain control characters")]
    fn a_refusal_names_the_field_and_the_rule(#[case] success: ScoreResult, #[case] expected: &str) {
        assert_eq!(report(&with(success)).unwrap_err().to_string(), expected);
    }

    #[test]
    fn an_error_wins_over_a_score_and_keeps_its_reason() {
        let failed = ReportResult {
            error: "no such clip".into(),
            failure_reason: FailureReason::InputNotFound,
            ..with(ScoreResult::default())
        };
        assert_eq!(report(&failed), Ok(Err((FailureReason::InputNotFound, "no such clip".to_owned()))));
    }

    #[rstest]
    #[case(-1)]
    #[case(1000)]
    fn a_reason_is_a_small_number(#[case] number: i32) {
        let failure_reason = FailureReason::from_number(number);
        let odd = ReportResult { failure_reason, ..with(ScoreResult::default()) };
        assert_eq!(report(&odd).unwrap_err().to_string(), "failure_reason: must be between 0 and 999");
    }
}
