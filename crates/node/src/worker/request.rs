//! A task in the words of the engine. Pure.

use vmafx_job::{
    BitDepth, Feature, FrameSize, FrameStep, LengthMismatch, PixelFormat, ScaleTo, ScoringOptions,
};
use vmafx_scoring::engine::models::ModelChoice;
use vmafx_scoring::input::{Clip, RawFormat};
use vmafx_scoring::picture::Format;
use vmafx_scoring::score::Request;

use crate::failure::{Failure, Reason};
use crate::task::{self, Input, Model, RawVideo, Task};

/// What the engine is asked for.
pub(super) fn request(task: &Task) -> Result<Request, Failure> {
    let mut request = Request::new(clip(&task.reference)?, vec![clip(&task.distorted)?]);
    request.models = vec![model(&task.model)];
    request.threads = task.threads.max(1);
    request.options = ScoringOptions {
        features: task.features.iter().map(|name| feature(name)).collect::<Result<_, _>>()?,
        frame_step: Some(frame_step(task.frame_step)?),
        scale_to: Some(match task.scale_to {
            task::ScaleTo::Reference => ScaleTo::Reference,
            task::ScaleTo::Distorted => ScaleTo::Distorted,
            task::ScaleTo::Never => ScaleTo::Never,
            task::ScaleTo::Size { width, height } => ScaleTo::Size(FrameSize { width, height }),
        }),
        length_mismatch: task.shortest.then_some(LengthMismatch::Shortest),
    };
    Ok(request)
}

fn frame_step(step: u64) -> Result<FrameStep, Failure> {
    let step = FrameStep::try_from(u32::try_from(step).unwrap_or(u32::MAX));
    step.map_err(|error| Failure::new(Reason::OptionsInvalid, error.to_string()))
}

/// A clip as the engine names it.
pub(crate) fn clip(input: &Input) -> Result<Clip, Failure> {
    Ok(match &input.raw {
        None => Clip::new(&input.path),
        Some(raw) => {
            Clip::described(&input.path, RawFormat { format: shape(&input.name, raw)?, frame_rate: None })
        }
    })
}

/// A model as the engine names it.
pub(crate) fn model(model: &Model) -> ModelChoice {
    match model {
        Model::Auto => ModelChoice::Auto,
        Model::BuiltIn(name) => ModelChoice::Named(name.clone()),
        Model::File { path, .. } => ModelChoice::File(path.clone()),
    }
}

fn shape(name: &str, raw: &RawVideo) -> Result<Format, Failure> {
    let invalid = |message: String| Failure::new(Reason::OptionsInvalid, message);
    let chroma = match raw.pixel_format.as_str() {
        "yuv420p" => PixelFormat::Yuv420p,
        "yuv422p" => PixelFormat::Yuv422p,
        "yuv444p" => PixelFormat::Yuv444p,
        other => {
            return Err(invalid(format!(
                "the pixel format {other:?} of {name} is none of yuv420p, yuv422p and yuv444p"
            )));
        }
    };
    let depth = BitDepth::try_from(raw.bit_depth).map_err(|_| {
        invalid(format!("the bit depth {} of {name} is none of 8, 10, 12 and 16", raw.bit_depth))
    })?;
    Ok(Format { width: raw.width, height: raw.height, chroma, depth })
}

fn feature(name: &str) -> Result<Feature, Failure> {
    name.parse().map_err(|_| {
        let known = Feature::ALL.map(Feature::name).join(", ");
        Failure::new(Reason::OptionsInvalid, format!("there is no feature {name:?}; there are {known}"))
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn raw(pixel_format: &str, bit_depth: u32) -> RawVideo {
        RawVideo { width: 160, height: 90, pixel_format: pixel_format.to_owned(), bit_depth }
    }

    #[test]
    fn a_shape_is_taken_as_it_is_said() {
        let format = shape("a", &raw("yuv422p", 10)).unwrap();
        assert_eq!(format.to_string(), "160x90 yuv422p 10 bit");
    }

    #[rstest]
    #[case(raw("nv12", 8), "the pixel format \"nv12\" of s3://b/a is none of yuv420p, yuv422p and yuv444p")]
    #[case(raw("yuv420p", 9), "the bit depth 9 of s3://b/a is none of 8, 10, 12 and 16")]
    fn a_shape_that_cannot_be_names_the_input_and_the_choice(#[case] raw: RawVideo, #[case] message: &str) {
        let failure = shape("s3://b/a", &raw).unwrap_err();
        assert_eq!((failure.reason, failure.message.as_str()), (Reason::OptionsInvalid, message));
    }

    #[test]
    fn an_unknown_feature_names_the_known_ones() {
        let failure = feature("psnrr").unwrap_err();
        assert_eq!(failure.reason, Reason::OptionsInvalid);
        assert!(failure.message.contains("\"psnrr\"") && failure.message.contains("psnr, ssim, ms-ssim"));
    }
}
