//! From the domain to messages.

use vmafx_job::{
    CancelCause, Confinement, FrameSize, LengthMismatch, PixelFormat, PooledScores, RawVideo, ScaleTo,
    ScoreDetails, ScoringRequest,
};

use crate::controller::v1 as wire;

impl From<ScoringRequest> for wire::ScoringParams {
    fn from(request: ScoringRequest) -> Self {
        let backend = request.backend_name().to_owned();
        let options = request.options;
        Self {
            reference: request.reference,
            distorted: request.distorted,
            model: request.model.unwrap_or_default(),
            backend,
            input: request.input.map(Into::into),
            features: options.features.iter().map(ToString::to_string).collect(),
            frame_step: options.frame_step.map_or(0, Into::into),
            scale_to: options.scale_to.map(Into::into),
            length_mismatch: match options.length_mismatch {
                None => wire::LengthMismatch::Unspecified,
                Some(LengthMismatch::Fail) => wire::LengthMismatch::Fail,
                Some(LengthMismatch::Shortest) => wire::LengthMismatch::Shortest,
            }
            .into(),
            report_uri: request.report_uri.unwrap_or_default(),
            overwrite_report: request.overwrite_report,
        }
    }
}

impl From<RawVideo> for wire::RawVideo {
    fn from(input: RawVideo) -> Self {
        let pixel_format = match input.pixel_format {
            PixelFormat::Yuv420p => wire::PlaneLayout::Yuv420p,
            PixelFormat::Yuv422p => wire::PlaneLayout::Yuv422p,
            PixelFormat::Yuv444p => wire::PlaneLayout::Yuv444p,
        };
        let (width, height, bit_depth) = (input.width, input.height, input.bit_depth.bits());
        Self { width, height, pixel_format: pixel_format.into(), bit_depth }
    }
}

impl From<ScaleTo> for wire::ScaleTo {
    fn from(scale: ScaleTo) -> Self {
        let mode = |mode: wire::ScaleMode| wire::scale_to::Target::Mode(mode.into());
        let target = match scale {
            ScaleTo::Reference => mode(wire::ScaleMode::Reference),
            ScaleTo::Distorted => mode(wire::ScaleMode::Distorted),
            ScaleTo::Never => mode(wire::ScaleMode::Never),
            ScaleTo::Size(size) => wire::scale_to::Target::Size(size.into()),
        };
        Self { target: Some(target) }
    }
}

impl From<FrameSize> for wire::PictureSize {
    fn from(FrameSize { width, height }: FrameSize) -> Self {
        Self { width, height }
    }
}

impl From<ScoreDetails> for wire::ResultDetails {
    fn from(details: ScoreDetails) -> Self {
        Self {
            model: details.model,
            model_digest: details.model_digest,
            backend: details.backend,
            engine: details.engine,
            frames: details.frames,
            size: details.size.map(Into::into),
            scores: details.scores.map(Into::into),
            warnings: details.warnings,
            report_uri: details.report_uri,
            confinement: details.confinement.map(Into::into),
        }
    }
}

impl From<Confinement> for wire::Confinement {
    fn from(confinement: Confinement) -> Self {
        let Confinement { landlock_abi, seccomp, memory_bytes, cpu_seconds, wall_seconds } = confinement;
        Self { landlock_abi, seccomp, memory_bytes, cpu_seconds, wall_seconds }
    }
}

impl From<PooledScores> for wire::PooledScores {
    fn from(scores: PooledScores) -> Self {
        let PooledScores { mean, harmonic_mean, min, max, stddev, p1, p5, p10, p50 } = scores;
        Self { mean, harmonic_mean, min, max, stddev, p1, p5, p10, p50 }
    }
}

impl From<CancelCause> for wire::CancelCause {
    fn from(cause: CancelCause) -> Self {
        match cause {
            CancelCause::Requested => Self::Unspecified,
            CancelCause::Suspended => Self::Suspended,
            CancelCause::Replaced => Self::Replaced,
            CancelCause::ResourceGone => Self::ResourceGone,
        }
    }
}
