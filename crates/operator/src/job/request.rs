//! The submission that a resource stands for.

use kube::ResourceExt as _;
use vmafx_api::VmafxJob;
use vmafx_api::job::{Backend, BitDepth, Feature, LengthMismatch, PixelFormat, RawVideo, ScaleTo};
use vmafx_proto::controller::v1 as wire;

/// What is submitted for a resource, under a key that makes a repetition harmless.
pub fn request(job: &VmafxJob, cluster: &str, key: String) -> wire::SubmitJobRequest {
    let spec = &job.spec;
    let retries = u32::try_from(spec.backoff_limit).unwrap_or_default();
    wire::SubmitJobRequest {
        scoring: Some(scoring(job)),
        priority: spec.priority,
        idempotency_key: key,
        origin: Some(origin(job, cluster)),
        // The first attempt is none that is repeated.
        max_lost_attempts: Some(retries.saturating_add(1)),
        active_deadline_seconds: spec
            .active_deadline_seconds
            .and_then(|seconds| u64::try_from(seconds).ok())
            .unwrap_or_default(),
        ground_truth: spec.ground_truth.map(ground_truth),
    }
}

/// What viewers say, as the resource has it.
pub fn ground_truth(value: f64) -> wire::GroundTruth {
    wire::GroundTruth { value, scale: wire::LabelScale::Percent.into() }
}

/// The key of a submission: the resource itself, and after a job that was given up or forgotten, that one too. So it is
/// the same however often the operator dies between submission and record, and another one when another job is meant.
pub fn key(job: &VmafxJob, instead_of: Option<&str>) -> String {
    let uid = job.uid().unwrap_or_default();
    instead_of.map_or_else(|| uid.clone(), |id| format!("{uid}/{id}"))
}

/// Whose job it is.
pub fn origin(job: &VmafxJob, cluster: &str) -> wire::ResourceRef {
    wire::ResourceRef {
        cluster: cluster.to_owned(),
        namespace: job.namespace().unwrap_or_default(),
        name: job.name_any(),
        uid: job.uid().unwrap_or_default(),
    }
}

fn scoring(job: &VmafxJob) -> wire::ScoringParams {
    let spec = &job.spec;
    let options = spec.scoring.clone().unwrap_or_default();
    wire::ScoringParams {
        reference: spec.reference.clone(),
        distorted: spec.distorted.clone(),
        model: spec.model.clone().unwrap_or_default(),
        backend: backend(spec.backend).to_owned(),
        input: spec.input.as_ref().map(input),
        features: options.features.iter().map(|one| feature(*one).to_owned()).collect(),
        frame_step: options.frame_step.and_then(|step| u32::try_from(step).ok()).unwrap_or_default(),
        scale_to: options.scale_to.map(scale),
        length_mismatch: options.length_mismatch.map_or(0, |rule| mismatch(rule).into()),
        report_uri: spec.report_uri.clone().unwrap_or_default(),
    }
}

/// What the scoring programs call a backend.
pub(super) fn backend(backend: Backend) -> &'static str {
    match backend {
        Backend::Cpu => "cpu",
        Backend::Cuda => "cuda",
        Backend::Sycl => "sycl",
        Backend::Hip => "hip",
        Backend::Metal => "metal",
    }
}

/// What they call a metric.
fn feature(feature: Feature) -> &'static str {
    match feature {
        Feature::Psnr => "psnr",
        Feature::Ssim => "ssim",
        Feature::MsSsim => "ms-ssim",
        Feature::Cambi => "cambi",
        Feature::Ciede => "ciede",
    }
}

fn input(input: &RawVideo) -> wire::RawVideo {
    let pixels = |count: i32| u32::try_from(count).unwrap_or_default();
    wire::RawVideo {
        width: pixels(input.width),
        height: pixels(input.height),
        pixel_format: match input.pixel_format {
            PixelFormat::Yuv420p => wire::PlaneLayout::Yuv420p,
            PixelFormat::Yuv422p => wire::PlaneLayout::Yuv422p,
            PixelFormat::Yuv444p => wire::PlaneLayout::Yuv444p,
        }
        .into(),
        bit_depth: match input.bit_depth {
            BitDepth::Eight => 8,
            BitDepth::Ten => 10,
            BitDepth::Twelve => 12,
            BitDepth::Sixteen => 16,
        },
    }
}

fn scale(scale: ScaleTo) -> wire::ScaleTo {
    use wire::scale_to::Target;
    let mode = |mode: wire::ScaleMode| Target::Mode(mode.into());
    let target = match scale {
        ScaleTo::Reference => mode(wire::ScaleMode::Reference),
        ScaleTo::Distorted => mode(wire::ScaleMode::Distorted),
        ScaleTo::Never => mode(wire::ScaleMode::Never),
        ScaleTo::Size { width, height } => {
            Target::Size(wire::PictureSize { width: width.into(), height: height.into() })
        }
    };
    wire::ScaleTo { target: Some(target) }
}

fn mismatch(rule: LengthMismatch) -> wire::LengthMismatch {
    match rule {
        LengthMismatch::Fail => wire::LengthMismatch::Fail,
        LengthMismatch::Shortest => wire::LengthMismatch::Shortest,
    }
}
