//! The resource that a pair and the options stand for.

use vmafx_api::VmafxJobSpec;
use vmafx_api::job as api;
use vmafx_job::{BitDepth as Depth, FrameSize, PixelFormat as Chroma, ScaleTo};

use super::args::{Backend, Execution, Feature, SubmitArgs};
use super::row::Pair;
use crate::score::{PixelFormat, Size};

/// Retries of a job that says nothing about them.
const RETRIES: i32 = 3;

/// What a line says goes before what the options say.
pub(super) fn spec(args: &SubmitArgs, pair: &Pair) -> VmafxJobSpec {
    let seconds = |length: vmafx_kit::config::GoDuration| length.0.as_secs();
    VmafxJobSpec {
        reference: pair.reference.clone(),
        distorted: pair.distorted.clone(),
        model: pair.model.clone().or_else(|| args.model.clone()).filter(|model| !model.is_empty()),
        backend: pair.backend().ok().flatten().unwrap_or_else(|| backend(args.backend)),
        priority: pair.priority.unwrap_or(args.priority),
        suspend: args.suspend,
        cancel: false,
        execution: match args.execution {
            Execution::Queue => api::Execution::Queue,
            Execution::Pod => api::Execution::Pod,
        },
        backoff_limit: args.retries.unwrap_or(RETRIES),
        active_deadline_seconds: args
            .deadline
            .map(|limit| i64::try_from(seconds(limit).max(1)).unwrap_or(i64::MAX)),
        ttl_seconds_after_finished: args.ttl.map(|limit| i32::try_from(seconds(limit)).unwrap_or(i32::MAX)),
        input: args.size.zip(args.pixel_format).map(raw),
        scoring: scoring(args),
        min_score: pair.min_score.or(args.min_score),
        ground_truth: pair.label.or(args.label),
        report_uri: pair
            .report
            .clone()
            .filter(|uri| !uri.is_empty())
            .or_else(|| report(args, &pair.distorted)),
        pod_template: None,
    }
}

fn scoring(args: &SubmitArgs) -> Option<api::ScoringOptions> {
    let options = api::ScoringOptions {
        features: args.feature.iter().map(|one| feature(*one)).collect(),
        frame_step: args.subsample.filter(|step| *step > 1),
        scale_to: args.scale_to.map(scale_to),
        length_mismatch: args.shortest.then_some(api::LengthMismatch::Shortest),
    };
    (options != api::ScoringOptions::default()).then_some(options)
}

/// In a directory a report has the clip's name.
fn report(args: &SubmitArgs, distorted: &str) -> Option<String> {
    let report = args.report.clone().filter(|uri| !uri.is_empty())?;
    let Some(directory) = report.strip_suffix('/') else { return Some(report) };
    Some(format!("{directory}/{}.json", crate::view::job::short(distorted)))
}

fn backend(backend: Backend) -> api::Backend {
    match backend {
        Backend::Cpu => api::Backend::Cpu,
        Backend::Cuda => api::Backend::Cuda,
        Backend::Sycl => api::Backend::Sycl,
        Backend::Hip => api::Backend::Hip,
        Backend::Metal => api::Backend::Metal,
    }
}

fn feature(feature: Feature) -> api::Feature {
    match feature {
        Feature::Psnr => api::Feature::Psnr,
        Feature::Ssim => api::Feature::Ssim,
        Feature::MsSsim => api::Feature::MsSsim,
        Feature::Cambi => api::Feature::Cambi,
        Feature::Ciede => api::Feature::Ciede,
    }
}

fn scale_to(scale: ScaleTo) -> api::ScaleTo {
    // What does not fit is refused with the size that was written.
    let side = |pixels: u32| u16::try_from(pixels).unwrap_or(u16::MAX);
    match scale {
        ScaleTo::Reference => api::ScaleTo::Reference,
        ScaleTo::Distorted => api::ScaleTo::Distorted,
        ScaleTo::Never => api::ScaleTo::Never,
        ScaleTo::Size(FrameSize { width, height }) => {
            api::ScaleTo::Size { width: side(width), height: side(height) }
        }
    }
}

fn raw((size, format): (Size, PixelFormat)) -> api::RawVideo {
    let count = |pixels: u32| i32::try_from(pixels).unwrap_or(i32::MAX);
    api::RawVideo {
        width: count(size.width),
        height: count(size.height),
        pixel_format: match format.chroma {
            Chroma::Yuv420p => api::PixelFormat::Yuv420p,
            Chroma::Yuv422p => api::PixelFormat::Yuv422p,
            Chroma::Yuv444p => api::PixelFormat::Yuv444p,
        },
        bit_depth: match format.depth {
            Depth::Eight => api::BitDepth::Eight,
            Depth::Ten => api::BitDepth::Ten,
            Depth::Twelve => api::BitDepth::Twelve,
            Depth::Sixteen => api::BitDepth::Sixteen,
        },
    }
}
