//! Converts a task into a request of `vmafx-scoring`. Pure, and the only place of this crate that knows both spellings.

use vmafx_job::{BitDepth, Feature, PixelFormat, RawVideo, ScaleTo};
use vmafx_scoring::engine::ExtraFeature;
use vmafx_scoring::engine::models::ModelChoice;
use vmafx_scoring::input::{Clip, RawFormat};
use vmafx_scoring::picture::{Chroma, Depth, Format};
use vmafx_scoring::score::{self, Request};

use crate::task::{ClipFile, ModelSource, Task};

pub(super) fn request(task: &Task) -> Request {
    let options = &task.options;
    let mut request = Request::new(clip(&task.reference), vec![clip(&task.distorted)]);
    request.models = vec![model(&task.model)];
    request.threads = task.threads.max(1);
    request.features = options.features.iter().map(|feature| extra_feature(*feature)).collect();
    request.step = u64::from(options.step());
    request.shortest = options.scores_shortest();
    request.scale = match options.scale_to.unwrap_or_default() {
        ScaleTo::Reference => score::ScaleTo::Reference,
        ScaleTo::Distorted => score::ScaleTo::Distorted,
        ScaleTo::Never => score::ScaleTo::Never,
        ScaleTo::Size(size) => score::ScaleTo::Size { width: size.width, height: size.height },
    };
    request
}

pub(crate) fn clip(clip: &ClipFile) -> Clip {
    match clip.raw {
        None => Clip::new(&clip.path),
        Some(raw) => Clip::raw(&clip.path, RawFormat { format: format(raw), frame_rate: None }),
    }
}

pub(crate) fn model(model: &ModelSource) -> ModelChoice {
    match model {
        ModelSource::Auto => ModelChoice::Auto,
        ModelSource::BuiltIn(name) => ModelChoice::Named(name.clone()),
        ModelSource::File { path, .. } => ModelChoice::File(path.clone()),
    }
}

fn format(raw: RawVideo) -> Format {
    let chroma = match raw.pixel_format {
        PixelFormat::Yuv420p => Chroma::C420,
        PixelFormat::Yuv422p => Chroma::C422,
        PixelFormat::Yuv444p => Chroma::C444,
    };
    let depth = match raw.bit_depth {
        BitDepth::Eight => Depth::Eight,
        BitDepth::Ten => Depth::Ten,
        BitDepth::Twelve => Depth::Twelve,
        BitDepth::Sixteen => Depth::Sixteen,
    };
    Format { width: raw.width, height: raw.height, chroma, depth }
}

fn extra_feature(feature: Feature) -> ExtraFeature {
    match feature {
        Feature::Psnr => ExtraFeature::Psnr,
        Feature::Ssim => ExtraFeature::Ssim,
        Feature::MsSsim => ExtraFeature::MsSsim,
        Feature::Cambi => ExtraFeature::Cambi,
        Feature::Ciede => ExtraFeature::Ciede,
        Feature::PsnrHvs => ExtraFeature::PsnrHvs,
    }
}
