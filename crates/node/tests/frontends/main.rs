//! The same requests through both front ends: a job of a real controller's queue, and `run-once`. The same clips go
//! through `vmafx score` in `crates/cli/tests/score/clip_kinds.rs`.
//!
//! Every test asserts first that both front ends come to the same result, and then what that is.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

#[path = "../agent/expected.rs"]
mod expected;
mod frontends;
#[path = "../agent/harness.rs"]
#[allow(dead_code, reason = "other tests use all of it")]
mod harness;

use rstest::rstest;
use vmafx_job::{
    Backend, FailureReason, Feature, FrameSize, LengthMismatch, ReportFormat, ScaleTo, ScoreDetails,
    ScoreResult, ScoringOptions, ScoringRequest,
};
use vmafx_proto::controller::v1::JobStatus;
use vmafx_testkit::clips::ClipKind;

use frontends::{Frontends, raw_video};

fn details(result: &ScoreResult) -> &ScoreDetails {
    result.details.as_ref().unwrap()
}

#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn a_clip_with_a_header_is_read_by_its_header_whether_it_is_described_or_not(
    #[values(ClipKind::Y4m, ClipKind::Y4mOfAnotherName, ClipKind::Mp4, ClipKind::Mp4ByHttp)] kind: ClipKind,
    #[values(true, false)] described: bool,
) {
    let frontends = Frontends::start().await;
    let request = ScoringRequest { input: described.then(raw_video), ..frontends.request(kind, kind) };
    let result = frontends.score(&request).await.unwrap();
    assert_eq!(result.score.to_bits(), frontends.expected_score().to_bits());
}

#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn a_headerless_clip_is_read_by_its_description(
    #[values(ClipKind::Yuv, ClipKind::YuvWithoutEnding)] reference: ClipKind,
    #[values(ClipKind::Yuv, ClipKind::YuvWithoutEnding, ClipKind::Y4mOfAnotherName, ClipKind::Mp4)]
    distorted: ClipKind,
) {
    let frontends = Frontends::start().await;
    let request = ScoringRequest { input: Some(raw_video()), ..frontends.request(reference, distorted) };
    let result = frontends.score(&request).await.unwrap();
    assert_eq!(result.score.to_bits(), frontends.expected_score().to_bits());
}

#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn a_headerless_clip_without_a_description_fails(
    #[values(ClipKind::Yuv, ClipKind::YuvWithoutEnding)] kind: ClipKind,
) {
    let frontends = Frontends::start().await;
    let request = frontends.request(kind, kind);
    let failure = frontends.score(&request).await.unwrap_err();
    assert!(!failure.reason.is_retryable(), "{failure:?}");
    assert!(failure.message.contains(&request.reference), "{failure:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_feature_beside_the_score_is_reported() {
    let frontends = Frontends::start().await;
    let options = ScoringOptions { features: vec![Feature::PsnrHvs], ..ScoringOptions::default() };
    let result = frontends.score(&frontends.described(options)).await.unwrap();
    assert!(result.features.contains_key("psnr_hvs"), "{:?}", result.features);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_step_scores_every_nth_frame() {
    let frontends = Frontends::start().await;
    let options = ScoringOptions { frame_step: Some(5.try_into().unwrap()), ..ScoringOptions::default() };
    let result = frontends.score(&frontends.described(options)).await.unwrap();
    assert_eq!(details(&result).frames, 10, "of 48");
}

#[rstest]
#[case::shortest(Some(LengthMismatch::Shortest), Ok(30))]
#[case::fail(Some(LengthMismatch::Fail), Err(FailureReason::ClipsDiffer))]
#[case::default(None, Err(FailureReason::ClipsDiffer))]
#[tokio::test(flavor = "multi_thread")]
async fn clips_of_unequal_length_are_scored_as_the_request_says(
    #[case] length_mismatch: Option<LengthMismatch>,
    #[case] expected: Result<u64, FailureReason>,
) {
    let frontends = Frontends::start().await;
    let options = ScoringOptions { length_mismatch, ..ScoringOptions::default() };
    let request = ScoringRequest { distorted: frontends.shorter_clip(30), ..frontends.described(options) };
    let result = frontends.score(&request).await;
    assert_eq!(result.map(|result| details(&result).frames).map_err(|failure| failure.reason), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn clips_are_compared_at_the_size_of_the_request() {
    let frontends = Frontends::start().await;
    let size = FrameSize { width: 320, height: 180 };
    let options = ScoringOptions { scale_to: Some(ScaleTo::Size(size)), ..ScoringOptions::default() };
    let result = frontends.score(&frontends.described(options)).await.unwrap();
    assert_eq!(details(&result).size, Some(size));
}

#[rstest]
#[case("report.json", ReportFormat::Json)]
#[case("report", ReportFormat::Json)]
#[case("report.CSV", ReportFormat::Csv)]
#[case("report.html", ReportFormat::Html)]
#[case("report.xml", ReportFormat::Xml)]
#[tokio::test(flavor = "multi_thread")]
async fn the_ending_of_the_reports_address_tells_its_format(
    #[case] name: &str,
    #[case] format: ReportFormat,
) {
    let frontends = Frontends::start().await;
    let uri = frontends.clip(name);
    let request = ScoringRequest { report_uri: Some(uri), ..frontends.described(ScoringOptions::default()) };
    let report = frontends.report(&request).await;
    let is_of_format = match format {
        ReportFormat::Json => {
            let report: serde_json::Value = serde_json::from_str(&report).unwrap();
            report["frames"].as_array().is_some_and(|frames| frames.len() == 48)
        }
        ReportFormat::Csv => report.lines().count() == 49,
        ReportFormat::Html => report.to_ascii_lowercase().starts_with("<!doctype html"),
        ReportFormat::Xml => report.contains("<VMAF") && report.matches("<frame ").count() == 48,
    };
    assert!(is_of_format, "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_request_fails_before_anything_is_fetched() {
    let frontends = Frontends::start().await;
    let request = ScoringRequest {
        report_uri: Some(frontends.clip("report.v2")),
        ..frontends.request(ClipKind::Mp4ByHttp, ClipKind::Mp4ByHttp)
    };
    for failure in frontends.failures(&request).await {
        assert_eq!(failure.reason, FailureReason::OptionsInvalid, "{failure:?}");
        assert!(failure.message.contains("report_uri: ends in .v2"), "{failure:?}");
    }
    assert_eq!(frontends.requests_for_clips(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_that_exists_is_overwritten_only_on_request() {
    let frontends = Frontends::start().await;
    let uri = frontends.clip("report.json");
    let mut request = ScoringRequest {
        report_uri: Some(uri.clone()),
        ..frontends.request(ClipKind::Mp4ByHttp, ClipKind::Mp4ByHttp)
    };
    std::fs::write(&uri, "precious").unwrap();
    let queued = frontends.agent(&request).await.unwrap_err();
    assert_eq!(frontends.requests_for_clips(), 0, "the first attempt looks before it fetches anything");
    // A Pod does not know whether an earlier one wrote the report, so it compares at the end.
    let in_pod = frontends.run_once(&request).unwrap_err();
    let for_resource = frontends.agent_for_resource(&request).await.unwrap_err();
    for failure in [queued, in_pod, for_resource] {
        assert_eq!(failure.reason, FailureReason::OptionsInvalid, "{failure:?}");
        assert!(failure.message.contains("overwriteReport"), "{failure:?}");
    }
    assert_eq!(std::fs::read_to_string(&uri).unwrap(), "precious");

    request.overwrite_report = true;
    frontends.agent(&request).await.unwrap();
    let report = std::fs::read_to_string(&uri).unwrap();
    assert_ne!(report, "precious");
    request.overwrite_report = false;
    frontends.run_once(&request).expect("an earlier Pod has written the same report");
    frontends.agent_for_resource(&request).await.expect("an earlier job has written the same report");
    assert_eq!(std::fs::read_to_string(&uri).unwrap(), report);
}

/// Kills the worker on the first `crashes` runs of the decoder for a job.
fn crashing_decoder(crashes: u32) -> String {
    format!(
        "echo >> $TMPDIR/runs\n\
         if [ $(wc -l < $TMPDIR/runs) -le {crashes} ]; then kill -KILL $PPID; sleep 1000; fi\n\
         exec FFMPEG \"$@\""
    )
}

#[rstest]
#[case::once(1, Ok(()))]
#[case::twice(2, Err((FailureReason::WorkerCrashed, "the worker was killed by SIGKILL")))]
#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_worker_crashes_gets_a_second_one_and_no_third(
    #[case] crashes: u32,
    #[case] expected: Result<(), (FailureReason, &str)>,
) {
    let frontends = Frontends::with_decoder(&crashing_decoder(crashes)).await;
    let result = frontends.score(&frontends.request(ClipKind::Mp4, ClipKind::Mp4)).await;
    match (result, expected) {
        (Ok(result), Ok(())) => assert_eq!(result.score.to_bits(), frontends.expected_score().to_bits()),
        (Err(failure), Err(expected)) => assert_eq!((failure.reason, failure.message.as_str()), expected),
        (result, _) => panic!("{result:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_for_another_backend_is_not_scored() {
    let frontends = Frontends::start().await;
    let request =
        ScoringRequest { backend: Some(Backend::Cuda), ..frontends.described(ScoringOptions::default()) };
    let failure = frontends.run_once(&request).unwrap_err();
    assert_eq!(failure.reason, FailureReason::OptionsInvalid);
    assert_eq!(failure.message, "backend: is cuda, and this node computes with cpu only");
    // The controller does not hand such a job to the node at all.
    let other = frontends.harness.submit_params(request.into()).await.unwrap();
    frontends.agent(&frontends.described(ScoringOptions::default())).await.unwrap();
    assert_eq!(frontends.harness.get(&other).await.status(), JobStatus::Pending);
}
