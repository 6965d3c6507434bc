use rstest::rstest;

use super::*;
use crate::job::in_pod::fixtures;
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
#[case::more_patience(json!({ "backoffLimit": 5 }), None, Some(ours()), change(&json!({}), &json!({ "backoffLimit": 5 })))]
fn every_row_of_the_table(
    #[case] spec: Value,
    #[case] queue: Option<&str>,
    #[case] live: Option<BatchJobSnapshot>,
    #[case] expected: PodJobAction,
) {
    assert_eq!(plan(&job(&spec, queue), live.as_ref()).action, expected);
}
