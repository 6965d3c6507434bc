//! What a heartbeat, or the lack of one, says of a node.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use vmafx_api::VmafxNode;

use crate::scene::{Scene, reason};

fn ago(seconds: i64) -> Time {
    Time(Timestamp::from_second(Timestamp::now().as_second() - seconds).unwrap())
}

/// Writes a heartbeat as the controller does.
async fn heard(scene: &Scene, at: &Time) {
    let status = json!({
        "apiVersion": "vmafx.dev/v1", "kind": "VmafxNode",
        "status": { "lastHeartbeat": at, "assignedJobs": 3, "detectedDevice": "Xeon" },
    });
    let params = PatchParams::apply("vmafx-controller").force();
    scene.nodes.patch_status("pool", &params, &Patch::Apply(status)).await.unwrap();
}

fn healthy(node: &VmafxNode) -> Option<bool> {
    node.status.as_ref()?.healthy
}

#[tokio::test]
async fn a_node_with_an_old_heartbeat_turns_unhealthy_and_stays_so_until_it_is_heard_of_again() {
    let scene = Scene::set().await;
    scene.node(json!({ "gpuVendor": "cpu" })).await;
    let fresh = scene.until_reason("AgentHealthy", "AwaitingFirstHeartbeat").await;
    assert_eq!(healthy(&fresh), Some(true), "it has a minute to begin");
    let old = ago(90);
    heard(&scene, &old).await;
    let stale = scene.until_reason("AgentHealthy", "HeartbeatStale").await;
    assert_eq!(healthy(&stale), Some(false));
    // Each change is another pass of the operator over the same heartbeat.
    for pass in 0..5 {
        scene.change(json!({ "spec": { "capacity": pass + 1 } })).await;
        let generation = i64::from(pass) + 1;
        let node = scene
            .until("the pass", |node| {
                node.status.as_ref().is_some_and(|status| status.observed_generation >= Some(generation))
            })
            .await;
        let status = node.status.unwrap();
        assert_eq!((status.healthy, status.last_heartbeat), (Some(false), Some(old.clone())));
        assert_eq!((status.assigned_jobs, status.detected_device.as_deref()), (Some(3), Some("Xeon")));
    }
    heard(&scene, &ago(0)).await;
    let well = scene.until_reason("AgentHealthy", "AsExpected").await;
    assert_eq!((healthy(&well), reason(&well, "Ready").as_str()), (Some(true), "WorkersStarting"));
    let events = scene.until_event("AgentsHealthy").await;
    let health =
        events.iter().filter(|reason| ["HeartbeatStale", "AgentsHealthy"].contains(&reason.as_str()));
    assert_eq!(health.collect::<Vec<_>>(), ["HeartbeatStale", "AgentsHealthy"], "told once each");
}
