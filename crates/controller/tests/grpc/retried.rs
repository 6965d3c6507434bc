//! Attempts that fail through no fault of the job, and nodes that fail too many.

use std::time::Duration;

use tokio::task::JoinSet;
use vmafx_proto::controller::v1 as wire;
use vmafx_testkit::wait;

use crate::node::{TestNode, clips, get, submit};
use crate::server::{Client, TestServer};

const TIMEOUT: Duration = Duration::from_secs(20);

async fn fail(node: &TestNode, job: &wire::Job, reason: wire::FailureReason) {
    let report = wire::ReportResultRequest {
        error: "the disk is full".into(),
        failure_reason: reason.into(),
        ..node.report_request(job, 0.0)
    };
    node.report(report).await.unwrap();
}

async fn explain(client: &mut Client, job_id: &str) -> wire::ExplainResponse {
    client.explain(wire::ExplainRequest { job_id: job_id.to_owned() }).await.unwrap().into_inner()
}

/// Fails three jobs in a row; returns their ids.
async fn quarantine(client: &mut Client, broken: &TestNode) -> Vec<String> {
    let mut jobs = Vec::new();
    for _ in 0..3 {
        jobs.push(submit(client, clips()).await);
        let work = broken.pull().await.unwrap();
        fail(broken, &work, wire::FailureReason::ScratchFull).await;
    }
    jobs
}

#[tokio::test]
async fn a_job_that_waits_for_another_attempt_says_why() {
    let (server, mut client, node, work) = TestServer::with_running_job().await;
    fail(&node, &work, wire::FailureReason::ScratchFull).await;
    let waiting = get(&mut client, &work.id).await;
    assert_eq!((waiting.status(), waiting.error.as_str()), (wire::JobStatus::Pending, ""));
    let failure = wire::FailedAttempt {
        attempt: 1,
        node: "node-0".into(),
        reason: wire::FailureReason::ScratchFull.into(),
        message: "the disk is full".into(),
    };
    assert_eq!((waiting.last_failure, waiting.lost_attempts), (Some(failure), 1));
    let why = explain(&mut client, &work.id).await;
    assert_eq!(why.reason(), wire::WaitReason::BackingOff);
    assert_eq!(
        why.message,
        "Attempt 1 failed on node-0: the disk is full. The next attempt starts in 5 s at the earliest; 1 of at most 3 are used."
    );
    assert_eq!(server.metric("vmafx_controller_jobs_requeued_total{reason=\"attempt_failed\"}"), Some(1.0));
    assert_eq!(server.metric("vmafx_controller_jobs_failed_total{tenant=\"acme\"}"), Some(0.0));
    server.pass(Duration::from_secs(5)).await;
    let again = node.pull().await.unwrap();
    node.complete(&again, 90.0).await;
    assert_eq!(get(&mut client, &work.id).await.status(), wire::JobStatus::Completed);
}

#[tokio::test]
async fn a_job_that_is_kept_from_a_waiting_node_wakes_another_one() {
    let (server, _client, broken, work) = TestServer::with_running_job().await;
    let healthy = TestNode::named(server.client().await, "healthy", &["cpu"]).await;
    fail(&broken, &work, wire::FailureReason::ScratchFull).await;
    // The broken node waits longest, so it is woken first.
    let before = server.store.claims();
    let mut pulls = JoinSet::new();
    let first = broken.clone();
    pulls.spawn(async move { first.pull_for(TIMEOUT).await });
    wait::until(TIMEOUT, "its claim", || async { server.store.claims() > before }).await.unwrap();
    let (second, ()) = tokio::join!(healthy.pull_for(TIMEOUT), server.pass(Duration::from_secs(5)));
    assert_eq!(second.unwrap().map(|job| job.id), Some(work.id));
}

#[tokio::test]
async fn a_quarantined_node_is_shown_and_its_pulls_return_without_a_job() {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    let broken = TestNode::register(server.client().await).await;
    let healthy = TestNode::named(server.client().await, "healthy", &["cpu"]).await;
    quarantine(&mut client, &broken).await;
    let nodes = client.list_nodes(wire::ListNodesRequest::default()).await.unwrap().into_inner().nodes;
    let quarantines: Vec<_> =
        nodes.iter().map(|node| (node.name.as_str(), node.quarantine.clone())).collect();
    let expected = wire::Quarantine {
        failures: 3,
        until_ms: 1_700_000_030_000,
        reason: wire::FailureReason::ScratchFull.into(),
        message: "the disk is full".into(),
    };
    assert_eq!(quarantines, [("healthy", None), ("node-0", Some(expected))]);

    let job = submit(&mut client, clips()).await;
    let before = server.store.claims();
    assert_eq!(broken.pull_for(Duration::from_millis(300)).await.unwrap(), None);
    assert!(server.store.claims() <= before + 2, "it does not claim in a loop");
    assert_eq!(healthy.pull().await.map(|job| job.id), Some(job));
}

#[tokio::test]
async fn a_job_whose_only_nodes_are_quarantined_says_so() {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    let broken = TestNode::register(server.client().await).await;
    quarantine(&mut client, &broken).await;
    let job = submit(&mut client, clips()).await;
    let why = explain(&mut client, &job).await;
    assert_eq!(why.reason(), wire::WaitReason::Quarantined);
    assert!(why.message.contains("node-0") && why.message.contains("the disk is full"), "{}", why.message);
}
