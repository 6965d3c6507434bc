//! The health of a node, from its heartbeats.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use vmafx_api::VmafxNode;

use crate::fixture::NodeFixture;
use crate::resources::reason;

fn ago(seconds: i64) -> Time {
    Time(Timestamp::from_second(Timestamp::now().as_second() - seconds).unwrap())
}

/// Writes a heartbeat as the controller does.
async fn write_heartbeat(fixture: &NodeFixture, at: &Time) {
    write_agents(fixture, json!({ "lastHeartbeat": at, "assignedJobs": 3, "detectedDevice": "Xeon" })).await;
}

/// Writes the fields of the status that are the controller's.
async fn write_agents(fixture: &NodeFixture, status: Value) {
    let status = json!({ "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode", "status": status });
    let params = PatchParams::apply("vmafx-controller").force();
    fixture.nodes.patch_status("pool", &params, &Patch::Apply(status)).await.unwrap();
}

fn healthy(node: &VmafxNode) -> Option<bool> {
    node.status.as_ref()?.healthy
}

#[tokio::test]
async fn a_node_with_a_stale_heartbeat_stays_unhealthy_until_the_next_heartbeat() {
    let fixture = NodeFixture::new().await;
    fixture.node(json!({ "gpuVendor": "cpu" })).await;
    let fresh = fixture.until_reason("AgentHealthy", "AwaitingFirstHeartbeat").await;
    assert_eq!(healthy(&fresh), Some(true), "a new node counts as healthy for a minute");
    let old = ago(90);
    write_heartbeat(&fixture, &old).await;
    let stale = fixture.until_reason("AgentHealthy", "HeartbeatStale").await;
    assert_eq!(healthy(&stale), Some(false));
    // Each change is another pass of the operator over the same heartbeat.
    for pass in 0..5 {
        fixture.change(json!({ "spec": { "capacity": pass + 1 } })).await;
        let generation = i64::from(pass) + 1;
        let node = fixture
            .until("the pass", |node| {
                node.status.as_ref().is_some_and(|status| status.observed_generation >= Some(generation))
            })
            .await;
        let status = node.status.unwrap();
        assert_eq!((status.healthy, status.last_heartbeat), (Some(false), Some(old.clone())));
        assert_eq!((status.assigned_jobs, status.detected_device.as_deref()), (Some(3), Some("Xeon")));
    }
    write_heartbeat(&fixture, &ago(0)).await;
    let well = fixture.until_reason("AgentHealthy", "AsExpected").await;
    assert_eq!((healthy(&well), reason(&well, "Ready").as_str()), (Some(true), "WorkersStarting"));
    let events = fixture.until_event("AgentsHealthy").await;
    let health =
        events.iter().filter(|reason| ["HeartbeatStale", "AgentsHealthy"].contains(&reason.as_str()));
    assert_eq!(health.collect::<Vec<_>>(), ["HeartbeatStale", "AgentsHealthy"], "one event for each change");
}

#[tokio::test]
async fn a_node_whose_workers_are_quarantined_is_unhealthy_and_says_why() {
    let fixture = NodeFixture::new().await;
    fixture.node(json!({ "gpuVendor": "cpu" })).await;
    fixture.until_reason("AgentHealthy", "AwaitingFirstHeartbeat").await;
    let quarantine = json!({
        "workers": 1, "connected": 1, "reason": "InputMissingOnNode", "message": "pool-0: /media/a: there is no such file",
    });
    write_agents(&fixture, json!({ "lastHeartbeat": ago(1), "quarantine": quarantine })).await;
    let broken = fixture.until_reason("Quarantined", "FailingJobs").await;
    assert_eq!(healthy(&broken), Some(false));
    assert_eq!(reason(&broken, "AgentHealthy"), "FailingJobs");
    let conditions = broken.status.unwrap().conditions;
    let message = &conditions.iter().find(|one| one.type_ == "Quarantined").unwrap().message;
    assert!(message.ends_with("(InputMissingOnNode): pool-0: /media/a: there is no such file"), "{message}");
    write_agents(&fixture, json!({ "lastHeartbeat": ago(0) })).await;
    let repaired = fixture.until_reason("Quarantined", "AsExpected").await;
    assert_eq!(healthy(&repaired), Some(true));
}
