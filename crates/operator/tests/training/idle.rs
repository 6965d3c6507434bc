//! Frequent polls of the trainer cause no unnecessary writes.

use serde_json::json;
use vmafx_api::VmafxModelTraining;
use vmafx_testkit::kube::proxy::RecordedRequest;

use crate::fixture::{TrainingFixture, samples};

fn describe(record: &RecordedRequest) -> String {
    format!("{} → {:?}", record.request, record.server)
}

#[tokio::test]
async fn nothing_is_written_while_the_report_stays_the_same() {
    let fixture = TrainingFixture::new().await;
    fixture.running().await;
    fixture.until_event("Training").await;
    fixture.set_report(json!({ "phase": "running", "current_samples": 10, "last_checkpoint_time": "2026-11-16T10:00:00.5Z",
        "model_version": "m-v000001", "rmse": 1.1, "srocc": 1e-7, "gate_passed": true, "gate_message": "well" }));
    fixture.until("the gate", |run| crate::resources::reason(run, "GatePassed") == "GateHeld").await;
    // The StatefulSet controller creates the Pod meanwhile, which changes the status.
    let one_pod =
        |run: &VmafxModelTraining| crate::resources::reason(run, "RolloutInProgress") == "AsExpected";
    fixture.until("the Pod", one_pod).await;
    fixture.wait_for_polls(4).await;
    let (mark, asked) = (fixture.proxy.request_count(), fixture.poll_count());
    fixture.wait_for_polls(10).await;
    // Everything is listed again, so every run is reconciled again.
    fixture.proxy.close_connections();
    fixture.wait_for_polls(10).await;
    let writes: Vec<_> = fixture.proxy.writes_since(mark).iter().map(describe).collect();
    assert_eq!(writes, [""; 0], "over {} polls", fixture.poll_count() - asked);
}

#[tokio::test]
async fn nothing_is_written_while_the_trainer_does_not_answer() {
    let fixture = TrainingFixture::new().await;
    fixture.create().await;
    fixture.wait_for_polls(4).await;
    let mark = fixture.proxy.request_count();
    fixture.wait_for_polls(12).await;
    let writes: Vec<_> = fixture.proxy.writes_since(mark).iter().map(describe).collect();
    assert_eq!(writes, [""; 0]);
}

#[tokio::test]
async fn a_changing_number_of_samples_is_written_at_most_once_per_poll() {
    let fixture = TrainingFixture::new().await;
    fixture.running().await;
    fixture.until_event("Training").await;
    fixture.wait_for_polls(4).await;
    let (mark, asked) = (fixture.proxy.request_count(), fixture.poll_count());
    for more in 11..30 {
        fixture.set_report(json!({ "phase": "running", "current_samples": more }));
        fixture.until("the samples", |run| samples(run) == Some(more)).await;
    }
    let writes: Vec<_> = fixture.proxy.writes_since(mark).iter().map(describe).collect();
    assert!(
        writes.len() <= fixture.poll_count() - asked,
        "{} polls, {writes:#?}",
        fixture.poll_count() - asked
    );
    assert!(writes.iter().all(|write| write.contains("vmafxmodeltrainings/status")), "{writes:#?}");
}
