#![allow(clippy::needless_pass_by_value, reason = "specs are written where they are used")]

use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::error::Retry;
use crate::node::probe::ProbedController;
use crate::workload::{ObservedWorkload, TrackedResource, WorkloadAction, WorkloadDecision};

const NOW: i64 = 1_800_000_000;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// A node that was created an hour ago.
pub(in crate::node) fn node(spec: Value, status: Value) -> VmafxNode {
    serde_json::from_value(json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode",
        "metadata": { "name": "pool", "namespace": "video", "uid": "u", "generation": 3,
                      "creationTimestamp": at(NOW - 3600) },
        "spec": spec, "status": status,
    }))
    .unwrap()
}

fn observed(node: &VmafxNode, controller: Option<ControllerProbe>) -> ObservedNode {
    let resource = TrackedResource::of(node);
    let controller = controller.map(|probe| ProbedController { probe, at: at(NOW) });
    ObservedNode { workload: ObservedWorkload { resource, ..ObservedWorkload::default() }, controller }
}

fn planned(node: &VmafxNode, image: Option<&str>, controller: Option<ControllerProbe>) -> NodePlan {
    let defaults = crate::node::render::tests::defaults();
    let defaults = crate::node::render::NodeDefaults { image: image.map(str::to_owned), ..defaults };
    let desired = crate::node::render::desired(node, &defaults);
    plan(node, &desired, &observed(node, controller), at(NOW))
}

fn heard(seconds_ago: i64) -> Value {
    json!({ "lastHeartbeat": at(NOW - seconds_ago) })
}

fn resumed(seconds_ago: i64, heard: i64) -> Value {
    json!({ "lastHeartbeat": at(NOW - heard), "conditions": [{
        "type": "Paused", "status": "False", "reason": "Resumed", "message": "",
        "lastTransitionTime": at(NOW - seconds_ago),
    }] })
}

#[rstest]
#[case::healthy(heard(5), ControllerProbe::Answered, Reason::AsExpected, 30)]
#[case::about_to_be_stale(heard(55), ControllerProbe::Answered, Reason::AsExpected, 6)]
#[case::at_the_very_edge(heard(60), ControllerProbe::Answered, Reason::AsExpected, 30)]
#[case::stale(heard(90), ControllerProbe::Answered, Reason::HeartbeatStale, 30)]
#[case::silent_controller(heard(5), ControllerProbe::Failed("503".to_owned()), Reason::ProbeFailed, 30)]
#[case::heard_before_a_pause(resumed(10, 300), ControllerProbe::Answered, Reason::AwaitingFirstHeartbeat, 30)]
#[case::heard_after_a_pause(resumed(300, 10), ControllerProbe::Answered, Reason::AsExpected, 30)]
#[case::not_heard_after_a_pause(resumed(90, 300), ControllerProbe::Answered, Reason::HeartbeatStale, 30)]
fn health_follows_from_heartbeat_pause_and_probe(
    #[case] status: Value,
    #[case] probe: ControllerProbe,
    #[case] reason: Reason,
    #[case] seconds: u64,
) {
    let plan = planned(&node(json!({ "gpuVendor": "cpu" }), status), Some("worker:1"), Some(probe));
    assert_eq!(plan.health.state.reason, reason);
    assert_eq!(plan.requeue_after(), RequeueAfter(Duration::from_secs(seconds)));
}

#[test]
fn a_node_without_workers_needs_no_heartbeat() {
    for spec in [json!({ "gpuVendor": "cpu", "paused": true }), json!({ "gpuVendor": "cpu", "replicas": 0 })]
    {
        let plan = planned(&node(spec, json!({})), Some("worker:1"), None);
        assert_eq!((plan.health.healthy, plan.health.state.reason), (false, Reason::Drained));
    }
}

#[test]
fn a_managed_node_gets_a_workload_and_an_external_one_does_not() {
    let managed = node(json!({ "gpuVendor": "cpu" }), json!({}));
    let plan = planned(&managed, Some("worker:1"), Some(ControllerProbe::Answered));
    let WorkloadAction::Sync(steps) = &plan.workload.action else { panic!("{plan:?}") };
    assert_eq!(steps.stateful_set.decision, WorkloadDecision::Create);
    assert!(steps.service.is_some() && steps.budget.is_some());
    let external = node(json!({ "gpuVendor": "cpu", "managementPolicy": "External" }), json!({}));
    let plan = planned(&external, None, Some(ControllerProbe::Answered));
    assert_eq!(plan.workload.action, WorkloadAction::External);
    assert_eq!(plan.requeue_after(), RequeueAfter(RECHECK_INTERVAL));
}

#[test]
fn a_node_without_an_image_is_blocked_until_somebody_sets_one() {
    let node = node(json!({ "gpuVendor": "cpu" }), json!({}));
    let plan = planned(&node, None, Some(ControllerProbe::Answered));
    let WorkloadAction::Blocked { reason, retry, message } = &plan.workload.action else {
        panic!("{plan:?}")
    };
    assert_eq!((*reason, *retry), (Reason::Invalid, Retry::Slowly));
    assert!(message.contains("VMAFX_OPERATOR_NODE_IMAGE"), "{message}");
}
