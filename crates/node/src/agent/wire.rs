//! Converts a job from the wire, and a result to it. Pure.

use vmafx_job::{
    Failure, FrameSize, InvalidRequest, LengthMismatch, PixelFormat, RawVideo, ScaleTo, ScoreDetails,
    ScoreResult, ScoringOptions, ScoringRequest, UnknownName,
};
use vmafx_proto::controller::v1 as wire;

use super::session::Session;
use crate::scorer::invalid_request;

/// The request of a job. The controller has checked it; another controller may not have.
pub(super) fn request(job: &wire::Job) -> Result<ScoringRequest, Failure> {
    let params = job.scoring.clone().ok_or_else(|| InvalidRequest::new("scoring", "is required"));
    params.and_then(scoring_request).map_err(|error| invalid_request(&error))
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
        result: score.details.map(result_details),
        failure_reason,
    }
}

fn scoring_request(params: wire::ScoringParams) -> Result<ScoringRequest, InvalidRequest> {
    let filled = |text: String| (!text.is_empty()).then_some(text);
    let one_of = |field: &str, error: &UnknownName| {
        InvalidRequest::new(field, format!("must be one of {}", error.known))
    };
    let backend = filled(params.backend).map(|name| name.parse().map_err(|error| one_of("backend", &error)));
    let features = params
        .features
        .iter()
        .enumerate()
        .map(|(index, name)| name.parse().map_err(|error| one_of(&format!("features[{index}]"), &error)));
    let frame_step = Some(params.frame_step).filter(|step| *step > 0).map(TryInto::try_into).transpose();
    Ok(ScoringRequest {
        reference: params.reference,
        distorted: params.distorted,
        model: filled(params.model),
        backend: backend.transpose()?,
        input: params.input.map(raw_video).transpose()?,
        options: ScoringOptions {
            features: features.collect::<Result<_, _>>()?,
            frame_step: frame_step.map_err(|error| InvalidRequest::new("frame_step", error))?,
            scale_to: params.scale_to.and_then(|scale| scale.target).map(scale_to).transpose()?,
            length_mismatch: match wire::LengthMismatch::try_from(params.length_mismatch) {
                Ok(wire::LengthMismatch::Unspecified) => None,
                Ok(wire::LengthMismatch::Fail) => Some(LengthMismatch::Fail),
                Ok(wire::LengthMismatch::Shortest) => Some(LengthMismatch::Shortest),
                Err(_) => return Err(unknown_value("length_mismatch", params.length_mismatch)),
            },
        },
        report_uri: filled(params.report_uri),
    })
}

fn raw_video(input: wire::RawVideo) -> Result<RawVideo, InvalidRequest> {
    let pixel_format = match input.pixel_format() {
        wire::PlaneLayout::Yuv420p => PixelFormat::Yuv420p,
        wire::PlaneLayout::Yuv422p => PixelFormat::Yuv422p,
        wire::PlaneLayout::Yuv444p => PixelFormat::Yuv444p,
        wire::PlaneLayout::Unspecified => {
            return Err(InvalidRequest::new("input.pixel_format", "is required"));
        }
    };
    let bit_depth =
        input.bit_depth.try_into().map_err(|error| InvalidRequest::new("input.bit_depth", error))?;
    Ok(RawVideo { width: input.width, height: input.height, pixel_format, bit_depth })
}

fn scale_to(target: wire::scale_to::Target) -> Result<ScaleTo, InvalidRequest> {
    match target {
        wire::scale_to::Target::Size(wire::PictureSize { width, height }) => {
            ScaleTo::size(FrameSize { width, height }).map_err(|error| InvalidRequest::new("scale_to", error))
        }
        wire::scale_to::Target::Mode(mode) => match wire::ScaleMode::try_from(mode) {
            Ok(wire::ScaleMode::Unspecified | wire::ScaleMode::Reference) => Ok(ScaleTo::Reference),
            Ok(wire::ScaleMode::Distorted) => Ok(ScaleTo::Distorted),
            Ok(wire::ScaleMode::Never) => Ok(ScaleTo::Never),
            Err(_) => Err(unknown_value("scale_to", mode)),
        },
    }
}

fn unknown_value(field: &str, number: i32) -> InvalidRequest {
    InvalidRequest::new(field, format!("{number} is unknown to this release of vmafx-node; update the node"))
}

fn result_details(details: ScoreDetails) -> wire::ResultDetails {
    let scores = details.scores.map(|scores| wire::PooledScores {
        mean: scores.mean,
        harmonic_mean: scores.harmonic_mean,
        min: scores.min,
        max: scores.max,
        stddev: scores.stddev,
        p1: scores.p1,
        p5: scores.p5,
        p10: scores.p10,
        p50: scores.p50,
    });
    wire::ResultDetails {
        model: details.model,
        model_digest: details.model_digest,
        backend: details.backend,
        frames: details.frames,
        size: details.size.map(|FrameSize { width, height }| wire::PictureSize { width, height }),
        scores,
        warnings: details.warnings,
        report_uri: details.report_uri,
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
