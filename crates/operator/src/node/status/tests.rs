use rstest::rstest;
use serde_json::{Value, json};
use vmafx_api::workload::StatefulSetRef;

use super::*;
use crate::node::health::RECHECK_INTERVAL;
use crate::node::plan::tests::node;

fn cpu(paused: bool) -> VmafxNode {
    node(json!({ "gpuVendor": "cpu", "replicas": 2, "paused": paused }), Value::Null)
}

fn healthy() -> AgentHealth {
    AgentHealth {
        healthy: true,
        state: ConditionState::met(Reason::AsExpected, "agents report in time"),
        quarantined: ConditionState::unmet(Reason::AsExpected, ""),
        recheck_after: RECHECK_INTERVAL,
    }
}

fn two_at_work() -> WorkerCounts {
    WorkerCounts {
        observed: true,
        desired: 2,
        existing: 2,
        ready: 2,
        updated: 2,
        one_revision: true,
        image: Some("worker:1".to_owned()),
    }
}

fn workload(workers: Option<WorkerCounts>) -> WorkloadStatus {
    let tracked = StatefulSetRef { name: "vmafx-node-pool".into(), uid: "u".into() };
    let synced = ConditionState::met(Reason::AsExpected, "");
    WorkloadStatus { tracked: Some(tracked), synced, workers, event: None }
}

/// The status of a node with healthy agents.
fn status_of(node: &VmafxNode, workload: &WorkloadStatus, at: i64) -> VmafxNodeStatus {
    status(node, workload, &healthy(), second(at))
}

fn second(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn condition(status: &VmafxNodeStatus, type_: NodeCondition) -> (ConditionStatus, &str) {
    let condition = status.conditions.iter().find(|condition| condition.type_ == type_.as_str()).unwrap();
    (condition.status, &condition.reason)
}

#[test]
fn every_condition_is_there_from_the_first_write_and_names_the_generation() {
    let status = status_of(&cpu(false), &workload(None), 5);
    let types: Vec<_> = status.conditions.iter().map(|condition| condition.type_.as_str()).collect();
    assert_eq!(types, NodeCondition::ALL.iter().map(|type_| type_.as_str()).collect::<Vec<_>>());
    assert!(status.conditions.iter().all(|condition| condition.observed_generation == Some(3)));
    assert_eq!(status.observed_generation, Some(3));
}

#[test]
fn fields_of_the_controller_are_never_written() {
    let mut node = cpu(false);
    node.status = Some(VmafxNodeStatus {
        last_heartbeat: Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(second(1))),
        assigned_jobs: Some(4),
        detected_device: Some("Xeon".to_owned()),
        ..VmafxNodeStatus::default()
    });
    let status = serde_json::to_value(status_of(&node, &workload(Some(two_at_work())), 5)).unwrap();
    for field in ["lastHeartbeat", "assignedJobs", "detectedDevice", "quarantine"] {
        assert!(status.get(field).is_none(), "{status}");
    }
}

#[test]
fn a_pool_that_has_never_reported_has_no_jobs() {
    let status = status_of(&cpu(false), &workload(None), 5);
    assert_eq!(status.assigned_jobs, Some(0));
    assert_eq!(operator_fields(&status), status, "the zero is not written again");
}

#[test]
fn the_time_of_a_probe_is_written_only_together_with_something_else() {
    let first = status_of(&cpu(false), &workload(None), 5);
    let first = with_probe_time(first, None, Some(second(5)));
    assert_eq!(first.last_probe_time, Some(Time(second(5))));
    let same = with_probe_time(first.clone(), Some(&first), Some(second(35)));
    assert_eq!(same, first);
    let sick = VmafxNodeStatus { healthy: Some(false), ..first.clone() };
    assert_eq!(
        with_probe_time(sick.clone(), Some(&first), Some(second(65))).last_probe_time,
        Some(Time(second(65)))
    );
    assert_eq!(with_probe_time(sick, Some(&first), None).last_probe_time, Some(Time(second(5))));
}

#[rstest]
#[case::at_work(false, Some(two_at_work()), ConditionStatus::True, "AsExpected")]
#[case::starting(false, Some(WorkerCounts { ready: 1, ..two_at_work() }), ConditionStatus::False, "WorkersStarting")]
#[case::not_observed_yet(false, Some(WorkerCounts { observed: false, ..two_at_work() }), ConditionStatus::False, "WorkersStarting")]
#[case::scaled_to_zero(false, Some(WorkerCounts { observed: true, ..WorkerCounts::default() }), ConditionStatus::False, "Drained")]
#[case::draining(true, Some(WorkerCounts { desired: 0, ..two_at_work() }), ConditionStatus::False, "Draining")]
#[case::drained(true, Some(WorkerCounts { observed: true, ..WorkerCounts::default() }), ConditionStatus::False, "Drained")]
fn ready_is_the_first_obstacle(
    #[case] paused: bool,
    #[case] workers: Option<WorkerCounts>,
    #[case] ready: ConditionStatus,
    #[case] reason: &str,
) {
    let status = status_of(&cpu(paused), &workload(workers), 5);
    assert_eq!(condition(&status, NodeCondition::Ready), (ready, reason));
}

#[test]
fn a_workload_that_is_not_synced_is_the_reason_even_when_paused() {
    let refused = WorkloadStatus {
        synced: ConditionState::unmet(Reason::ForeignOwner, "somebody's"),
        ..workload(None)
    };
    let status = status_of(&cpu(true), &refused, 5);
    assert_eq!(condition(&status, NodeCondition::Ready), (ConditionStatus::False, "ForeignOwner"));
}

#[rstest]
#[case::requested_and_not_observed(Some(WorkerCounts { observed: false, desired: 0, existing: 0, ..two_at_work() }), ConditionStatus::False, "Draining")]
#[case::leaving(Some(WorkerCounts { desired: 0, existing: 1, ..two_at_work() }), ConditionStatus::False, "Draining")]
#[case::gone(Some(WorkerCounts { desired: 0, existing: 0, ..two_at_work() }), ConditionStatus::True, "Drained")]
#[case::no_stateful_set(None, ConditionStatus::True, "Drained")]
fn paused_is_true_when_the_last_worker_is_gone(
    #[case] workers: Option<WorkerCounts>,
    #[case] paused: ConditionStatus,
    #[case] reason: &str,
) {
    let status = status_of(&cpu(true), &workload(workers), 5);
    assert_eq!(condition(&status, NodeCondition::Paused), (paused, reason));
}

#[rstest]
#[case::done(two_at_work(), ConditionStatus::False)]
#[case::one_by_one(WorkerCounts { one_revision: false, updated: 1, ..two_at_work() }, ConditionStatus::True)]
#[case::not_observed_yet(WorkerCounts { observed: false, ..two_at_work() }, ConditionStatus::True)]
#[case::none_to_update(WorkerCounts { desired: 0, one_revision: false, ..two_at_work() }, ConditionStatus::False)]
fn a_rollout_lasts_until_every_worker_is_updated(
    #[case] workers: WorkerCounts,
    #[case] rollout: ConditionStatus,
) {
    let status = status_of(&cpu(false), &workload(Some(workers)), 5);
    assert_eq!(condition(&status, NodeCondition::RolloutInProgress).0, rollout);
}

#[test]
fn the_image_is_that_of_the_workers_and_not_that_of_the_spec() {
    let mut node = cpu(false);
    let first = status_of(&node, &workload(Some(two_at_work())), 5);
    assert_eq!(first.current_image.as_deref(), Some("worker:1"));
    node.status = Some(first);
    let half = WorkerCounts { one_revision: false, image: Some("worker:2".to_owned()), ..two_at_work() };
    let during = status_of(&node, &workload(Some(half)), 6);
    assert_eq!(during.current_image.as_deref(), Some("worker:1"));
}

#[test]
fn external_workers_have_health_and_nothing_else() {
    let node = node(json!({ "gpuVendor": "cpu", "managementPolicy": "External" }), Value::Null);
    let external =
        WorkloadStatus { tracked: None, synced: ConditionState::met(Reason::External, ""), ..workload(None) };
    let status = status_of(&node, &external, 5);
    assert_eq!(condition(&status, NodeCondition::Ready), (ConditionStatus::True, "AsExpected"));
    assert_eq!((status.replicas, status.selector.clone(), status.healthy), (None, None, Some(true)));
}

#[test]
fn the_same_observation_makes_the_same_status() {
    let mut node = cpu(false);
    let first = status_of(&node, &workload(Some(two_at_work())), 5);
    node.status = Some(first.clone());
    assert_eq!(status_of(&node, &workload(Some(two_at_work())), 99), first);
}

#[test]
fn events_are_published_for_transitions_and_for_nothing_else() {
    let events = |before: &VmafxNodeStatus, after: &VmafxNodeStatus| {
        let events = transition_events(Some(before), after).into_iter();
        events.map(|event| event.reason.as_str()).collect::<Vec<_>>()
    };
    let at_work = status_of(&cpu(false), &workload(Some(two_at_work())), 5);
    assert_eq!(transition_events(None, &at_work), [], "the first status is no transition");
    assert_eq!(events(&at_work, &at_work), [""; 0]);
    let leaving = WorkerCounts { desired: 0, ..two_at_work() };
    let draining = status_of(&cpu(true), &workload(Some(leaving)), 6);
    let drained = status_of(&cpu(true), &workload(None), 7);
    assert_eq!(events(&at_work, &draining), ["Draining"]);
    assert_eq!(events(&draining, &drained), ["Drained"]);
    assert_eq!(events(&drained, &at_work), ["Resumed"]);
    let stale = AgentHealth::without_agents(Reason::HeartbeatStale, "");
    let stale = status(&cpu(false), &workload(Some(two_at_work())), &stale, second(8));
    assert_eq!(events(&at_work, &stale), ["HeartbeatStale"]);
    assert_eq!(events(&stale, &at_work), ["AgentsHealthy"]);
    let half = WorkerCounts { one_revision: false, updated: 1, ..two_at_work() };
    let rolling = status_of(&cpu(false), &workload(Some(half)), 9);
    assert_eq!(events(&at_work, &rolling), ["RollingOut"]);
    assert_eq!(events(&rolling, &at_work), ["RolledOut"]);
}
