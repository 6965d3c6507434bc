//! What is asked often is not written often.

use serde_json::json;
use vmafx_api::VmafxModelTraining;
use vmafx_testkit::kube::proxy::RecordedRequest;

use crate::world::{World, samples};

fn said(record: &RecordedRequest) -> String {
    format!("{} → {:?}", record.request, record.server)
}

#[tokio::test]
async fn nothing_is_written_while_the_trainer_says_the_same() {
    let world = World::set().await;
    world.running().await;
    world.until_event("Training").await;
    world.says(json!({ "phase": "running", "current_samples": 10, "last_checkpoint_time": "2026-11-16T10:00:00.5Z",
        "model_version": "m-v000001", "rmse": 1.1, "srocc": 1e-7, "gate_passed": true, "gate_message": "well" }));
    world.until("the gate", |run| crate::world::reason(run, "GatePassed") == "GateHeld").await;
    // The Pod is made meanwhile, by others, and is a change.
    let one_pod = |run: &VmafxModelTraining| crate::world::reason(run, "RolloutInProgress") == "AsExpected";
    world.until("the Pod", one_pod).await;
    world.asked_more(4).await;
    let (mark, asked) = (world.proxy.request_count(), world.asked());
    world.asked_more(10).await;
    // Everything is listed again, so every run is looked at again.
    world.proxy.close_connections();
    world.asked_more(10).await;
    let writes: Vec<_> = world.proxy.writes_since(mark).iter().map(said).collect();
    assert_eq!(writes, [""; 0], "over {} questions", world.asked() - asked);
}

#[tokio::test]
async fn nothing_is_written_while_the_trainer_stays_silent() {
    let world = World::set().await;
    world.create().await;
    world.asked_more(4).await;
    let mark = world.proxy.request_count();
    world.asked_more(12).await;
    let writes: Vec<_> = world.proxy.writes_since(mark).iter().map(said).collect();
    assert_eq!(writes, [""; 0]);
}

#[tokio::test]
async fn samples_that_move_are_written_once_per_question_at_most() {
    let world = World::set().await;
    world.running().await;
    world.until_event("Training").await;
    world.asked_more(4).await;
    let (mark, asked) = (world.proxy.request_count(), world.asked());
    for more in 11..30 {
        world.says(json!({ "phase": "running", "current_samples": more }));
        world.until("the samples", |run| samples(run) == Some(more)).await;
    }
    let writes: Vec<_> = world.proxy.writes_since(mark).iter().map(said).collect();
    assert!(writes.len() <= world.asked() - asked, "{} questions, {writes:#?}", world.asked() - asked);
    assert!(writes.iter().all(|write| write.contains("vmafxmodeltrainings/status")), "{writes:#?}");
}
