use rstest::rstest;
use serde_json::{Value, json};
use vmafx_job::CancelCause;
use vmafx_proto::controller::v1::{self as wire, JobStatus};

use super::*;
use crate::job::fixtures::{job, live_as};

const ENDED: [JobStatus; 3] = [JobStatus::Completed, JobStatus::Failed, JobStatus::Cancelled];

#[rstest]
#[case::features(json!({ "scoring": { "features": ["psnr"] } }))]
#[case::input(json!({ "input": { "width": 64, "height": 64, "pixelFormat": "yuv420p", "bitDepth": 8 } }))]
#[case::report(json!({ "reportURI": "file:///r.json" }))]
#[case::deadline(json!({ "activeDeadlineSeconds": 10 }))]
#[case::retries(json!({ "backoffLimit": 7 }))]
#[case::priority(json!({ "priority": 7 }))]
fn every_field_that_may_change_is_compared(#[case] spec: Value) {
    let changed = job(&spec, &json!({}));
    for status in [JobStatus::Pending, JobStatus::Running] {
        let SpecProgress::Behind(update) = progress(&changed, &live_as(&json!({}), status)) else {
            panic!("{status:?} was not compared");
        };
        assert_eq!(*update, request::changes(&changed, "7"));
        assert_eq!(progress(&changed, &live_as(&spec, status)), SpecProgress::UpToDate);
    }
    for status in ENDED {
        assert_eq!(progress(&changed, &live_as(&json!({}), status)), SpecProgress::TooLate);
        assert_eq!(progress(&changed, &live_as(&spec, status)), SpecProgress::UpToDate);
    }
}

#[test]
fn other_spellings_are_no_change() {
    let mut live = live_as(&json!({}), JobStatus::Pending);
    let scoring = live.scoring.as_mut().unwrap();
    (scoring.frame_step, scoring.length_mismatch) = (0, 0);
    assert_eq!(progress(&job(&json!({}), &json!({})), &live), SpecProgress::UpToDate);
}

#[test]
fn a_running_attempt_that_has_the_request_before_the_change_is_told_apart() {
    let spec = json!({ "scoring": { "features": ["psnr"] } });
    let changed = job(&spec, &json!({}));
    let next_scoring = live_as(&spec, JobStatus::Running).scoring;
    let live = Job { next_scoring, ..live_as(&json!({}), JobStatus::Running) };
    assert_eq!(progress(&changed, &live), SpecProgress::NextAttempt);
    // A change back to the request that runs has to be sent too.
    assert!(matches!(progress(&job(&json!({}), &json!({})), &live), SpecProgress::Behind(_)));
    let done = Job { status: JobStatus::Completed.into(), ..live };
    assert_eq!(progress(&changed, &done), SpecProgress::TooLate);
}

#[test]
fn what_will_be_submitted_again_needs_no_change() {
    let changed = job(&json!({ "backoffLimit": 7 }), &json!({}));
    let cancel_cause = wire::CancelCause::from(CancelCause::Suspended).into();
    let live = Job { cancel_cause, ..live_as(&json!({}), JobStatus::Cancelled) };
    assert_eq!(progress(&changed, &live), SpecProgress::UpToDate);
    let submitted = Job { id: "7".to_owned(), ..Job::default() };
    assert_eq!(progress(&changed, &submitted), SpecProgress::UpToDate);
}
