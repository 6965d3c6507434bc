//! Converts a job from the wire, and a result to it. Pure.

use vmafx_job::{Failure, InvalidRequest, ScoreResult, ScoringRequest};
use vmafx_proto::controller::v1 as wire;

use super::session::Session;
use crate::scorer::invalid_request;

/// The request of a job. The controller has checked it; another controller may not have.
pub(super) fn request(job: &wire::Job) -> Result<ScoringRequest, Failure> {
    let params = job.scoring.clone().ok_or_else(|| InvalidRequest::new("scoring", "is required"));
    params.and_then(ScoringRequest::try_from).map_err(|error| invalid_request(&error))
}

/// The final report of an attempt.
pub(super) fn report(
    job: &wire::Job,
    session: &Session,
    result: Result<ScoreResult, Failure>,
) -> wire::ReportResultRequest {
    let (score, error, failure_reason) = match result {
        Ok(score) => (score, String::new(), 0),
        Err(failure) => (ScoreResult::default(), failure.message, failure.reason.number()),
    };
    wire::ReportResultRequest {
        node_id: session.node_id.clone(),
        session_token: session.token.clone(),
        job_id: job.id.clone(),
        r#final: true,
        score: score.score,
        features: score.features,
        partial_scores: Vec::new(),
        error,
        attempt: job.attempt,
        result: score.details.map(Into::into),
        failure_reason,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn params() -> wire::ScoringParams {
        wire::ScoringParams { reference: "r".into(), distorted: "d".into(), ..Default::default() }
    }

    fn scale(target: wire::scale_to::Target) -> Option<wire::ScaleTo> {
        Some(wire::ScaleTo { target: Some(target) })
    }

    #[rstest]
    #[case::nothing(params(), ScoringOptions::default())]
    #[case::step(
        wire::ScoringParams { frame_step: 5, ..params() },
        ScoringOptions { frame_step: Some(5.try_into().unwrap()), ..ScoringOptions::default() }
    )]
    #[case::shortest(
        wire::ScoringParams { length_mismatch: 2, ..params() },
        ScoringOptions { length_mismatch: Some(LengthMismatch::Shortest), ..ScoringOptions::default() }
    )]
    #[case::size(
        wire::ScoringParams {
            scale_to: scale(wire::scale_to::Target::Size(wire::PictureSize { width: 2, height: 4 })),
            ..params()
        },
        ScoringOptions { scale_to: Some(ScaleTo::Size(FrameSize { width: 2, height: 4 })), ..ScoringOptions::default() }
    )]
    fn options_come_from_the_wire(#[case] params: wire::ScoringParams, #[case] expected: ScoringOptions) {
        assert_eq!(scoring_request(params).unwrap().options, expected);
    }

    #[rstest]
    #[case::scale(
        wire::ScoringParams { scale_to: scale(wire::scale_to::Target::Mode(99)), ..params() },
        "scale_to: 99 is unknown to this release of vmafx-node; update the node"
    )]
    #[case::mismatch(
        wire::ScoringParams { length_mismatch: 99, ..params() },
        "length_mismatch: 99 is unknown to this release of vmafx-node; update the node"
    )]
    #[case::planes(
        wire::ScoringParams { input: Some(wire::RawVideo::default()), ..params() },
        "input.pixel_format: is required"
    )]
    #[case::feature(
        wire::ScoringParams { features: vec!["psnrr".into()], ..params() },
        "features[0]: must be one of psnr, ssim, ms-ssim, cambi, ciede, psnr-hvs"
    )]
    fn a_value_that_is_not_understood_is_refused_with_its_field(
        #[case] params: wire::ScoringParams,
        #[case] message: &str,
    ) {
        let job = wire::Job { scoring: Some(params), ..Default::default() };
        let failure = request(&job).unwrap_err();
        assert_eq!((failure.reason.name(), failure.message.as_str()), ("OptionsInvalid", message));
    }

    #[test]
    fn a_job_without_scoring_parameters_is_refused() {
        assert_eq!(request(&wire::Job::default()).unwrap_err().message, "scoring: is required");
    }
}
