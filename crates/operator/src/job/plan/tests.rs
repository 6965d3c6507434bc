use rstest::rstest;
use serde_json::{Value, json};

use vmafx_proto::controller::v1 as wire;

use super::*;

const NOW: i64 = 1_000_000;

/// A ground truth that the controller does not take.
const REFUSED: f64 = 13.0;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn job(spec: &Value, status: &Value) -> VmafxJob {
    let mut whole = json!({ "reference": "file:///r", "distorted": "file:///d" });
    whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    serde_json::from_value(json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob",
        "metadata": { "name": "j", "namespace": "video", "uid": "u" },
        "spec": whole, "status": status,
    }))
    .unwrap()
}

fn live(status: JobStatus, error: &str) -> Remote {
    let job = Job {
        id: "7".to_owned(),
        status: status.into(),
        error: error.to_owned(),
        revision: 1,
        ..Job::default()
    };
    Remote::Job(Arc::new(job))
}

fn ended(condition: &str) -> Value {
    json!({
        "controllerJobID": "7", "finishedAt": at(NOW - 100),
        "conditions": [{ "type": condition, "status": "True", "reason": "Scored", "message": "",
                         "lastTransitionTime": at(NOW - 100) }],
    })
}

fn submit(key: &str) -> Step {
    Step::Submit { key: key.to_owned() }
}

fn cancel(cause: CancelCause) -> Step {
    Step::Cancel { id: "7".to_owned(), cause }
}

fn cancelled(cause: CancelCause) -> Remote {
    let job = Job {
        id: "7".to_owned(),
        status: JobStatus::Cancelled.into(),
        cancel_cause: wire::CancelCause::from(cause).into(),
        revision: 1,
        ..Job::default()
    };
    Remote::Job(Arc::new(job))
}

fn label(value: f64) -> Step {
    Step::Label { id: "7".to_owned(), value }
}

fn why(reason: Reason) -> Why {
    Why { reason, message: "why".to_owned() }
}

fn down() -> Remote {
    Remote::Unreachable(why(Reason::ControllerUnreachable))
}

#[rstest]
#[case::new(json!({}), false, Remote::NotAsked, submit("u"))]
#[case::new_and_the_controller_is_down(json!({}), false, down(), submit("u"))]
#[case::not_asked(json!({}), true, Remote::NotAsked, Step::Ask { id: "7".to_owned() })]
#[case::down(json!({}), true, down(), Step::Ask { id: "7".to_owned() })]
#[case::waits(json!({}), true, live(JobStatus::Pending, ""), Step::Follow)]
#[case::runs(json!({}), true, live(JobStatus::Running, ""), Step::Follow)]
#[case::scored(json!({}), true, live(JobStatus::Completed, ""), Step::Follow)]
#[case::failed(json!({}), true, live(JobStatus::Failed, ""), Step::Follow)]
#[case::cancelled_by_somebody(json!({}), true, live(JobStatus::Cancelled, "by hand"), Step::Follow)]
#[case::forgotten(json!({}), true, Remote::Missing, submit("u/7"))]
#[case::resumed(json!({}), true, cancelled(CancelCause::Suspended), submit("u/7"))]
#[case::put_forward(json!({ "priority": 1 }), true, live(JobStatus::Pending, ""), cancel(CancelCause::Replaced))]
#[case::put_forward_too_late(json!({ "priority": 1 }), true, live(JobStatus::Running, ""), Step::Follow)]
#[case::taken_out(json!({ "priority": 1 }), true, cancelled(CancelCause::Replaced), submit("u/7"))]
#[case::labelled_later(json!({ "groundTruth": 0 }), true, live(JobStatus::Running, ""), label(0.0))]
#[case::labelled_at_the_end(json!({ "groundTruth": 50 }), true, live(JobStatus::Completed, ""), label(50.0))]
#[case::labelled_too_late(json!({ "groundTruth": 50 }), true, live(JobStatus::Failed, ""), Step::Follow)]
#[case::labelled_and_refused(json!({ "groundTruth": REFUSED }), true, live(JobStatus::Running, ""), Step::Follow)]
#[case::labelled_and_put_forward(json!({ "groundTruth": 50, "priority": 1 }), true, live(JobStatus::Pending, ""), cancel(CancelCause::Replaced))]
#[case::labelled_and_suspended(json!({ "groundTruth": 50, "suspend": true }), true, live(JobStatus::Running, ""), cancel(CancelCause::Suspended))]
#[case::refused(json!({}), false, Remote::Refused(why(Reason::Rejected)), Step::Follow)]
#[case::suspended_before(json!({ "suspend": true }), false, Remote::NotAsked, Step::Find)]
#[case::suspended_and_none_found(json!({ "suspend": true }), false, Remote::Missing, Step::Follow)]
#[case::suspended_and_one_found(json!({ "suspend": true }), false, live(JobStatus::Pending, ""), cancel(CancelCause::Suspended))]
#[case::suspended_while_it_runs(json!({ "suspend": true }), true, live(JobStatus::Running, ""), cancel(CancelCause::Suspended))]
#[case::suspended(json!({ "suspend": true }), true, cancelled(CancelCause::Suspended), Step::Follow)]
#[case::suspended_too_late(json!({ "suspend": true }), true, live(JobStatus::Completed, ""), Step::Follow)]
#[case::suspended_and_forgotten(json!({ "suspend": true }), true, Remote::Missing, Step::Follow)]
#[case::cancel(json!({ "cancel": true }), true, live(JobStatus::Running, ""), cancel(CancelCause::Requested))]
#[case::cancel_wins(json!({ "cancel": true, "suspend": true }), true, live(JobStatus::Pending, ""), cancel(CancelCause::Requested))]
#[case::cancel_before(json!({ "cancel": true }), false, down(), Step::Find)]
#[case::cancelled(json!({ "cancel": true }), true, cancelled(CancelCause::Requested), Step::Follow)]
fn every_row_of_the_table(
    #[case] spec: Value,
    #[case] recorded: bool,
    #[case] remote: Remote,
    #[case] expected: Step,
) {
    let id = recorded.then_some("7");
    assert_eq!(next(&job(&spec, &json!({})), id, &remote, Some(REFUSED)), expected);
}

#[rstest]
#[case::kept_for_ever(json!({}), None)]
#[case::for_a_while(json!({ "ttlSecondsAfterFinished": 130 }), Some(at(NOW + 30)))]
#[case::at_once(json!({ "ttlSecondsAfterFinished": 0 }), Some(at(NOW - 100)))]
fn a_resource_goes_so_long_after_its_end(#[case] spec: Value, #[case] expected: Option<Timestamp>) {
    for condition in ["Complete", "Failed"] {
        let job = job(&spec, &ended(condition));
        assert!(is_final(&job));
        assert_eq!(remove_at(&job), expected);
    }
    assert!(!is_final(&job(&spec, &ended("Running"))));
}
