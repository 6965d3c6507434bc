use rstest::rstest;
use vmafx_job::{
    Backend, BitDepth, CancelCause, Confinement, FailureReason, Feature, FrameSize, LengthMismatch,
    PixelFormat, PooledScores, RawVideo, ScaleTo, ScoreDetails, ScoringOptions, ScoringRequest,
};

use super::{cancel_cause, score_details};
use crate::controller::v1 as wire;

fn whole() -> ScoringRequest {
    ScoringRequest {
        reference: "/clips/r".into(),
        distorted: "/clips/d".into(),
        model: Some("vmaf_v0.6.1".into()),
        backend: Some(Backend::Cuda),
        input: Some(RawVideo {
            width: 160,
            height: 90,
            pixel_format: PixelFormat::Yuv422p,
            bit_depth: BitDepth::Ten,
        }),
        options: ScoringOptions {
            features: Feature::ALL.to_vec(),
            frame_step: Some(5.try_into().unwrap()),
            scale_to: Some(ScaleTo::Size(FrameSize { width: 64, height: 32 })),
            length_mismatch: Some(LengthMismatch::Shortest),
        },
        report_uri: Some("/clips/r.json".into()),
        overwrite_report: true,
    }
}

fn clips() -> ScoringRequest {
    ScoringRequest { reference: "r".into(), distorted: "d".into(), ..ScoringRequest::default() }
}

#[rstest]
#[case(whole())]
#[case(clips())]
#[case(ScoringRequest { options: ScoringOptions { scale_to: Some(ScaleTo::Never), ..ScoringOptions::default() }, ..clips() })]
#[case(ScoringRequest { options: ScoringOptions { scale_to: Some(ScaleTo::Distorted), ..ScoringOptions::default() }, ..clips() })]
fn a_request_comes_back_from_the_wire(#[case] request: ScoringRequest) {
    let params = wire::ScoringParams::from(request.clone());
    assert_eq!(ScoringRequest::try_from(params), Ok(request));
}

#[test]
fn a_request_has_the_names_and_numbers_of_the_contract() {
    let params = wire::ScoringParams::from(whole());
    assert_eq!(params.input, Some(wire::RawVideo { width: 160, height: 90, pixel_format: 2, bit_depth: 10 }));
    assert_eq!((params.backend.as_str(), params.length_mismatch), ("cuda", 2));
}

fn params() -> wire::ScoringParams {
    wire::ScoringParams { reference: "r".into(), distorted: "d".into(), ..Default::default() }
}

fn raw() -> wire::RawVideo {
    wire::RawVideo { width: 1, height: 1, pixel_format: 1, bit_depth: 8 }
}

fn scale(target: wire::scale_to::Target) -> wire::ScaleTo {
    wire::ScaleTo { target: Some(target) }
}

#[rstest]
#[case(wire::ScoringParams { backend: "tpu".into(), ..params() }, "backend: must be one of cpu, cuda, sycl, hip, metal")]
#[case(
    wire::ScoringParams { features: vec!["psnr".into(), "x".into()], ..params() },
    "features[1]: must be one of psnr, ssim, ms-ssim, cambi, ciede, psnr-hvs"
)]
#[case(wire::ScoringParams { frame_step: 10_001, ..params() }, "frame_step: must be at most 10000")]
#[case(
    wire::ScoringParams { input: Some(wire::RawVideo { pixel_format: 0, ..raw() }), ..params() },
    "input.pixel_format: is required"
)]
#[case(
    wire::ScoringParams { input: Some(wire::RawVideo { pixel_format: 9, ..raw() }), ..params() },
    "input.pixel_format: 9 is not a value of this enum"
)]
#[case(
    wire::ScoringParams { input: Some(wire::RawVideo { bit_depth: 9, ..raw() }), ..params() },
    "input.bit_depth: must be 8, 10, 12 or 16, not 9"
)]
#[case(
    wire::ScoringParams { scale_to: Some(scale(wire::scale_to::Target::Mode(99))), ..params() },
    "scale_to.mode: 99 is not a value of this enum"
)]
#[case(
    wire::ScoringParams { scale_to: Some(scale(wire::scale_to::Target::Size(wire::PictureSize { width: 1, height: 10_000 }))), ..params() },
    "scale_to.size.height: must be between 1 and 9999"
)]
#[case(wire::ScoringParams { length_mismatch: 7, ..params() }, "length_mismatch: 7 is not a value of this enum")]
fn a_value_outside_its_type_is_refused_with_its_field(
    #[case] params: wire::ScoringParams,
    #[case] expected: &str,
) {
    assert_eq!(ScoringRequest::try_from(params).unwrap_err().to_string(), expected);
}

#[test]
fn details_come_back_from_the_wire() {
    let scores = PooledScores {
        mean: 1.0,
        harmonic_mean: 2.0,
        min: 3.0,
        max: 4.0,
        stddev: 5.0,
        p1: 6.0,
        p5: 7.0,
        p10: 8.0,
        p50: 9.0,
    };
    let details = ScoreDetails {
        model: "m".into(),
        model_digest: "sha256:ab".into(),
        backend: "cpu".into(),
        engine: "native-avx2".into(),
        frames: 48,
        size: Some(FrameSize { width: 64, height: 32 }),
        scores: Some(scores),
        warnings: vec!["w".into()],
        report_uri: "/r.json".into(),
        confinement: Some(Confinement {
            landlock_abi: 6,
            seccomp: true,
            memory_bytes: 1,
            cpu_seconds: 2,
            wall_seconds: 3,
        }),
    };
    assert_eq!(score_details(details.clone().into()), details);
}

#[test]
fn causes_come_back_from_the_wire() {
    for cause in CancelCause::ALL {
        assert_eq!(cancel_cause(wire::CancelCause::from(cause).into()), cause);
    }
}

#[test]
fn failure_reasons_have_the_numbers_and_names_of_the_wire() {
    for number in 0..100 {
        let named = wire::FailureReason::try_from(number).ok();
        let domain = FailureReason::from_number(number);
        assert_eq!(named.is_none(), matches!(domain, FailureReason::Newer(_)), "{number}");
        let Some(named) = named else { continue };
        let spelled = named.as_str_name().trim_start_matches("FAILURE_REASON_").replace('_', "");
        assert!(spelled.eq_ignore_ascii_case(domain.name()), "{spelled} {domain}");
    }
}
