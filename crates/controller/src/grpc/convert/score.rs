//! Requests and responses of `VmafxScoring`.

use tonic::{Code, Status};
use vmafx_job::{FailureReason, ScoringRequest};
use vmafx_proto::controller::v1 as controller;
use vmafx_proto::scoring::v1 as wire;
use vmafx_queue::Job;
use vmafx_queue::transition::State;

use crate::refusal::Refusal;

/// Refuses options that are not supported, because a score that ignores them would be wrong.
pub(in crate::grpc) fn score(request: wire::ScoreRequest) -> Result<ScoringRequest, Refusal> {
    let wire::ScoreRequest { reference, distorted, model, options } = request;
    let mut params =
        controller::ScoringParams { reference, distorted, model, ..controller::ScoringParams::default() };
    if let Some(options) = options {
        set_options(&mut params, options)?;
    }
    ScoringRequest::try_from(params).map_err(|error| rename_field(Refusal::invalid_request("", error)))
}

fn set_options(params: &mut controller::ScoringParams, options: wire::ScoreOptions) -> Result<(), Refusal> {
    params.input = raw_video(&options)?;
    params.scale_to = match (options.target_width, options.target_height) {
        (0, 0) => None,
        (width, height) => Some(controller::ScaleTo {
            target: Some(controller::scale_to::Target::Size(controller::PictureSize { width, height })),
        }),
    };
    params.backend.clone_from(&options.backend);
    params.frame_step = options.subsample;
    params.features.clone_from(&options.feature);
    refuse_unsupported(&wire::ScoreOptions {
        width: 0,
        height: 0,
        pixel_format: 0,
        bitdepth: 0,
        backend: String::new(),
        subsample: 0,
        feature: Vec::new(),
        target_width: 0,
        target_height: 0,
        ..options
    })
}

fn raw_video(options: &wire::ScoreOptions) -> Result<Option<controller::RawVideo>, Refusal> {
    use controller::PlaneLayout as Planes;
    use wire::PixelFormat::{Unspecified, Yuv420p, Yuv420p10le, Yuv422p, Yuv422p10le, Yuv444p, Yuv444p10le};
    let (width, height) = (options.width, options.height);
    let field = "options.pixel_format";
    let format = wire::PixelFormat::try_from(options.pixel_format).map_err(|_| {
        Refusal::invalid(field, format!("{} is not a value of this enum", options.pixel_format))
    })?;
    let (pixel_format, depth) = match format {
        Unspecified if width == 0 && height == 0 && options.bitdepth == 0 => return Ok(None),
        Unspecified => return Err(Refusal::invalid(field, "is required with a size")),
        Yuv420p => (Planes::Yuv420p, None),
        Yuv422p => (Planes::Yuv422p, None),
        Yuv444p => (Planes::Yuv444p, None),
        Yuv420p10le => (Planes::Yuv420p, Some(10)),
        Yuv422p10le => (Planes::Yuv422p, Some(10)),
        Yuv444p10le => (Planes::Yuv444p, Some(10)),
    };
    let bit_depth = match (depth, options.bitdepth) {
        (None, 0) => 8,
        (None, declared) => declared,
        (Some(depth), 0) => depth,
        (Some(depth), declared) if declared == depth => depth,
        (Some(_), _) => return Err(Refusal::invalid("options.bitdepth", "contradicts the pixel format")),
    };
    Ok(Some(controller::RawVideo { width, height, pixel_format: pixel_format.into(), bit_depth }))
}

/// Refuses the first option that is set. Destructuring the message makes sure that no option is forgotten.
#[expect(clippy::float_cmp, reason = "a number that was not set is exactly zero")]
fn refuse_unsupported(options: &wire::ScoreOptions) -> Result<(), Refusal> {
    macro_rules! refuse {
        ($($field:ident),* $(,)?) => {{
            let plain = wire::ScoreOptions::default();
            let wire::ScoreOptions { $($field),* } = options;
            $(if *$field != plain.$field {
                let problem = "is not supported; leave it out";
                return Err(Refusal::invalid(concat!("options.", stringify!($field)), problem));
            })*
        }};
    }
    refuse!(
        width,
        height,
        pixel_format,
        bitdepth,
        disable_clip,
        enable_transform,
        backend,
        device,
        threads,
        subsample,
        frame_cnt,
        frame_skip_ref,
        frame_skip_dist,
        no_prediction,
        cpumask,
        gpumask,
        feature,
        aom_ctc,
        nflx_ctc,
        tiny_model,
        tiny_device,
        tiny_threads,
        tiny_fp16,
        tiny_model_verify,
        tiny_codec,
        tiny_preset,
        tiny_crf,
        tiny_resize,
        no_reference,
        precision,
        view_distance,
        display_height,
        target_width,
        target_height,
        target_scaling,
    );
    Ok(())
}

/// The service names fields as in a job; `ScoreRequest` has other names for them.
pub(in crate::grpc) fn rename_field(refusal: Refusal) -> Refusal {
    const NAMES: [(&str, &str); 8] = [
        ("input.width", "options.width"),
        ("input.height", "options.height"),
        ("input.bit_depth", "options.bitdepth"),
        ("frame_step", "options.subsample"),
        ("scale_to.size.width", "options.target_width"),
        ("scale_to.size.height", "options.target_height"),
        ("backend", "options.backend"),
        ("features", "options.feature"),
    ];
    let Refusal::Invalid { field, problem } = refusal else { return refusal };
    let renamed = NAMES.iter().find_map(|(job, here)| Some(format!("{here}{}", field.strip_prefix(job)?)));
    Refusal::Invalid { field: renamed.unwrap_or(field), problem }
}

/// `None` if the job has no score.
pub(in crate::grpc) fn scored(job: Job) -> Option<wire::ScoreResponse> {
    let success = job.result?;
    let details = success.details.unwrap_or_default();
    let sha256 = details.model_digest.strip_prefix("sha256:").unwrap_or_default();
    let library = wire::Provenance {
        models: Vec::new(),
        features: Vec::new(),
        annotations: [("vmafx.dev/job".to_owned(), job.id.to_string())].into(),
    };
    let provenance = wire::ScoreProvenance {
        library: Some(library),
        model_sha256: sha256.to_owned(),
        model: details.model,
        backend_used: details.backend,
        // One backend computes all features of a job.
        feature_backends: Vec::new(),
        precision: String::new(),
    };
    Some(wire::ScoreResponse {
        score: success.score,
        features: success.features,
        provenance: Some(provenance),
    })
}

pub(in crate::grpc) fn not_scored(state: State, reason: FailureReason, error: &str) -> Status {
    let code = match (state, reason) {
        (State::Cancelled, _) => Code::Aborted,
        (_, FailureReason::DeadlineExceeded) => Code::DeadlineExceeded,
        (_, FailureReason::Unspecified | FailureReason::Newer(40..)) => Code::Internal,
        // What no node could confirm is the clip's fault for the caller, who can do something about it.
        (_, reason) if reason.confirmed().is_retryable() => Code::Internal,
        _ => Code::FailedPrecondition,
    };
    Status::new(code, format!("no score: {error}"))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn with_options(options: wire::ScoreOptions) -> Result<ScoringRequest, Refusal> {
        score(wire::ScoreRequest {
            reference: "/r".into(),
            distorted: "/d".into(),
            model: "m".into(),
            options: Some(options),
        })
    }

    #[test]
    fn every_supported_option_is_read() {
        let options = wire::ScoreOptions {
            width: 16,
            height: 9,
            pixel_format: wire::PixelFormat::Yuv422p10le.into(),
            backend: "cpu".into(),
            subsample: 5,
            feature: vec!["psnr".into()],
            target_width: 32,
            target_height: 18,
            ..Default::default()
        };
        let raw = vmafx_job::RawVideo {
            width: 16,
            height: 9,
            pixel_format: vmafx_job::PixelFormat::Yuv422p,
            bit_depth: vmafx_job::BitDepth::Ten,
        };
        let expected = ScoringRequest {
            reference: "/r".into(),
            distorted: "/d".into(),
            model: Some("m".into()),
            backend: Some(vmafx_job::Backend::Cpu),
            input: Some(raw),
            options: vmafx_job::ScoringOptions {
                features: vec![vmafx_job::Feature::Psnr],
                frame_step: Some(5.try_into().unwrap()),
                scale_to: Some("32x18".parse().unwrap()),
                ..Default::default()
            },
            ..Default::default()
        };
        assert_eq!(with_options(options), Ok(expected));
    }

    #[rstest]
    #[case(wire::ScoreOptions { threads: 2, ..Default::default() }, "options.threads: is not supported; leave it out")]
    #[case(wire::ScoreOptions { view_distance: 1.5, ..Default::default() }, "options.view_distance: is not supported; leave it out")]
    #[case(wire::ScoreOptions { view_distance: f64::NAN, ..Default::default() }, "options.view_distance: is not supported; leave it out")]
    #[case(wire::ScoreOptions { pixel_format: 99, ..Default::default() }, "options.pixel_format: 99 is not a value of this enum")]
    #[case(wire::ScoreOptions { width: 5, ..Default::default() }, "options.pixel_format: is required with a size")]
    #[case(wire::ScoreOptions { pixel_format: 4, bitdepth: 12, ..Default::default() }, "options.bitdepth: contradicts the pixel format")]
    fn an_unsupported_option_is_refused(#[case] options: wire::ScoreOptions, #[case] expected: &str) {
        assert_eq!(with_options(options).unwrap_err().to_string(), expected);
    }

    #[rstest]
    #[case("features[3]", "options.feature[3]")]
    #[case("input.bit_depth", "options.bitdepth")]
    #[case("reference", "reference")]
    fn a_refusal_names_the_field_of_this_message(#[case] job: &str, #[case] here: &str) {
        assert_eq!(rename_field(Refusal::invalid(job, "x")), Refusal::invalid(here, "x"));
    }
}
