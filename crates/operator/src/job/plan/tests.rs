use std::sync::Arc;

use rstest::rstest;
use serde_json::{Value, json};
use vmafx_api::conditions::Reason;
use vmafx_proto::controller::v1 as wire;

use super::*;
use crate::job::fixtures::{down, job, live_as};
use crate::job::observe::Explanation;
use crate::job::tracked::RejectedUpdate;

const NOW: i64 = 1_000_000;

const MINUTE: Duration = Duration::from_mins(1);

/// A ground truth that the controller rejected.
const REJECTED: f64 = 13.0;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn live(status: JobStatus, error: &str) -> ObservedJob {
    let job = Job { error: error.to_owned(), ..live_as(&json!({}), status) };
    ObservedJob::Present(Arc::new(job))
}

fn update(spec: &Value) -> JobAction {
    JobAction::Update(Box::new(request::changes(&job(spec, &json!({})), "7")))
}

fn ended(condition: &str) -> Value {
    json!({
        // By the clock of a controller that is an hour behind.
        "controllerJobID": "7", "finishedAt": at(NOW - 3700),
        "conditions": [{ "type": condition, "status": "True", "reason": "Scored", "message": "",
                         "lastTransitionTime": at(NOW - 100) }],
    })
}

fn submit(key: &str) -> JobAction {
    JobAction::Submit { idempotency_key: key.to_owned(), forgotten: None }
}

fn cancel(cause: CancelCause) -> JobAction {
    JobAction::Cancel { id: "7".to_owned(), cause }
}

fn cancelled(cause: CancelCause) -> ObservedJob {
    let cancel_cause = wire::CancelCause::from(cause).into();
    let job = Job { cancel_cause, ..live_as(&json!({}), JobStatus::Cancelled) };
    ObservedJob::Present(Arc::new(job))
}

fn label(value: f64) -> JobAction {
    JobAction::Label { id: "7".to_owned(), value }
}

fn rejected() -> ObservedJob {
    ObservedJob::Rejected(Explanation { reason: Reason::Rejected, message: "message".to_owned() })
}

fn refused() -> ObservedJob {
    ObservedJob::Refused(Explanation { reason: Reason::InputRefused, message: "message".to_owned() })
}

#[rstest]
#[case::refused(json!({}), false, refused(), JobAction::Wait, PlanReason::Rejected)]
#[case::new(json!({}), false, ObservedJob::NotAsked, submit("u"), PlanReason::NotSubmitted)]
#[case::new_and_the_controller_is_down(json!({}), false, down(), JobAction::Wait, PlanReason::ControllerUnreachable)]
#[case::not_asked(json!({}), true, ObservedJob::NotAsked, JobAction::Get { id: "7".to_owned() }, PlanReason::NotAsked)]
#[case::down(json!({}), true, down(), JobAction::Wait, PlanReason::ControllerUnreachable)]
#[case::runs(json!({}), true, live(JobStatus::Running, ""), JobAction::Wait, PlanReason::UpToDate)]
#[case::scored(json!({}), true, live(JobStatus::Completed, ""), JobAction::Wait, PlanReason::UpToDate)]
#[case::failed(json!({}), true, live(JobStatus::Failed, ""), JobAction::Wait, PlanReason::UpToDate)]
#[case::cancelled_by_somebody(json!({}), true, live(JobStatus::Cancelled, "by hand"), JobAction::Wait, PlanReason::UpToDate)]
#[case::forgotten(json!({}), true, ObservedJob::Missing,
    JobAction::Submit { idempotency_key: "u/7".to_owned(), forgotten: Some("7".to_owned()) }, PlanReason::Forgotten)]
#[case::resumed(json!({}), true, cancelled(CancelCause::Suspended), submit("u/7"), PlanReason::SetAside)]
#[case::changed_while_it_waits(json!({ "priority": 1 }), true, live(JobStatus::Pending, ""),
    update(&json!({ "priority": 1 })), PlanReason::SpecChanged)]
#[case::changed_while_it_runs(json!({ "backoffLimit": 7 }), true, live(JobStatus::Running, ""),
    update(&json!({ "backoffLimit": 7 })), PlanReason::SpecChanged)]
#[case::changed_too_late(json!({ "priority": 1 }), true, live(JobStatus::Completed, ""), JobAction::Wait, PlanReason::UpToDate)]
#[case::changed_and_rejected(json!({ "priority": 13 }), true, live(JobStatus::Running, ""),
    JobAction::Wait, PlanReason::UpToDate)]
#[case::changed_and_cancelled(json!({ "priority": 1, "cancel": true }), true, live(JobStatus::Pending, ""),
    cancel(CancelCause::Requested), PlanReason::CancelRequested)]
#[case::taken_out(json!({ "priority": 1 }), true, cancelled(CancelCause::Replaced), submit("u/7"), PlanReason::SetAside)]
#[case::labelled_later(json!({ "groundTruth": 0 }), true, live(JobStatus::Running, ""), label(0.0), PlanReason::GroundTruthChanged)]
#[case::labelled_at_the_end(json!({ "groundTruth": 50 }), true, live(JobStatus::Completed, ""), label(50.0), PlanReason::GroundTruthChanged)]
#[case::labelled_too_late(json!({ "groundTruth": 50 }), true, live(JobStatus::Failed, ""), JobAction::Wait, PlanReason::UpToDate)]
#[case::labelled_and_rejected(json!({ "groundTruth": REJECTED }), true, live(JobStatus::Running, ""), JobAction::Wait, PlanReason::UpToDate)]
#[case::labelled_and_changed(json!({ "groundTruth": 50, "priority": 1 }), true, live(JobStatus::Pending, ""),
    update(&json!({ "groundTruth": 50, "priority": 1 })), PlanReason::SpecChanged)]
#[case::labelled_and_suspended(json!({ "groundTruth": 50, "suspend": true }), true, live(JobStatus::Running, ""),
    cancel(CancelCause::Suspended), PlanReason::SuspendRequested)]
#[case::rejected(json!({}), false, rejected(), JobAction::Wait, PlanReason::Rejected)]
#[case::suspended_before(json!({ "suspend": true }), false, ObservedJob::NotAsked, JobAction::Find, PlanReason::RecordMayBeLost)]
#[case::suspended_and_none_found(json!({ "suspend": true }), false, ObservedJob::Missing, JobAction::Wait, PlanReason::UpToDate)]
#[case::suspended_and_one_found(json!({ "suspend": true }), false, live(JobStatus::Pending, ""),
    cancel(CancelCause::Suspended), PlanReason::SuspendRequested)]
#[case::suspended_while_it_runs(json!({ "suspend": true }), true, live(JobStatus::Running, ""),
    cancel(CancelCause::Suspended), PlanReason::SuspendRequested)]
#[case::suspended(json!({ "suspend": true }), true, cancelled(CancelCause::Suspended), JobAction::Wait, PlanReason::UpToDate)]
#[case::suspended_too_late(json!({ "suspend": true }), true, live(JobStatus::Completed, ""), JobAction::Wait, PlanReason::UpToDate)]
#[case::suspended_and_forgotten(json!({ "suspend": true }), true, ObservedJob::Missing, JobAction::Wait, PlanReason::UpToDate)]
#[case::cancel(json!({ "cancel": true }), true, live(JobStatus::Running, ""), cancel(CancelCause::Requested), PlanReason::CancelRequested)]
#[case::cancel_wins(json!({ "cancel": true, "suspend": true }), true, live(JobStatus::Pending, ""),
    cancel(CancelCause::Requested), PlanReason::CancelRequested)]
#[case::cancel_before(json!({ "cancel": true }), false, ObservedJob::NotAsked, JobAction::Find, PlanReason::RecordMayBeLost)]
#[case::cancelled(json!({ "cancel": true }), true, cancelled(CancelCause::Requested), JobAction::Wait, PlanReason::UpToDate)]
fn every_row_of_the_table(
    #[case] spec: Value,
    #[case] recorded: bool,
    #[case] observed: ObservedJob,
    #[case] action: JobAction,
    #[case] reason: PlanReason,
) {
    let now = Instant::now();
    let rejected = request::changes(&job(&json!({ "priority": 13 }), &json!({})), "7");
    let tracked = TrackedJob {
        id: recorded.then(|| "7".to_owned()),
        rejected_label: Some(REJECTED),
        rejected_update: Some(RejectedUpdate { request: rejected, message: "no".to_owned(), at: now }),
        ..TrackedJob::default()
    };
    let plan = plan(&job(&spec, &json!({})), &tracked, &observed, MINUTE, now);
    assert_eq!(plan, JobPlan { action, reason });
}

#[test]
fn new_to_this_operator() {
    let tracked = TrackedJob { may_be_submitted: true, ..TrackedJob::default() };
    let planned = |observed| plan(&job(&json!({}), &json!({})), &tracked, &observed, MINUTE, Instant::now());
    let find = JobPlan { action: JobAction::Find, reason: PlanReason::RecordMayBeLost };
    assert_eq!(planned(ObservedJob::NotAsked), find);
    let submit = JobPlan { action: submit("u"), reason: PlanReason::NotSubmitted };
    assert_eq!(planned(ObservedJob::Missing), submit);
}

#[test]
fn a_rejected_change_is_sent_again_after_a_while() {
    let (now, spec) = (Instant::now(), json!({ "priority": 13 }));
    let request = request::changes(&job(&spec, &json!({})), "7");
    let rejected_update = Some(RejectedUpdate { request, message: "no".to_owned(), at: now });
    let tracked = TrackedJob { id: Some("7".to_owned()), rejected_update, ..TrackedJob::default() };
    let later = now + Duration::from_mins(5);
    let plan = plan(&job(&spec, &json!({})), &tracked, &live(JobStatus::Pending, ""), MINUTE, later);
    assert_eq!(plan, JobPlan { action: update(&spec), reason: PlanReason::SpecChanged });
}

#[rstest]
#[case::label(json!({ "groundTruth": 50 }), label(50.0), PlanReason::GroundTruthChanged)]
#[case::update(json!({ "priority": 1 }), update(&json!({ "priority": 1 })), PlanReason::SpecChanged)]
#[case::cancel(json!({ "cancel": true }), cancel(CancelCause::Requested), PlanReason::CancelRequested)]
fn a_refused_change_is_repeated_after_a_while(
    #[case] spec: Value,
    #[case] action: JobAction,
    #[case] reason: PlanReason,
) {
    let now = Instant::now();
    let mut job = job(&spec, &json!({}));
    let mut tracked = TrackedJob { id: Some("7".to_owned()), ..TrackedJob::default() };
    let why = Explanation { reason: Reason::StoreFull, message: "full".to_owned() };
    tracked.refuse_change(&job, why, now);
    let running = live(JobStatus::Running, "");
    let planned = |job: &VmafxJob, at| plan(job, &tracked, &running, MINUTE, at);
    let put_off = JobPlan { action: JobAction::Wait, reason: PlanReason::ChangePutOff };
    assert_eq!(planned(&job, now), put_off);
    let repeated = JobPlan { action, reason };
    assert_eq!(planned(&job, now + Duration::from_secs(5)), repeated);
    job.metadata.generation = Some(3);
    assert_eq!(planned(&job, now), repeated, "a changed resource is not put off");
}

#[rstest]
#[case::waits_unexplained(None, JobAction::Explain { id: "7".to_owned() }, PlanReason::ExplanationOutdated)]
#[case::waits_explained(Some(MINUTE / 2), JobAction::Wait, PlanReason::UpToDate)]
#[case::waits_explained_long_ago(Some(MINUTE), JobAction::Explain { id: "7".to_owned() }, PlanReason::ExplanationOutdated)]
fn why_a_job_waits_is_asked_once_per_poll_interval(
    #[case] asked_ago: Option<Duration>,
    #[case] action: JobAction,
    #[case] reason: PlanReason,
) {
    let asked_at = Instant::now();
    let tracked = TrackedJob {
        id: Some("7".to_owned()),
        explained: asked_ago.map(|_| (asked_at, None)),
        ..TrackedJob::default()
    };
    let (job, now) = (job(&json!({}), &json!({})), asked_at + asked_ago.unwrap_or_default());
    let plan = plan(&job, &tracked, &live(JobStatus::Pending, ""), MINUTE, now);
    assert_eq!(plan, JobPlan { action, reason });
}

#[rstest]
#[case::kept_for_ever(json!({}), None)]
#[case::for_a_while(json!({ "ttlSecondsAfterFinished": 130 }), Some(at(NOW + 30)))]
#[case::at_once(json!({ "ttlSecondsAfterFinished": 0 }), Some(at(NOW - 100)))]
fn a_resource_goes_so_long_after_its_end(#[case] spec: Value, #[case] expected: Option<Timestamp>) {
    for condition in ["Complete", "Failed"] {
        let job = job(&spec, &ended(condition));
        assert!(is_final(&job));
        assert_eq!(delete_at(&job), expected);
    }
    assert!(!is_final(&job(&spec, &ended("Running"))));
}
