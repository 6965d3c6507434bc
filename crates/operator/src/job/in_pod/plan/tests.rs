use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use rstest::rstest;

use super::*;
use crate::job::in_pod::fixtures;
use crate::job::in_pod::source::TemplateSource;
use crate::workload::ControllerRef;

fn job(spec: &Value, queue: Option<&str>) -> VmafxJob {
    let mut job = fixtures::resource(spec);
    job.metadata.labels = queue.map(|queue| [(QUEUE.to_owned(), queue.to_owned())].into());
    job
}

fn owned_by(kind: &str, name: &str, uid: &str) -> BatchJobSnapshot {
    let controller = ControllerRef { kind: kind.to_owned(), name: name.to_owned(), uid: uid.to_owned() };
    BatchJobSnapshot { controller: Some(controller), deadline: None, ..fixtures::job(&json!({})) }
}

fn ours() -> BatchJobSnapshot {
    owned_by("VmafxJob", "j", "u")
}

/// A Job that replaces others, in which so many attempts have failed.
fn after_failures(failed_before: i32) -> BatchJobSnapshot {
    let source = TemplateSource::of(&fixtures::resource(&json!({})), failed_before);
    BatchJobSnapshot { source: Some(source), ..ours() }
}

/// `held`: suspended by the operator.
fn suspended(held: bool, queue: Option<&str>) -> BatchJobSnapshot {
    BatchJobSnapshot { suspended: true, held, queue: [queue.map(str::to_owned), None], ..ours() }
}

fn queued() -> BatchJobSnapshot {
    BatchJobSnapshot { queue: [Some("q".to_owned()), None], ..ours() }
}

fn terminating(live: BatchJobSnapshot) -> BatchJobSnapshot {
    BatchJobSnapshot { terminating: true, ..live }
}

fn held() -> Value {
    json!({ "suspend": true })
}

fn unwanted() -> Value {
    json!({ "cancel": true, "suspend": true })
}

fn change(metadata: &Value, spec: &Value) -> PodJobAction {
    PodJobAction::Patch(json!({ "metadata": metadata, "spec": spec }))
}

const Q: Option<&str> = Some("q");

#[rstest]
#[case::new(json!({}), None, None, PodJobAction::Create)]
#[case::new_for_a_queue(json!({}), Q, None, PodJobAction::Create)]
#[case::there(json!({}), None, Some(ours()), PodJobAction::None)]
#[case::leaving(json!({}), None, Some(terminating(ours())), PodJobAction::AwaitDeletion)]
#[case::of_an_earlier_one(json!({}), None, Some(owned_by("VmafxJob", "j", "v")), PodJobAction::AwaitDeletion)]
#[case::of_another(json!({}), None, Some(owned_by("VmafxJob", "k", "v")), PodJobAction::Refuse)]
#[case::of_a_cron_job(json!({}), None, Some(owned_by("CronJob", "j", "v")), PodJobAction::Refuse)]
#[case::of_nobody(json!({}), None, Some(BatchJobSnapshot { controller: None, ..ours() }), PodJobAction::Refuse)]
#[case::cancelled(unwanted(), None, Some(ours()), PodJobAction::Delete)]
#[case::cancelled_in_a_queue(unwanted(), Q, Some(suspended(false, Q)), PodJobAction::Delete)]
#[case::cancelled_before(unwanted(), None, None, PodJobAction::None)]
#[case::cancelled_and_leaving(unwanted(), None, Some(terminating(ours())), PodJobAction::None)]
#[case::cancelled_beside_another(unwanted(), None, Some(owned_by("CronJob", "j", "v")), PodJobAction::None)]
#[case::held_before(held(), None, None, PodJobAction::Create)]
#[case::held_before_its_queue(held(), Q, None, PodJobAction::None)]
#[case::held_while_it_runs(held(), None, Some(ours()),
    change(&json!({ "annotations": { HELD: "true" } }), &json!({ "suspend": true })))]
#[case::held(held(), None, Some(suspended(true, None)), PodJobAction::None)]
#[case::held_by_another_too(held(), None, Some(suspended(false, None)), PodJobAction::None)]
#[case::started_against_our_will(held(), None, Some(BatchJobSnapshot { held: true, ..ours() }), PodJobAction::Delete)]
#[case::held_in_a_queue(held(), Q, Some(queued()), PodJobAction::Delete)]
#[case::held_beside_another(held(), None, Some(owned_by("CronJob", "j", "v")), PodJobAction::Refuse)]
#[case::resumed(json!({}), None, Some(suspended(true, None)),
    change(&json!({ "annotations": { HELD: null } }), &json!({ "suspend": false })))]
#[case::resumed_into_a_queue(json!({}), Q, Some(suspended(true, Q)),
    change(&json!({ "annotations": { HELD: null } }), &json!({})))]
#[case::suspended_by_another(json!({}), None, Some(suspended(false, None)), PodJobAction::None)]
#[case::waits_in_its_queue(json!({}), Q, Some(suspended(false, Q)), PodJobAction::None)]
#[case::admitted(json!({}), Q, Some(queued()), PodJobAction::None)]
#[case::another_queue(json!({}), Q, Some(suspended(false, Some("p"))),
    change(&json!({ "labels": { QUEUE: "q", PRIORITY: null } }), &json!({})))]
#[case::another_queue_too_late(json!({}), Q, Some(BatchJobSnapshot { queue: [Some("p".to_owned()), None], ..ours() }), PodJobAction::None)]
#[case::another_deadline(json!({ "activeDeadlineSeconds": 9 }), None, Some(ours()),
    change(&json!({}), &json!({ "activeDeadlineSeconds": 9 })))]
#[case::no_deadline(json!({}), None, Some(BatchJobSnapshot { deadline: Some(9), ..ours() }),
    change(&json!({}), &json!({ "activeDeadlineSeconds": null })))]
#[case::fewer_retries_left(json!({ "backoffLimit": 6 }), None, Some(after_failures(2)),
    change(&json!({}), &json!({ "backoffLimit": 4 })))]
#[case::no_retries_left(json!({ "backoffLimit": 1 }), None, Some(after_failures(2)),
    change(&json!({}), &json!({ "backoffLimit": 0 })))]
#[case::more_patience(json!({ "backoffLimit": 5 }), None, Some(ours()), change(&json!({}), &json!({ "backoffLimit": 5 })))]
fn every_row_of_the_table(
    #[case] spec: Value,
    #[case] queue: Option<&str>,
    #[case] live: Option<BatchJobSnapshot>,
    #[case] expected: PodJobAction,
) {
    assert_eq!(plan(&job(&spec, queue), live.as_ref(), &TemplateProgress::UpToDate).action, expected);
}

const BEHIND: TemplateProgress = TemplateProgress::Behind { failed_before: 0 };

#[rstest]
#[case::changed_while_it_waits(json!({}), None, ours(), BEHIND, PodJobAction::Replace)]
#[case::changed_in_its_queue(json!({}), Q, suspended(false, Q), BEHIND, PodJobAction::Replace)]
#[case::changed_and_held(held(), None, suspended(true, None), BEHIND, PodJobAction::Replace)]
#[case::changed_and_resumed(json!({}), None, suspended(true, None), BEHIND, PodJobAction::Replace)]
#[case::changed_and_held_in_its_queue(held(), Q, queued(), BEHIND, PodJobAction::Delete)]
#[case::changed_and_cancelled(unwanted(), None, ours(), BEHIND, PodJobAction::Delete)]
#[case::changed_and_leaving(json!({}), None, terminating(ours()), BEHIND, PodJobAction::AwaitDeletion)]
#[case::changed_beside_another(json!({}), None, owned_by("CronJob", "j", "v"), BEHIND, PodJobAction::Refuse)]
#[case::changed_while_it_runs(json!({}), None, ours(), TemplateProgress::NextAttempt, PodJobAction::None)]
#[case::changed_with_its_deadline(json!({ "activeDeadlineSeconds": 9 }), None, ours(), TemplateProgress::NextAttempt,
    change(&json!({}), &json!({ "activeDeadlineSeconds": 9 })))]
#[case::changed_in_vain(json!({}), None, ours(), TemplateProgress::Refused("why".to_owned()), PodJobAction::None)]
fn every_row_of_the_table_for_a_changed_spec(
    #[case] spec: Value,
    #[case] queue: Option<&str>,
    #[case] live: BatchJobSnapshot,
    #[case] progress: TemplateProgress,
    #[case] expected: PodJobAction,
) {
    assert_eq!(plan(&job(&spec, queue), Some(&live), &progress).action, expected);
}

/// The deadline of 60 s passes at 00:01:00.
fn obstructed(status: &Value) -> VmafxJob {
    let mut job = job(&json!({ "activeDeadlineSeconds": 60 }), None);
    job.metadata.creation_timestamp = Some(Time(at("2026-01-01T00:00:00Z")));
    job.status = serde_json::from_value(status.clone()).unwrap();
    job
}

fn at(time: &str) -> Timestamp {
    time.parse().unwrap()
}

fn accepted(status: &str, since: &str, attempts: Option<i32>) -> Value {
    json!({ "attempts": attempts, "conditions": [{ "type": "Accepted", "status": status, "reason": "Any",
        "message": "", "lastTransitionTime": since }] })
}

#[rstest]
#[case::just_created(Value::Null, "2026-01-01T00:01:00Z")]
#[case::never_accepted(accepted("False", "2026-01-01T00:00:50Z", None), "2026-01-01T00:01:00Z")]
#[case::its_job_was_deleted(accepted("False", "2026-01-01T00:00:50Z", Some(1)), "2026-01-01T00:01:50Z")]
#[case::its_job_was_just_deleted(accepted("True", "2026-01-01T00:00:10Z", Some(0)), "2026-01-01T00:01:30Z")]
fn a_job_without_a_kubernetes_job_has_a_deadline(#[case] status: Value, #[case] expected: &str) {
    let job = obstructed(&status);
    assert_eq!(obstacle_deadline(&job, at("2026-01-01T00:00:30Z")), Some(at(expected)));
    let endless = VmafxJob { spec: super::super::fixtures::resource(&json!({})).spec, ..job };
    assert_eq!(obstacle_deadline(&endless, at("2026-01-01T00:00:30Z")), None);
}

#[rstest]
#[case::far("2026-01-01T00:00:00Z", Reason::Forbidden, 60)]
#[case::near("2026-01-01T00:00:45Z", Reason::Forbidden, 15)]
#[case::now("2026-01-01T00:01:00Z", Reason::Forbidden, 1)]
#[case::sooner_than_the_deadline("2026-01-01T00:00:45Z", Reason::Terminating, 2)]
fn a_pass_comes_when_the_deadline_passes(#[case] now: &str, #[case] reason: Reason, #[case] seconds: u64) {
    let (job, obstacle) = (obstructed(&Value::Null), Obstacle::new(reason, "why"));
    assert_eq!(requeue_after(&job, Some(&obstacle), at(now)), Some(Duration::from_secs(seconds)));
    let last = Obstacle { is_final: true, ..obstacle };
    assert_eq!(requeue_after(&job, Some(&last), at(now)), None);
}
