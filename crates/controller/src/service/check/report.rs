//! What nodes say of their work.

use vmafx_queue::outcome::{Details, FailureReason, PooledScores, Success};

use super::text::{at_most, finite, path, required_word, shown, text, word};
use super::{LONGEST_MODEL, LONGEST_NAME, LONGEST_URI, MOST_FEATURES, MOST_WARNINGS};
use crate::refusal::Refusal;
use crate::service::request::{Release, ReportResult};

const LONGEST_DIGEST: usize = 128;
const LONGEST_FEATURE: usize = 128;
/// Reasons are few; a number beyond is a mistake.
const LAST_REASON: i32 = 999;

/// The end of an attempt: a score, or why there is none.
pub(in crate::service) fn report(
    request: &ReportResult,
) -> Result<Result<Success, (FailureReason, String)>, Refusal> {
    // Numbers must be numbers also where they are ignored: a node that sends others has a fault that should be seen.
    finite("score", request.success.score)?;
    at_most("features", request.success.features.len(), MOST_FEATURES)?;
    for (name, value) in &request.success.features {
        let field = format!("features[{:?}]", shown(name));
        required_word(&field, name, LONGEST_FEATURE)?;
        finite(&field, *value)?;
    }
    if !(0..=LAST_REASON).contains(&request.failure_reason) {
        return Err(Refusal::invalid("failure_reason", "is not a reason"));
    }
    if !request.error.is_empty() {
        return Ok(Err((FailureReason(request.failure_reason), text("error", &request.error)?)));
    }
    let details = request.success.details.as_ref().map(details).transpose()?;
    let Success { score, features, .. } = request.success.clone();
    Ok(Ok(Success { score, features, details }))
}

/// The reason of a release.
pub(in crate::service) fn release(request: &Release) -> Result<String, Refusal> {
    if request.attempt == 0 {
        return Err(Refusal::invalid("attempt", "is required"));
    }
    text("reason", &request.reason)
}

fn details(told: &Details) -> Result<Details, Refusal> {
    let at = |field: &str| path("result", field);
    word(&at("model"), &told.model, LONGEST_MODEL)?;
    word(&at("model_digest"), &told.model_digest, LONGEST_DIGEST)?;
    word(&at("backend"), &told.backend, LONGEST_NAME)?;
    word(&at("report_uri"), &told.report_uri, LONGEST_URI)?;
    if i64::try_from(told.frames).is_err() {
        return Err(Refusal::invalid(at("frames"), "is beyond 63 bits"));
    }
    if let Some(scores) = &told.scores {
        pooled(&at("scores"), scores)?;
    }
    at_most(&at("warnings"), told.warnings.len(), MOST_WARNINGS)?;
    let warnings =
        told.warnings.iter().map(|warning| text(&at("warnings"), warning)).collect::<Result<_, _>>()?;
    Ok(Details { warnings, ..told.clone() })
}

fn pooled(within: &str, scores: &PooledScores) -> Result<(), Refusal> {
    let PooledScores { mean, harmonic_mean, min, max, stddev, p1, p5, p10, p50 } = *scores;
    let numbers = [
        ("mean", mean),
        ("harmonic_mean", harmonic_mean),
        ("min", min),
        ("max", max),
        ("stddev", stddev),
        ("p1", p1),
        ("p5", p5),
        ("p10", p10),
        ("p50", p50),
    ];
    numbers.into_iter().try_for_each(|(name, number)| finite(&path(within, name), number))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::service::request::Session;

    fn with(success: Success) -> ReportResult {
        ReportResult {
            session: Session::default(),
            job_id: String::new(),
            attempt: 0,
            is_final: true,
            success,
            error: String::new(),
            failure_reason: 0,
        }
    }

    fn feature(name: &str, value: f64) -> Success {
        Success { features: [(name.to_owned(), value)].into(), ..Success::default() }
    }

    fn told(details: Details) -> Success {
        Success { details: Some(details), ..Success::default() }
    }

    fn many_features() -> Success {
        Success { features: (0..257).map(|n| (n.to_string(), 1.0)).collect(), ..Success::default() }
    }

    #[rstest]
    #[case::score(Success { score: f64::NAN, ..Success::default() }, "score: must be a finite number")]
    #[case::infinite(Success { score: f64::NEG_INFINITY, ..Success::default() }, "score: must be a finite number")]
    #[case::feature(feature("vif", f64::INFINITY), "features[\"vif\"]: must be a finite number")]
    #[case::nameless(feature("", 1.0), "features[\"\"]: is required")]
    #[case::control(feature("a\0", 1.0), "features[\"a\\0\"]: must not contain control characters")]
    #[case::many(many_features(), "features: must have at most 256 items")]
    #[case::pooled(told(Details { scores: Some(PooledScores { p5: f64::NAN, ..PooledScores::default() }), ..Details::default() }), "result.scores.p5: must be a finite number")]
    #[case::warnings(told(Details { warnings: vec![String::new(); 65], ..Details::default() }), "result.warnings: must have at most 64 items")]
    #[case::model(told(Details { model: "\n".into(), ..Details::default() }), "result.model: must not contain control characters")]
    fn a_refusal_names_the_field_and_the_rule(#[case] success: Success, #[case] expected: &str) {
        assert_eq!(report(&with(success)).unwrap_err().to_string(), expected);
    }

    #[test]
    fn an_error_wins_over_a_score_and_keeps_its_reason() {
        let failed =
            ReportResult { error: "no such clip".into(), failure_reason: 1, ..with(Success::default()) };
        assert_eq!(report(&failed), Ok(Err((FailureReason(1), "no such clip".to_owned()))));
    }

    #[rstest]
    #[case(-1)]
    #[case(1000)]
    fn a_reason_is_a_small_number(#[case] failure_reason: i32) {
        let odd = ReportResult { failure_reason, ..with(Success::default()) };
        assert_eq!(report(&odd).unwrap_err().to_string(), "failure_reason: is not a reason");
    }
}
