//! What nodes say of their work.

use vmafx_job::limits::{MAX_MODEL_LENGTH, MAX_NAME_LENGTH, MAX_URI_LENGTH};
use vmafx_job::{FailureReason, PooledScores, ScoreDetails, ScoreResult};

use super::text::{at_most, finite, path, required_word, shown, text, word};
use super::{MOST_FEATURES, MOST_WARNINGS};
use crate::refusal::Refusal;
use crate::service::request::{Release, ReportResult};

const LONGEST_DIGEST: usize = 128;
const LONGEST_FEATURE: usize = 128;
/// Reasons are few; a number beyond is a mistake.
const LAST_REASON: i32 = 999;

/// The end of an attempt: a score, or why there is none.
pub(in crate::service) fn report(
    request: &ReportResult,
) -> Result<Result<ScoreResult, (FailureReason, String)>, Refusal> {
    // Numbers must be numbers also where they are ignored: a node that sends others has a fault that should be seen.
    finite("score", request.success.score)?;
    at_most("features", request.success.features.len(), MOST_FEATURES)?;
    for (name, value) in &request.success.features {
        let field = format!("features[{:?}]", shown(name));
        required_word(&field, name, LONGEST_FEATURE)?;
        finite(&field, *value)?;
    }
    if !(0..=LAST_REASON).contains(&request.failure_reason.number()) {
        return Err(Refusal::invalid("failure_reason", "is not a reason"));
    }
    if !request.error.is_empty() {
        return Ok(Err((request.failure_reason, text("error", &request.error)?)));
    }
    let details = request.success.details.as_ref().map(details).transpose()?;
    let ScoreResult { score, features, .. } = request.success.clone();
    Ok(Ok(ScoreResult { score, features, details }))
}

/// The reason of a release.
pub(in crate::service) fn release(request: &Release) -> Result<String, Refusal> {
    if request.attempt == 0 {
        return Err(Refusal::invalid("attempt", "is required"));
    }
    text("reason", &request.reason)
}

fn details(told: &ScoreDetails) -> Result<ScoreDetails, Refusal> {
    let at = |field: &str| path("result", field);
    word(&at("model"), &told.model, MAX_MODEL_LENGTH)?;
    word(&at("model_digest"), &told.model_digest, LONGEST_DIGEST)?;
    word(&at("backend"), &told.backend, MAX_NAME_LENGTH)?;
    word(&at("report_uri"), &told.report_uri, MAX_URI_LENGTH)?;
    if i64::try_from(told.frames).is_err() {
        return Err(Refusal::invalid(at("frames"), "is beyond 63 bits"));
    }
    for (name, number) in told.scores.iter().flat_map(PooledScores::named) {
        finite(&path(&at("scores"), name), number)?;
    }
    at_most(&at("warnings"), told.warnings.len(), MOST_WARNINGS)?;
    let warnings =
        told.warnings.iter().map(|warning| text(&at("warnings"), warning)).collect::<Result<_, _>>()?;
    Ok(ScoreDetails { warnings, ..told.clone() })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::service::request::Session;

    fn with(success: ScoreResult) -> ReportResult {
        ReportResult {
            session: Session::default(),
            job_id: String::new(),
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

    fn told(details: ScoreDetails) -> ScoreResult {
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
    #[case::pooled(told(ScoreDetails { scores: Some(PooledScores { p5: f64::NAN, ..PooledScores::default() }), ..ScoreDetails::default() }), "result.scores.p5: must be a finite number")]
    #[case::warnings(told(ScoreDetails { warnings: vec![String::new(); 65], ..ScoreDetails::default() }), "result.warnings: must have at most 64 items")]
    #[case::model(told(ScoreDetails { model: "\n".into(), ..ScoreDetails::default() }), "result.model: must not contain control characters")]
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
        assert_eq!(report(&odd).unwrap_err().to_string(), "failure_reason: is not a reason");
    }
}
