//! `vmafx.v1.VmafxScoring`: a job with a waiting caller.

use std::time::Duration;

use tokio::task::JoinSet;
use tonic::Code;
use vmafx_proto::controller::v1 as queue;
use vmafx_proto::scoring::v1 as wire;
use vmafx_testkit::wait;

use crate::node::{TestNode, get};
use crate::server::TestServer;

const LONG: Duration = Duration::from_secs(20);

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
    let mut asking = server.scorer().await;
    let scored = asking.score(clips());
    let worked = async {
        let work = node.pull_for(LONG).await.unwrap().unwrap();
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
async fn a_failure_of_the_clip_is_told_apart_from_one_of_ours() {
    let server = TestServer::start().await;
    let node = TestNode::register(server.client().await).await;
    let reasons = [
        (queue::FailureReason::InputNotFound, Code::FailedPrecondition),
        (queue::FailureReason::WorkerCrashed, Code::Internal),
    ];
    for (reason, code) in reasons {
        let mut asking = server.scorer().await;
        let worked = async {
            let work = node.pull_for(LONG).await.unwrap().unwrap();
            let mut report = node.report_request(&work, 0.0);
            report.error = "it broke".into();
            report.failure_reason = reason.into();
            node.report(report).await.unwrap();
        };
        let (scored, ()) = tokio::join!(asking.score(clips()), worked);
        let status = scored.unwrap_err();
        assert_eq!((status.code(), status.message()), (code, "no score: it broke"));
    }
    assert_eq!(server.metric("vmafx_server_score_errors_total"), Some(2.0));
}

#[tokio::test]
async fn a_caller_who_goes_away_takes_the_job_along() {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    let node = TestNode::register(server.client().await).await;
    let mut asking = server.scorer().await;
    let mut calls = JoinSet::new();
    calls.spawn(async move { asking.score(clips()).await });
    let work = node.pull_for(LONG).await.unwrap().unwrap();
    calls.abort_all();
    while calls.join_next().await.is_some() {}
    let cancelled = wait::until(LONG, "the cancel", || {
        let mut client = client.clone();
        let id = work.id.clone();
        async move {
            let job = get(&mut client, &id).await;
            (job.status() == queue::JobStatus::Cancelled).then_some(job)
        }
    });
    assert_eq!(cancelled.await.unwrap().error, "cancelled: the caller went away");
    assert_eq!(node.beat(&[&work.id]).await.cancel_job_ids, [work.id.as_str()]);
    let _ = get(&mut client, &work.id).await;
}

#[tokio::test]
async fn shutdown_answers_the_caller_and_cancels_the_job() {
    let server = TestServer::start().await;
    let node = TestNode::register(server.client().await).await;
    let mut asking = server.scorer().await;
    let mut calls = JoinSet::new();
    calls.spawn(async move { asking.score(clips()).await });
    let work = node.pull_for(LONG).await.unwrap().unwrap();
    let server = server.restarted().await;
    let status = calls.join_next().await.unwrap().unwrap().unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::Unavailable, "the controller is shutting down"));
    let job = get(&mut server.client().await, &work.id).await;
    assert_eq!(job.status(), queue::JobStatus::Cancelled);
}

#[tokio::test]
async fn refusals_name_the_fields_of_this_message() {
    let server = TestServer::start().await;
    let mut asking = server.scorer().await;
    let outside = wire::ScoreRequest { reference: "/etc/passwd".into(), ..clips() };
    let status = asking.score(outside).await.unwrap_err();
    let expected = (Code::PermissionDenied, "reference: outside the scoring roots");
    assert_eq!((status.code(), status.message()), expected);
    let options = wire::ScoreOptions { backend: "vulkan".into(), ..Default::default() };
    let status = asking.score(wire::ScoreRequest { options: Some(options), ..clips() }).await.unwrap_err();
    let text = "options.backend: must be one of cpu, cuda, sycl, hip, metal";
    assert_eq!((status.code(), status.message()), (Code::InvalidArgument, text));
}

#[tokio::test]
async fn frames_are_for_nodes() {
    let server = TestServer::start().await;
    let mut asking = server.scorer().await;
    let status = asking.score_stream(futures::stream::empty()).await.unwrap_err();
    assert_eq!(status.code(), Code::FailedPrecondition);
    assert!(status.message().contains("node"), "{}", status.message());
}

#[tokio::test]
async fn health_tells_whether_somebody_could_score() {
    let server = TestServer::start().await;
    let mut asking = server.scorer().await;
    let told = asking.health(wire::HealthRequest {}).await.unwrap().into_inner();
    assert_eq!((told.ok, told.message.as_str()), (false, "no node is connected"));
    let _node = TestNode::register(server.client().await).await;
    let told = asking.health(wire::HealthRequest {}).await.unwrap().into_inner();
    assert_eq!((told.ok, told.message.as_str()), (true, ""));
}
