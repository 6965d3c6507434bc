//! Why a job is pending, and how many writes that costs.

use serde_json::json;

use crate::agent::Agent;
use crate::harness::{Harness, condition, message};

#[tokio::test]
async fn a_waiting_job_says_why_in_numbers_and_is_not_written_while_nothing_changes() {
    let harness = Harness::start().await;
    harness.create("gpu", json!({ "backend": "cuda" })).await;
    let gpu = harness.until_reason("gpu", "Running", "NoMatchingNode").await;
    assert!(message(&gpu).contains("No node"), "{}", message(&gpu));

    let agent = Agent::register(&harness.controller, "cpu-0").await;
    harness.create("first", json!({})).await;
    let work = agent.pull().await;
    harness.until_phase("first", "Running").await;

    // However often the operator reconciles, nothing is written twice.
    let mark = harness.proxy.request_count();
    for _ in 0..3 {
        let before = harness.operator.reconciles().await;
        harness
            .change("gpu", json!({ "metadata": { "annotations": { "reconciled": before.to_string() } } }))
            .await;
        vmafx_testkit::wait::until(crate::TIMEOUT, "another reconcile", || async {
            harness.operator.reconciles().await > before
        })
        .await
        .unwrap();
    }
    assert_eq!(harness.proxy.writes_since(mark).len(), 0);
    agent.score(&work, 50.0).await;
    let done = harness.until_phase("first", "Succeeded").await;
    assert_eq!(condition(&done, "Complete").1, "Scored");
}

#[tokio::test]
async fn a_job_costs_one_write_while_it_waits_and_no_more_than_three_until_its_end() {
    let harness = Harness::start().await;
    let mark = harness.proxy.request_count();
    harness.create("long", json!({})).await;
    // The submission is written together with the reason why the job is pending.
    harness.until_reason("long", "Running", "NoMatchingNode").await;
    let writes = harness.proxy.writes_since(mark);
    assert_eq!(writes.len(), 1, "{writes:?}");
    let agent = Agent::register(&harness.controller, "cpu-0").await;
    let work = agent.pull().await;
    harness.until_phase("long", "Running").await;
    agent.score(&work, 50.0).await;
    harness.until_phase("long", "Succeeded").await;
    let writes = harness.proxy.writes_since(mark);
    assert!((2..=3).contains(&writes.len()), "{writes:?}");
}
