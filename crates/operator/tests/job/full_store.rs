//! The volume of the controller's store is full.

use serde_json::json;
use vmafx_proto::controller::v1 as wire;

use crate::agent::Agent;
use crate::controller::Controller;
use crate::harness::{Harness, condition, message, phase};

/// Fills the volume until the controller has released its reserve: what ends or continues something still finds room.
async fn fill(controller: &Controller) {
    controller.fill_volume().unwrap();
    let mut client = controller.client();
    for number in 0..20_000 {
        if !controller.holds_reserve() {
            return;
        }
        // A registration may use the reserve.
        let name = format!("{number:0>200}");
        client.register_node(wire::RegisterNodeRequest { name, ..Default::default() }).await.unwrap();
    }
    panic!("the volume does not become full");
}

#[tokio::test]
async fn jobs_and_labels_that_find_the_store_full_wait_and_are_sent_when_there_is_room() {
    let settings = |config: vmafx_testkit::controller::ControllerConfig| {
        config.volume(24).env("VMAFX_DB_RESERVE_MIB", "4")
    };
    let controller = Controller::with(settings).await;
    let address = controller.grpc();
    let harness = Harness::reaching(controller, address, &[]).await;
    harness.create("before", json!({})).await;
    harness.until_reason("before", "Accepted", "Submitted").await;
    fill(&harness.controller).await;

    harness.create("new", json!({})).await;
    harness.create("late", json!({ "activeDeadlineSeconds": 3 })).await;
    harness.change("before", json!({ "spec": { "groundTruth": 50 } })).await;
    let new = harness.until_reason("new", "Accepted", "StoreFull").await;
    assert_eq!((phase(&new).as_str(), condition(&new, "Accepted").0.as_str()), ("Pending", "False"));
    assert!(message(&new).contains("free space on its volume"), "{}", message(&new));
    let before = harness.until_reason("before", "Accepted", "StoreFull").await;
    assert_eq!((phase(&before).as_str(), condition(&before, "Accepted").0.as_str()), ("Pending", "True"));
    assert!(message(&before).contains("but not its last change"), "{}", message(&before));
    let late = harness.until_phase("late", "Failed").await;
    assert_eq!(condition(&late, "Failed").1, "DeadlineExceeded");
    harness.assert_never_unreachable();

    harness.controller.free_volume().unwrap();
    harness.until_reason("new", "Accepted", "Submitted").await;
    harness.until_reason("before", "Accepted", "Submitted").await;
    harness.until_honoured("before").await;
    let agent = Agent::register(&harness.controller, "gpu-0").await;
    for _ in 0..2 {
        agent.score(&agent.pull().await, 90.0).await;
    }
    harness.until_phase("new", "Succeeded").await;
    let before = harness.until_phase("before", "Succeeded").await;
    assert_eq!(before.status.unwrap().ground_truth, Some(50.0));
    assert_eq!(harness.controller.jobs().await.len(), 2);
}
