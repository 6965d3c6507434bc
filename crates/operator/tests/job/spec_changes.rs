//! Jobs that are suspended, resumed, cancelled and given another priority.

use serde_json::json;

use crate::agent::Agent;
use crate::harness::{Harness, condition, controller_id};

#[tokio::test]
async fn a_suspended_job_leaves_the_queue_and_comes_back() {
    let harness = Harness::start().await;
    harness.create("a", json!({ "suspend": true })).await;
    harness.until_reason("a", "Suspended", "Suspended").await;
    assert_eq!(harness.controller.jobs().await.len(), 0, "it was never queued");

    harness.change("a", json!({ "spec": { "suspend": false } })).await;
    let agent = Agent::register(&harness.controller, "gpu-0").await;
    let work = agent.pull().await;
    let running = harness.until_phase("a", "Running").await;

    harness.change("a", json!({ "spec": { "suspend": true } })).await;
    let suspended = harness.until_reason("a", "Suspended", "Suspended").await;
    assert_eq!(condition(&suspended, "Running"), ("False".to_owned(), "Suspended".to_owned()));
    assert_eq!(agent.cancelled(&[&work.id]).await, std::slice::from_ref(&work.id), "the node is freed");

    harness.change("a", json!({ "spec": { "suspend": false } })).await;
    let again = agent.pull().await;
    assert_ne!(again.id, work.id);
    agent.score(&again, 93.5).await;
    let done = harness.until_phase("a", "Succeeded").await;
    assert_ne!(controller_id(&done), controller_id(&running));
    assert_eq!(done.status.unwrap().score, Some(93.5));
    harness.until_events(&["Suspended", "Resumed", "Suspended", "Resumed"]).await;
}

#[tokio::test]
async fn a_cancelled_job_ends_and_stays() {
    let harness = Harness::start().await;
    harness.create("waiting", json!({})).await;
    harness.create("never", json!({ "suspend": true })).await;
    harness.until_reason("waiting", "Accepted", "Submitted").await;
    harness.until_reason("never", "Suspended", "Suspended").await;
    for name in ["waiting", "never"] {
        harness.change(name, json!({ "spec": { "cancel": true } })).await;
        let cancelled = harness.until_phase(name, "Cancelled").await;
        assert_eq!(condition(&cancelled, "Failed"), ("True".to_owned(), "Cancelled".to_owned()));
        assert!(cancelled.status.unwrap().finished_at.is_some());
    }
    harness.until_open(0).await;
}

#[tokio::test]
async fn what_is_cancelled_at_the_controller_is_cancelled_too() {
    let harness = Harness::start().await;
    harness.create("a", json!({})).await;
    let id = controller_id(&harness.until_reason("a", "Accepted", "Submitted").await).unwrap();
    let request =
        vmafx_proto::controller::v1::CancelJobRequest { job_id: id, reason: "by hand".to_owned(), cause: 0 };
    harness.controller.client().cancel_job(request).await.unwrap();
    let cancelled = harness.until_phase("a", "Cancelled").await;
    assert!(cancelled.status.unwrap().message.unwrap().contains("by hand"));
}

#[tokio::test]
async fn a_job_that_is_put_forward_overtakes_others() {
    let harness = Harness::start().await;
    for name in ["first", "second"] {
        harness.create(name, json!({})).await;
        harness.until_reason(name, "Accepted", "Submitted").await;
    }
    let before = controller_id(&harness.jobs.get("second").await.unwrap());
    harness.change("second", json!({ "spec": { "priority": 5 } })).await;
    harness.until_honoured("second").await;
    let agent = Agent::register(&harness.controller, "gpu-0").await;
    let work = agent.pull().await;
    assert_eq!((Some(work.id.clone()), work.priority), (before, 5), "the job is still the same");
    agent.score(&work, 50.0).await;
    harness.until_phase("second", "Succeeded").await;
    assert_eq!(harness.events().await, Vec::<String>::new());
}
