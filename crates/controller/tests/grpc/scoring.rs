//! `vmafx.v1.VmafxScoring`: jobs whose callers wait for the score.

use std::time::Duration;

use tokio::task::JoinSet;
use tonic::Code;
use vmafx_proto::controller::v1 as queue;
use vmafx_proto::scoring::v1 as wire;
use vmafx_testkit::wait;

use crate::node::{TestNode, get};
use crate::server::TestServer;

const TIMEOUT: Duration = Duration::from_secs(20);

fn clips() -> wire::ScoreRequest {
    wire::ScoreRequest {
        reference: "/clips/r.y4m".into(),
        distorted: "/clips/d.y4m".into(),
        ..Default::default()
    }
}

#[tokio::test]
async fn a_score_comes_with_its_provenance() {
    let server = TestServer::start().await;
    let node = TestNode::register(server.client().await).await;
    let mut caller = server.scorer().await;
    let scored = caller.score(clips());
    let worked = async {
        let work = node.pull_for(TIMEOUT).await.unwrap().unwrap();
        let mut report = node.report_request(&work, 91.5);
        report.result = Some(queue::ResultDetails {
            model: "vmaf_v0.6.1".into(),
            model_digest: "sha256:abc".into(),
            backend: "cpu".into(),
            ..Default::default()
        });
        node.report(report).await.unwrap();
    };
    let (scored, ()) = tokio::join!(scored, worked);
    let scored = scored.unwrap().into_inner();
    let provenance = scored.provenance.unwrap();
    assert_eq!((scored.score, scored.features["vif"]), (91.5, 0.5));
    assert_eq!(provenance.model, "vmaf_v0.6.1");
    assert_eq!(provenance.model_sha256, "abc");
    assert_eq!(provenance.backend_used, "cpu");
    assert_eq!(server.metric("vmafx_server_score_requests_total"), Some(1.0));
    assert_eq!(server.metric("vmafx_server_score_errors_total"), Some(0.0));
    assert_eq!(server.metric("vmafx_server_score_duration_seconds_count"), Some(1.0));
}

#[tokio::test]
async fn an_unusable_clip_and_an_internal_failure_have_different_codes() {
    let server = TestServer::start().await;
    let node = TestNode::register(server.client().await).await;
    let reasons = [
        (queue::FailureReason::InputNotFound, 1, Code::FailedPrecondition, "it broke"),
        (
            queue::FailureReason::WorkerCrashed,
            3,
            Code::Internal,
            "3 of at most 3 attempts failed, the last one on node-0: it broke",
        ),
    ];
    for (reason, attempts, code, error) in reasons {
        let mut caller = server.scorer().await;
        let worked = async {
            for attempt in 1..=attempts {
                let work = node.pull_for(TIMEOUT).await.unwrap().unwrap();
                assert_eq!(work.attempt, attempt);
                let mut report = node.report_request(&work, 0.0);
                report.error = "it broke".into();
                report.failure_reason = reason.into();
                node.report(report).await.unwrap();
                if attempt < attempts {
                    server.pass(Duration::from_secs(10)).await;
                }
            }
        };
        let (scored, ()) = tokio::join!(caller.score(clips()), worked);
        let status = scored.unwrap_err();
        assert_eq!((status.code(), status.message()), (code, format!("no score: {error}").as_str()));
    }
    assert_eq!(server.metric("vmafx_server_score_errors_total"), Some(2.0));
}

#[tokio::test]
async fn a_job_is_cancelled_when_its_caller_disconnects() {
    let server = TestServer::start().await;
    let client = server.client().await;
    let node = TestNode::register(server.client().await).await;
    let mut caller = server.scorer().await;
    let mut calls = JoinSet::new();
    calls.spawn(async move { caller.score(clips()).await });
    let work = node.pull_for(TIMEOUT).await.unwrap().unwrap();
    calls.abort_all();
    while calls.join_next().await.is_some() {}
    let cancelled = wait::until(TIMEOUT, "the cancel", || {
        let mut client = client.clone();
        let id = work.id.clone();
        async move {
            let job = get(&mut client, &id).await;
            (job.status() == queue::JobStatus::Cancelled).then_some(job)
        }
    });
    assert_eq!(cancelled.await.unwrap().error, "cancelled: the caller went away");
    assert_eq!(node.beat(&[&work.id]).await.cancel_job_ids, [work.id.as_str()]);
}

#[tokio::test]
async fn shutdown_answers_the_caller_and_cancels_the_job() {
    let server = TestServer::start().await;
    let node = TestNode::register(server.client().await).await;
    let mut caller = server.scorer().await;
    let mut calls = JoinSet::new();
    calls.spawn(async move { caller.score(clips()).await });
    let work = node.pull_for(TIMEOUT).await.unwrap().unwrap();
    let server = server.restarted().await;
    let status = calls.join_next().await.unwrap().unwrap().unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::Unavailable, "the controller is shutting down"));
    let job = get(&mut server.client().await, &work.id).await;
    assert_eq!(job.status(), queue::JobStatus::Cancelled);
}

#[tokio::test]
async fn refusals_name_the_fields_of_this_message() {
    let server = TestServer::start().await;
    let mut caller = server.scorer().await;
    let outside = wire::ScoreRequest { reference: "/etc/passwd".into(), ..clips() };
    let status = caller.score(outside).await.unwrap_err();
    let expected = (Code::PermissionDenied, "reference: outside the scoring roots");
    assert_eq!((status.code(), status.message()), expected);
    let options = wire::ScoreOptions { backend: "vulkan".into(), ..Default::default() };
    let status = caller.score(wire::ScoreRequest { options: Some(options), ..clips() }).await.unwrap_err();
    let text = "options.backend: must be one of cpu, cuda, sycl, hip, metal";
    assert_eq!((status.code(), status.message()), (Code::InvalidArgument, text));
}

#[tokio::test]
async fn streamed_frames_are_refused() {
    let server = TestServer::start().await;
    let mut caller = server.scorer().await;
    let status = caller.score_stream(futures::stream::empty()).await.unwrap_err();
    assert_eq!(status.code(), Code::FailedPrecondition);
    assert!(status.message().contains("node"), "{}", status.message());
}

#[tokio::test]
async fn health_depends_on_a_connected_node() {
    let server = TestServer::start().await;
    let mut caller = server.scorer().await;
    let health = caller.health(wire::HealthRequest {}).await.unwrap().into_inner();
    assert_eq!((health.ok, health.message.as_str()), (false, "no node is connected"));
    let _node = TestNode::register(server.client().await).await;
    let health = caller.health(wire::HealthRequest {}).await.unwrap().into_inner();
    assert_eq!((health.ok, health.message.as_str()), (true, ""));
}
