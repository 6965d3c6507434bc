//! The live stream is connected and delivers nothing; and how many connections the operator has.

use serde_json::json;
use vmafx_testkit::tcp_proxy::TcpProxy;
use vmafx_testkit::wait;

use crate::TIMEOUT;
use crate::controller::Controller;
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
    let controller = Controller::start().await;
    let target = controller.grpc();
    let proxy = TcpProxy::start([target]).await.unwrap();
    let harness = Harness::reaching(controller, proxy.address(), &[]).await;
    harness.until_streaming().await;
    let reconciles = harness.operator.reconciles().await;
    let names: Vec<_> = (0..50).map(|number| format!("n{number}")).collect();
    futures::future::join_all(names.iter().map(|name| harness.create(name, json!({})))).await;
    harness.until_open(50).await;
    wait::until(TIMEOUT, "many reconciles", || async {
        harness.operator.reconciles().await > reconciles + 100.0
    })
    .await
    .unwrap();
    // Every connection since the start of the operator, also one that was closed at once.
    assert_eq!(proxy.connections(target), 1);
}
