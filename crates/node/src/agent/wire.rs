//! Converts a job from the wire, and a result to it. Pure.

use vmafx_job::{Failure, InvalidRequest, ScoreResult, ScoringRequest};
use vmafx_proto::controller::v1 as wire;

use super::outbox::StoredReport;
use crate::scorer::invalid_request;

/// The request of a job. The controller has checked it; another controller may not have.
pub(super) fn request(job: &wire::Job) -> Result<ScoringRequest, Failure> {
    let params = job.scoring.clone().ok_or_else(|| InvalidRequest::new("scoring", "is required"));
    params.and_then(ScoringRequest::try_from).map_err(|error| invalid_request(&error))
}

pub(super) fn report(report: &StoredReport) -> wire::ReportResultRequest {
    let (score, error, failure_reason) = match report.result.clone() {
        Ok(score) => (score, String::new(), 0),
        Err(failure) => (ScoreResult::default(), failure.message, failure.reason.number()),
    };
    wire::ReportResultRequest {
        node_id: report.node_id.clone(),
        session_token: report.session_token.clone(),
        job_id: report.job_id.clone(),
        tenant: report.tenant.clone(),
        r#final: true,
        score: score.score,
        features: score.features,
        partial_scores: Vec::new(),
        error,
        attempt: report.attempt,
        result: score.details.map(Into::into),
        failure_reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_not_understood_is_refused_with_its_field() {
        let params = wire::ScoringParams { length_mismatch: 99, ..Default::default() };
        let job = wire::Job { scoring: Some(params), ..Default::default() };
        let failure = request(&job).unwrap_err();
        let message = "length_mismatch: 99 is not a value of this enum";
        assert_eq!((failure.reason.name(), failure.message.as_str()), ("OptionsInvalid", message));
    }

    #[test]
    fn a_job_without_scoring_parameters_is_refused() {
        assert_eq!(request(&wire::Job::default()).unwrap_err().message, "scoring: is required");
    }
}
