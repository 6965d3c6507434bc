use rstest::rstest;
use vmafx_queue::job::Origin;

use super::*;

fn params() -> wire::ScoringParams {
    wire::ScoringParams { reference: "/r.yuv".into(), distorted: "/d.yuv".into(), ..Default::default() }
}

fn request(scoring: wire::ScoringParams) -> wire::SubmitJobRequest {
    wire::SubmitJobRequest {
        scoring: Some(scoring),
        priority: -3,
        idempotency_key: "uid-1".into(),
        origin: Some(wire::ResourceRef {
            cluster: "c".into(),
            namespace: "n".into(),
            name: "x".into(),
            uid: "u".into(),
        }),
        max_lost_attempts: Some(4),
        active_deadline_seconds: 60,
        ground_truth: Some(wire::GroundTruth { value: 4.5, scale: wire::LabelScale::Mos.into() }),
    }
}

#[test]
fn every_field_of_a_submission_is_read() {
    let expected = SubmitJob {
        scoring: params().try_into().unwrap(),
        priority: -3,
        idempotency_key: "uid-1".into(),
        origin: Some(Origin {
            cluster: "c".into(),
            namespace: "n".into(),
            name: "x".into(),
            uid: "u".into(),
        }),
        max_lost_attempts: Some(4),
        active_deadline_seconds: 60,
        ground_truth: Some(GroundTruth { value: 4.5, scale: LabelScale::Mos }),
    };
    assert_eq!(submit(request(params())), Ok(expected));
}

#[test]
fn a_scoring_option_that_is_refused_is_named_with_its_path() {
    let request = request(wire::ScoringParams { length_mismatch: 9, ..params() });
    let expected = "scoring.length_mismatch: 9 is not a value of this enum";
    assert_eq!(submit(request).unwrap_err().to_string(), expected);
}

#[test]
fn an_unknown_scale_is_refused() {
    let odd = wire::GroundTruth { value: 1.0, scale: 7 };
    let request = wire::SubmitJobRequest { ground_truth: Some(odd), ..request(params()) };
    assert_eq!(submit(request).unwrap_err().to_string(), "ground_truth.scale: 7 is not a value of this enum");
}

#[test]
fn a_submission_without_scoring_is_refused() {
    let request = wire::SubmitJobRequest::default();
    assert_eq!(submit(request).unwrap_err().to_string(), "scoring: is required");
}

#[rstest]
#[case::cursor(wire::StreamJobsRequest { cursor: "1".into(), ..Default::default() }, "cursor: needs watch")]
#[case::progress(wire::StreamJobsRequest { include_progress: true, ..Default::default() }, "include_progress: needs watch")]
#[case::changes(wire::StreamJobsRequest { changes_only: true, ..Default::default() }, "changes_only: needs watch")]
#[case::status(wire::StreamJobsRequest { status_filter: vec![0, 5], ..Default::default() }, "status_filter[1]: 5 is not a value of this enum")]
fn a_contradictory_stream_request_is_refused(
    #[case] request: wire::StreamJobsRequest,
    #[case] expected: &str,
) {
    assert_eq!(stream_jobs(request).unwrap_err().to_string(), expected);
}

#[test]
fn every_status_is_read() {
    let request = wire::StreamJobsRequest { status_filter: vec![0, 1, 2, 3, 4], ..Default::default() };
    let filter = JobFilter { states: State::ALL.to_vec(), ..JobFilter::default() };
    assert_eq!(stream_jobs(request), Ok(StreamJobs::Snapshot(filter)));
}

#[rstest]
#[case::no_job(wire::LabelJobRequest::default(), "job_id: or idempotency_key is required")]
#[case::no_label(wire::LabelJobRequest { target: Some(wire::label_job_request::Target::JobId("x".into())), ground_truth: None }, "ground_truth: is required")]
fn a_label_needs_both_parts(#[case] request: wire::LabelJobRequest, #[case] expected: &str) {
    assert_eq!(label_job(request).unwrap_err().to_string(), expected);
}
