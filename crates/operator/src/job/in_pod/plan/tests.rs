use rstest::rstest;

use super::*;
use crate::key::ObjectKey;
use crate::runtime::ObjectIdentity;
use crate::workload::ControllerRef;

fn job(spec: &Value, queue: Option<&str>) -> VmafxJob {
    let mut whole = json!({ "reference": "file:///r", "distorted": "file:///d", "execution": "Pod" });
    whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    let labels = queue.map(|queue| json!({ QUEUE: queue })).unwrap_or_default();
    serde_json::from_value(json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob",
        "metadata": { "name": "j", "namespace": "video", "uid": "u", "labels": labels }, "spec": whole,
    }))
    .unwrap()
}

fn owned_by(kind: &str, name: &str, uid: &str) -> BatchJobSnapshot {
    BatchJobSnapshot {
        identity: ObjectIdentity {
            key: ObjectKey::new("video", "vmafx-job-j"),
            uid: "live".to_owned(),
            version: "1".to_owned(),
        },
        controller: Some(ControllerRef { kind: kind.to_owned(), name: name.to_owned(), uid: uid.to_owned() }),
        terminating: false,
        suspended: false,
        held: false,
        queue: [None, None],
        backoff_limit: Some(3),
        deadline: None,
        failed: 0,
        active: 1,
        succeeded: 0,
        ending: false,
        end: None,
    }
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
