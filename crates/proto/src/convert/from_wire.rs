//! From messages to the domain. A value that its type cannot hold is refused with the name of its field.

use vmafx_job::limits::{MAX_FRAME_STEP, MAX_SCALED_SIDE};
use vmafx_job::{
    BitDepth, CancelCause, Confinement, FrameSize, InvalidRequest, LengthMismatch, PixelFormat, PooledScores,
    RawVideo, ScaleTo, ScoreDetails, ScoringOptions, ScoringRequest, UnknownName,
};

use crate::controller::v1 as wire;

impl TryFrom<wire::ScoringParams> for ScoringRequest {
    type Error = InvalidRequest;

    fn try_from(params: wire::ScoringParams) -> Result<Self, Self::Error> {
        let non_empty = |text: String| (!text.is_empty()).then_some(text);
        let backend =
            non_empty(params.backend).map(|name| name.parse().map_err(|error| one_of("backend", &error)));
        let features =
            params.features.iter().enumerate().map(|(index, name)| {
                name.parse().map_err(|error| one_of(&format!("features[{index}]"), &error))
            });
        let frame_step = match params.frame_step {
            0 => None,
            step => Some(step.try_into().map_err(|_| {
                InvalidRequest::new("frame_step", format!("must be at most {MAX_FRAME_STEP}"))
            })?),
        };
        Ok(Self {
            reference: params.reference,
            distorted: params.distorted,
            model: non_empty(params.model),
            backend: backend.transpose()?,
            input: params.input.map(raw_video).transpose()?,
            options: ScoringOptions {
                features: features.collect::<Result<_, _>>()?,
                frame_step,
                scale_to: params.scale_to.map(scale_to).transpose()?.flatten(),
                length_mismatch: length_mismatch(params.length_mismatch)?,
            },
            report_uri: non_empty(params.report_uri),
            overwrite_report: params.overwrite_report,
        })
    }
}

fn raw_video(input: wire::RawVideo) -> Result<RawVideo, InvalidRequest> {
    let field = "input.pixel_format";
    let pixel_format = match wire::PlaneLayout::try_from(input.pixel_format) {
        Ok(wire::PlaneLayout::Yuv420p) => PixelFormat::Yuv420p,
        Ok(wire::PlaneLayout::Yuv422p) => PixelFormat::Yuv422p,
        Ok(wire::PlaneLayout::Yuv444p) => PixelFormat::Yuv444p,
        Ok(wire::PlaneLayout::Unspecified) => return Err(InvalidRequest::new(field, "is required")),
        Err(_) => return Err(unknown_value(field, input.pixel_format)),
    };
    let bit_depth = BitDepth::try_from(input.bit_depth)
        .map_err(|error| InvalidRequest::new("input.bit_depth", error.to_string()))?;
    Ok(RawVideo { width: input.width, height: input.height, pixel_format, bit_depth })
}

fn scale_to(scale: wire::ScaleTo) -> Result<Option<ScaleTo>, InvalidRequest> {
    let mode = match scale.target {
        None => return Ok(None),
        Some(wire::scale_to::Target::Size(wire::PictureSize { width, height })) => {
            for (field, side) in [("scale_to.size.width", width), ("scale_to.size.height", height)] {
                if !(1..=MAX_SCALED_SIDE).contains(&side) {
                    return Err(InvalidRequest::new(
                        field,
                        format!("must be between 1 and {MAX_SCALED_SIDE}"),
                    ));
                }
            }
            return Ok(Some(ScaleTo::Size(FrameSize { width, height })));
        }
        Some(wire::scale_to::Target::Mode(mode)) => mode,
    };
    match wire::ScaleMode::try_from(mode) {
        Ok(wire::ScaleMode::Unspecified) => Ok(None),
        Ok(wire::ScaleMode::Reference) => Ok(Some(ScaleTo::Reference)),
        Ok(wire::ScaleMode::Distorted) => Ok(Some(ScaleTo::Distorted)),
        Ok(wire::ScaleMode::Never) => Ok(Some(ScaleTo::Never)),
        Err(_) => Err(unknown_value("scale_to.mode", mode)),
    }
}

fn length_mismatch(number: i32) -> Result<Option<LengthMismatch>, InvalidRequest> {
    match wire::LengthMismatch::try_from(number) {
        Ok(wire::LengthMismatch::Unspecified) => Ok(None),
        Ok(wire::LengthMismatch::Fail) => Ok(Some(LengthMismatch::Fail)),
        Ok(wire::LengthMismatch::Shortest) => Ok(Some(LengthMismatch::Shortest)),
        Err(_) => Err(unknown_value("length_mismatch", number)),
    }
}

fn one_of(field: &str, error: &UnknownName) -> InvalidRequest {
    InvalidRequest::new(field, format!("must be one of {}", error.known))
}

fn unknown_value(field: &str, number: i32) -> InvalidRequest {
    InvalidRequest::new(field, format!("{number} is not a value of this enum"))
}

pub fn score_details(result: wire::ResultDetails) -> ScoreDetails {
    ScoreDetails {
        model: result.model,
        model_digest: result.model_digest,
        backend: result.backend,
        engine: result.engine,
        frames: result.frames,
        size: result.size.map(|wire::PictureSize { width, height }| FrameSize { width, height }),
        scores: result.scores.map(Into::into),
        warnings: result.warnings,
        report_uri: result.report_uri,
        confinement: result.confinement.map(Into::into),
    }
}

impl From<wire::Confinement> for Confinement {
    fn from(confinement: wire::Confinement) -> Self {
        let wire::Confinement { landlock_abi, seccomp, memory_bytes, cpu_seconds, wall_seconds } =
            confinement;
        Self { landlock_abi, seccomp, memory_bytes, cpu_seconds, wall_seconds }
    }
}

impl From<wire::PooledScores> for PooledScores {
    fn from(scores: wire::PooledScores) -> Self {
        let wire::PooledScores { mean, harmonic_mean, min, max, stddev, p1, p5, p10, p50 } = scores;
        Self { mean, harmonic_mean, min, max, stddev, p1, p5, p10, p50 }
    }
}

/// A cause of a later release counts as a request of a caller.
pub fn cancel_cause(number: i32) -> CancelCause {
    match wire::CancelCause::try_from(number) {
        Ok(wire::CancelCause::Suspended) => CancelCause::Suspended,
        Ok(wire::CancelCause::Replaced) => CancelCause::Replaced,
        Ok(wire::CancelCause::ResourceGone) => CancelCause::ResourceGone,
        Ok(wire::CancelCause::Unspecified) | Err(_) => CancelCause::Requested,
    }
}
