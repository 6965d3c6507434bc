//! The live stream is connected and delivers nothing; and how many connections the operator has.

use std::collections::BTreeSet;

use serde_json::json;
use vmafx_testkit::wait;

use crate::TIMEOUT;
use crate::harness::{Harness, condition};

#[tokio::test]
async fn a_job_of_which_nothing_is_heard_is_asked_for_although_the_stream_is_live() {
    let harness = Harness::start().await;
    for name in ["a", "b"] {
        harness.create(name, json!({})).await;
        harness.until_reason(name, "Accepted", "Submitted").await;
    }
    harness.until_streaming().await;
    // A change that the feed never mentions, as when a transaction that was left open holds it back.
    harness.controller.change_behind_its_back(
        "UPDATE jobs SET state = 'failed', ready = 0, finished_at = updated_at, error = 'broken', revision = revision + 1
         WHERE origin_name = 'a'",
    );
    let failed = harness.until_phase("a", "Failed").await;
    assert_eq!(condition(&failed, "Failed").1, "ScoringFailed");
    harness.until_metric("operator_jobs_refreshed_total", "", 1.0).await;
    // A job that is gone is submitted again.
    harness.controller.change_behind_its_back("DELETE FROM jobs WHERE origin_name = 'b'");
    harness.until_events(&["Forgotten", "ScoringFailed"]).await;
}

#[tokio::test]
async fn all_reconciles_share_one_connection_to_the_controller() {
    let harness = Harness::start().await;
    harness.until_streaming().await;
    let port = harness.controller.grpc().port();
    let before = harness.operator.connections_to(port);
    assert_eq!(before.len(), 1, "{before:?}");
    let reconciles = harness.operator.reconciles().await;
    let names: Vec<_> = (0..50).map(|number| format!("n{number}")).collect();
    futures::future::join_all(names.iter().map(|name| harness.create(name, json!({})))).await;
    harness.until_open(50).await;
    wait::until(TIMEOUT, "many reconciles", || async {
        harness.operator.reconciles().await > reconciles + 100.0
    })
    .await
    .unwrap();
    let after: BTreeSet<_> = harness.operator.connections_to(port);
    assert_eq!(after, before);
}
