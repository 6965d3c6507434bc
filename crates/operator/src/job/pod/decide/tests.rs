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

fn owned_by(kind: &str, name: &str, uid: &str) -> JobFacts {
    JobFacts {
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

fn ours() -> JobFacts {
    owned_by("VmafxJob", "j", "u")
}

/// Suspended by whom, in which queue.
fn suspended(held: bool, queue: Option<&str>) -> JobFacts {
    JobFacts { suspended: true, held, queue: [queue.map(str::to_owned), None], ..ours() }
}

fn queued() -> JobFacts {
    JobFacts { queue: [Some("q".to_owned()), None], ..ours() }
}

fn terminating(live: JobFacts) -> JobFacts {
    JobFacts { terminating: true, ..live }
}

fn held() -> Value {
    json!({ "suspend": true })
}

fn unwanted() -> Value {
    json!({ "cancel": true, "suspend": true })
}

fn change(metadata: &Value, spec: &Value) -> Step {
    Step::Change(json!({ "metadata": metadata, "spec": spec }))
}

const Q: Option<&str> = Some("q");

#[rstest]
#[case::new(json!({}), None, None, Step::Create)]
#[case::new_for_a_queue(json!({}), Q, None, Step::Create)]
#[case::there(json!({}), None, Some(ours()), Step::Nothing)]
#[case::leaving(json!({}), None, Some(terminating(ours())), Step::Wait)]
#[case::of_an_earlier_one(json!({}), None, Some(owned_by("VmafxJob", "j", "v")), Step::Wait)]
#[case::of_another(json!({}), None, Some(owned_by("VmafxJob", "k", "v")), Step::Refuse)]
#[case::of_a_cron_job(json!({}), None, Some(owned_by("CronJob", "j", "v")), Step::Refuse)]
#[case::of_nobody(json!({}), None, Some(JobFacts { controller: None, ..ours() }), Step::Refuse)]
#[case::cancelled(unwanted(), None, Some(ours()), Step::Delete)]
#[case::cancelled_in_a_queue(unwanted(), Q, Some(suspended(false, Q)), Step::Delete)]
#[case::cancelled_before(unwanted(), None, None, Step::Nothing)]
#[case::cancelled_and_leaving(unwanted(), None, Some(terminating(ours())), Step::Nothing)]
#[case::cancelled_beside_another(unwanted(), None, Some(owned_by("CronJob", "j", "v")), Step::Nothing)]
#[case::held_before(held(), None, None, Step::Create)]
#[case::held_before_its_queue(held(), Q, None, Step::Nothing)]
#[case::held_while_it_runs(held(), None, Some(ours()),
    change(&json!({ "annotations": { HELD: "true" } }), &json!({ "suspend": true })))]
#[case::held(held(), None, Some(suspended(true, None)), Step::Nothing)]
#[case::held_by_another_too(held(), None, Some(suspended(false, None)), Step::Nothing)]
#[case::started_against_our_will(held(), None, Some(JobFacts { held: true, ..ours() }), Step::Delete)]
#[case::held_in_a_queue(held(), Q, Some(queued()), Step::Delete)]
#[case::held_beside_another(held(), None, Some(owned_by("CronJob", "j", "v")), Step::Refuse)]
#[case::resumed(json!({}), None, Some(suspended(true, None)),
    change(&json!({ "annotations": { HELD: null } }), &json!({ "suspend": false })))]
#[case::resumed_into_a_queue(json!({}), Q, Some(suspended(true, Q)),
    change(&json!({ "annotations": { HELD: null } }), &json!({})))]
#[case::suspended_by_another(json!({}), None, Some(suspended(false, None)), Step::Nothing)]
#[case::waits_in_its_queue(json!({}), Q, Some(suspended(false, Q)), Step::Nothing)]
#[case::admitted(json!({}), Q, Some(queued()), Step::Nothing)]
#[case::another_queue(json!({}), Q, Some(suspended(false, Some("p"))),
    change(&json!({ "labels": { QUEUE: "q", PRIORITY: null } }), &json!({})))]
#[case::another_queue_too_late(json!({}), Q, Some(JobFacts { queue: [Some("p".to_owned()), None], ..ours() }), Step::Nothing)]
#[case::another_deadline(json!({ "activeDeadlineSeconds": 9 }), None, Some(ours()),
    change(&json!({}), &json!({ "activeDeadlineSeconds": 9 })))]
#[case::no_deadline(json!({}), None, Some(JobFacts { deadline: Some(9), ..ours() }),
    change(&json!({}), &json!({ "activeDeadlineSeconds": null })))]
#[case::more_patience(json!({ "backoffLimit": 5 }), None, Some(ours()), change(&json!({}), &json!({ "backoffLimit": 5 })))]
fn every_row_of_the_table(
    #[case] spec: Value,
    #[case] queue: Option<&str>,
    #[case] live: Option<JobFacts>,
    #[case] expected: Step,
) {
    assert_eq!(decide(&job(&spec, queue), live.as_ref()), expected);
}
