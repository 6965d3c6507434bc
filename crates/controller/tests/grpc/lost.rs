//! Nodes that disappear.

use std::time::Duration;

use vmafx_proto::controller::v1 as wire;

use crate::node::{TestNode, clips, get, submit};
use crate::server::TestServer;

const LEASE: Duration = Duration::from_secs(65);

#[tokio::test]
async fn a_lost_node_costs_an_attempt_and_three_cost_the_job() {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    let id = submit(&mut client, clips()).await;
    for attempt in 1..=3 {
        let node = TestNode::register(server.client().await).await;
        let work = node.pull().await.unwrap();
        assert_eq!((work.id.as_str(), work.attempt), (id.as_str(), attempt));
        server.pass(LEASE).await;
        assert!(!node.beat(&[&id]).await.ok, "its session has expired");
        let job = get(&mut client, &id).await;
        assert_eq!(job.lost_attempts, attempt);
        if attempt < 3 {
            assert_eq!(job.status(), wire::JobStatus::Pending);
            server.pass(Duration::from_secs(20)).await;
        }
    }
    let job = get(&mut client, &id).await;
    assert_eq!(job.status(), wire::JobStatus::Failed);
    assert_eq!(job.error, "lease of attempt 3 expired (3 of 3)");
    assert_eq!(job.failure_reason(), wire::FailureReason::NodeLost);
    assert_eq!(server.metric("vmafx_controller_jobs_requeued_total{reason=\"node_lost\"}"), Some(2.0));
    assert_eq!(server.metric("vmafx_controller_jobs_failed_total{tenant=\"acme\"}"), Some(1.0));
}

#[tokio::test]
async fn a_node_that_sends_heartbeats_keeps_its_job() {
    let (server, mut client, node, work) = TestServer::with_running_job().await;
    let id = work.id.clone();
    for _ in 0..5 {
        server.pass(Duration::from_secs(30)).await;
        assert_eq!(node.beat(&[&id]).await, wire::HeartbeatResponse { ok: true, ..Default::default() });
    }
    node.complete(&work, 77.0).await;
    assert_eq!(get(&mut client, &id).await.lost_attempts, 0);
}

#[tokio::test]
async fn a_report_that_comes_too_late_is_fenced() {
    let (server, mut client, first, work) = TestServer::with_running_job().await;
    let id = work.id.clone();
    for _ in 0..3 {
        // The node is alive, but its heartbeat does not name the job.
        server.pass(Duration::from_secs(30)).await;
        assert!(first.beat(&[]).await.ok);
    }
    assert_eq!(first.beat(&[&id]).await.lost_job_ids, [id.as_str()]);
    let second = TestNode::named(server.client().await, "node-1", &["cpu"]).await;
    let again = second.pull().await.unwrap();
    assert_eq!(again.attempt, 2);
    let late = first.report(first.report_request(&work, 1.0)).await.unwrap_err();
    assert_eq!(late.code(), tonic::Code::PermissionDenied);
    second.complete(&again, 2.0).await;
    assert_eq!(get(&mut client, &id).await.final_score, 2.0);
}

#[tokio::test]
async fn a_waiting_pull_gets_the_job_after_its_back_off() {
    let (server, _, _, lost) = TestServer::with_running_job().await;
    server.pass(LEASE).await;
    let node = TestNode::named(server.client().await, "node-1", &["cpu"]).await;
    let waiting = node.pull_for(Duration::from_secs(25));
    let back_off = async {
        let entered = || async { server.store.claims() >= 2 };
        vmafx_testkit::wait::until(Duration::from_secs(10), "the pull to wait", entered).await.unwrap();
        server.pass(Duration::from_secs(10)).await;
    };
    let (work, ()) = tokio::join!(waiting, back_off);
    assert_eq!(work.unwrap().unwrap().id, lost.id);
}
