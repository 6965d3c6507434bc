//! A job off the wire, a result onto it. Pure.

use std::collections::BTreeMap;

use vmafx_proto::controller::v1::{
    self as proto, Job, LengthMismatch, PictureSize, PlaneLayout, PooledScores, ReportResultRequest,
    ResultDetails, ScaleMode, ScoringParams, scale_to,
};

use super::score::Scored;
use crate::failure::{Failure, Reason};
use crate::task::{RawVideo, ScaleTo};

/// What a job asks for, checked.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Asked {
    pub(super) raw: Option<RawVideo>,
    pub(super) scale_to: ScaleTo,
    pub(super) shortest: bool,
    pub(super) frame_step: u64,
}

/// Reads the options of a job. The controller has checked them; another controller may not have.
pub(super) fn asked(scoring: &ScoringParams) -> Result<Asked, Failure> {
    let refuse = |text: &str| Failure::new(Reason::OptionsInvalid, text.to_owned());
    let raw = scoring.input.map(|input| {
        let pixel_format = match input.pixel_format() {
            PlaneLayout::Yuv420p => "yuv420p",
            PlaneLayout::Yuv422p => "yuv422p",
            PlaneLayout::Yuv444p => "yuv444p",
            PlaneLayout::Unspecified => return Err(refuse("scoring.input.pixel_format: is required")),
        };
        let pixel_format = pixel_format.to_owned();
        Ok(RawVideo { width: input.width, height: input.height, pixel_format, bit_depth: input.bit_depth })
    });
    let scale_to = match scoring.scale_to.and_then(|to| to.target) {
        None => ScaleTo::Reference,
        Some(scale_to::Target::Size(PictureSize { width, height })) => ScaleTo::Size { width, height },
        Some(scale_to::Target::Mode(mode)) => match ScaleMode::try_from(mode) {
            Ok(ScaleMode::Unspecified | ScaleMode::Reference) => ScaleTo::Reference,
            Ok(ScaleMode::Distorted) => ScaleTo::Distorted,
            Ok(ScaleMode::Never) => ScaleTo::Never,
            Err(_) => return Err(refuse("scoring.scale_to: this node does not know that rule; update it")),
        },
    };
    let shortest = match LengthMismatch::try_from(scoring.length_mismatch) {
        Ok(LengthMismatch::Unspecified | LengthMismatch::Fail) => false,
        Ok(LengthMismatch::Shortest) => true,
        Err(_) => {
            return Err(refuse("scoring.length_mismatch: this node does not know that rule; update it"));
        }
    };
    let frame_step = u64::from(scoring.frame_step.max(1));
    Ok(Asked { raw: raw.transpose()?, scale_to, shortest, frame_step })
}

/// How an attempt ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Told {
    score: f64,
    features: BTreeMap<String, f64>,
    result: Option<ResultDetails>,
    error: String,
    failure_reason: i32,
}

/// With a score. A number that is none is told as a failure that names it.
pub(super) fn success(scored: &Scored) -> Told {
    let score = &scored.score;
    let pooled = &score.pooled;
    let numbers = [
        ("score", score.score),
        ("mean", pooled.mean),
        ("harmonic mean", pooled.harmonic_mean),
        ("min", pooled.min),
        ("max", pooled.max),
        ("stddev", pooled.stddev),
        ("p1", pooled.p1),
        ("p5", pooled.p5),
        ("p10", pooled.p10),
        ("p50", pooled.p50),
    ];
    let all = numbers.into_iter().chain(score.features.iter().map(|(name, value)| (name.as_str(), *value)));
    if let Some((name, value)) = all.into_iter().find(|(_, value)| !value.is_finite()) {
        return failure(&Failure::new(Reason::Internal, format!("the engine computed {value} for {name}")));
    }
    let (width, height) = score.size;
    Told {
        score: score.score,
        features: score.features.clone().into_iter().collect(),
        result: Some(ResultDetails {
            model: score.model.clone(),
            model_digest: score.model_digest.clone(),
            backend: scored.backend.clone(),
            frames: score.frames,
            size: Some(PictureSize { width, height }),
            scores: Some(PooledScores {
                mean: pooled.mean,
                harmonic_mean: pooled.harmonic_mean,
                min: pooled.min,
                max: pooled.max,
                stddev: pooled.stddev,
                p1: pooled.p1,
                p5: pooled.p5,
                p10: pooled.p10,
                p50: pooled.p50,
            }),
            warnings: score.warnings.clone(),
            report_uri: scored.report_uri.clone(),
        }),
        ..Told::default()
    }
}

/// Without one.
pub(super) fn failure(failure: &Failure) -> Told {
    Told { error: failure.message.clone(), failure_reason: failure.reason.number(), ..Told::default() }
}

/// The report of an attempt by a session.
pub(super) fn report(job: &Job, (node_id, token): (&str, &str), told: Told) -> ReportResultRequest {
    proto::ReportResultRequest {
        node_id: node_id.to_owned(),
        session_token: token.to_owned(),
        job_id: job.id.clone(),
        r#final: true,
        score: told.score,
        features: told.features,
        partial_scores: Vec::new(),
        error: told.error,
        attempt: job.attempt,
        result: told.result,
        failure_reason: told.failure_reason,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use vmafx_proto::controller::v1::ScaleTo as WireScale;

    use super::*;
    use crate::task::{Pooled, Score};

    fn scored() -> Scored {
        Scored {
            score: Score {
                score: 80.5,
                features: [("vmaf".to_owned(), 80.5)].into(),
                model: "vmaf_v0.6.1".into(),
                model_digest: "sha256:ab".into(),
                frames: 48,
                size: (576, 324),
                pooled: Pooled { mean: 80.5, ..Pooled::default() },
                warnings: vec!["w".into()],
            },
            backend: "cpu".into(),
            report_uri: "/r.json".into(),
        }
    }

    #[test]
    fn a_number_that_is_none_is_a_failure_that_names_it() {
        let mut odd = scored();
        odd.score.features.insert("psnr_y".into(), f64::NAN);
        let told = success(&odd);
        assert_eq!(told.error, "the engine computed NaN for psnr_y");
        assert_eq!((told.failure_reason, told.result), (Reason::Internal.number(), None));
    }

    #[test]
    fn everything_is_told() {
        let told = success(&scored());
        let result = told.result.unwrap();
        assert_eq!((told.score, told.features["vmaf"]), (80.5, 80.5));
        assert_eq!((result.frames, result.size.unwrap().width, result.scores.unwrap().mean), (48, 576, 80.5));
        assert_eq!((result.backend.as_str(), result.report_uri.as_str()), ("cpu", "/r.json"));
    }

    #[rstest]
    #[case::nothing(ScoringParams::default(), Ok((ScaleTo::Reference, false, 1)))]
    #[case::step(ScoringParams { frame_step: 5, ..Default::default() }, Ok((ScaleTo::Reference, false, 5)))]
    #[case::shortest(ScoringParams { length_mismatch: 2, ..Default::default() }, Ok((ScaleTo::Reference, true, 1)))]
    #[case::size(
        ScoringParams { scale_to: Some(WireScale { target: Some(scale_to::Target::Size(PictureSize { width: 2, height: 4 })) }), ..Default::default() },
        Ok((ScaleTo::Size { width: 2, height: 4 }, false, 1))
    )]
    #[case::unknown_rule(
        ScoringParams { scale_to: Some(WireScale { target: Some(scale_to::Target::Mode(99)) }), ..Default::default() },
        Err("scoring.scale_to: this node does not know that rule; update it")
    )]
    #[case::unknown_mismatch(
        ScoringParams { length_mismatch: 99, ..Default::default() },
        Err("scoring.length_mismatch: this node does not know that rule; update it")
    )]
    #[case::no_planes(
        ScoringParams { input: Some(proto::RawVideo::default()), ..Default::default() },
        Err("scoring.input.pixel_format: is required")
    )]
    fn options_off_the_wire(
        #[case] scoring: ScoringParams,
        #[case] expected: Result<(ScaleTo, bool, u64), &str>,
    ) {
        let found = asked(&scoring).map(|asked| (asked.scale_to, asked.shortest, asked.frame_step));
        assert_eq!(found.map_err(|failure| failure.message), expected.map_err(str::to_owned));
    }
}
