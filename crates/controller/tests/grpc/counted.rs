//! The names and values of the metrics.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use tower::ServiceExt;
use vmafx_controller::auth::{AuthMetrics, Clocks};
use vmafx_controller::metrics;
use vmafx_controller::settings::Settings;
use vmafx_kit::config::{Environment, parse};
use vmafx_proto::controller::v1 as wire;

use crate::node::{TestNode, clips, submit};
use crate::server::TestServer;

async fn page(server: &TestServer) -> String {
    let env: Environment = [("VMAFX_AUTH_DISABLED", "true")].into_iter().collect();
    let settings: Settings = parse(["vmafx-controller"], &env, &[]).ok().unwrap();
    let access = settings.auth.open(&settings.roots, Clocks::system(), AuthMetrics::default()).await.unwrap();
    let router = metrics::router(
        server.metrics.clone(),
        access.authenticator,
        server.numbers.clone(),
        server.service.metrics().clone(),
        server.store.clone(),
        Arc::new(server.clock.clone()),
    );
    let request = Request::builder().uri("/metrics").body(Body::empty()).unwrap();
    let response = router.oneshot(request).await.unwrap();
    String::from_utf8(to_bytes(response.into_body(), usize::MAX).await.unwrap().to_vec()).unwrap()
}

#[tokio::test]
async fn every_metric_of_the_contract_is_present() {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    let node = TestNode::register(server.client().await).await;
    for score in [70.0, 93.0] {
        submit(&mut client, clips()).await;
        let work = node.pull().await.unwrap();
        server.clock.advance(std::time::Duration::from_secs(7));
        node.complete(&work, score).await;
        // A repeated report is counted once.
        node.complete(&work, score).await;
    }
    let waiting = submit(&mut client, clips()).await;
    server.clock.advance(std::time::Duration::from_secs(3));
    let cancelled = submit(&mut client, clips()).await;
    for _ in 0..2 {
        let request = wire::CancelJobRequest { job_id: cancelled.clone(), reason: String::new(), cause: 0 };
        client.cancel_job(request).await.unwrap();
    }
    drop(waiting);
    let page = page(&server).await;
    let expected = [
        "vmafx_build_info{version=\"test\"} 1",
        "vmafx_metrics_read_errors_total{source=\"queue\"} 0",
        "vmafx_server_score_requests_total 0",
        "vmafx_server_score_errors_total 0",
        "vmafx_server_score_duration_seconds_count 0",
        "vmafx_server_health_requests_total 0",
        "vmafx_server_ready_requests_total 0",
        "vmafx_controller_jobs_submitted_total{tenant=\"acme\"} 4",
        "vmafx_controller_jobs_completed_total{tenant=\"acme\"} 2",
        "vmafx_controller_jobs_cancelled_total{tenant=\"acme\"} 1",
        "vmafx_controller_jobs_failed_total{tenant=\"acme\"} 0",
        "vmafx_controller_jobs_requeued_total{reason=\"node_lost\"} 0",
        "vmafx_controller_jobs_requeued_total{reason=\"controller_restart\"} 0",
        "vmafx_controller_jobs_requeued_total{reason=\"assign_rollback\"} 0",
        "vmafx_controller_jobs_pending{tenant=\"acme\"} 1.0",
        "vmafx_controller_jobs_running{tenant=\"acme\"} 0.0",
        "vmafx_controller_queue_oldest_job_age_seconds{tenant=\"acme\"} 3.0",
        "vmafx_controller_nodes_live 1",
        "vmafx_controller_job_queue_wait_seconds_count{tenant=\"acme\"} 2",
        "vmafx_controller_job_duration_seconds_sum{tenant=\"acme\",outcome=\"completed\"} 14.0",
        "vmafx_controller_job_duration_seconds_bucket{le=\"15.0\",tenant=\"acme\",outcome=\"completed\"} 2",
        "vmafx_quality_score_bucket{le=\"92.0\",tenant=\"acme\",profile=\"standard\"} 1",
        "vmafx_quality_score_bucket{le=\"94.0\",tenant=\"acme\",profile=\"standard\"} 2",
        "vmafx_controller_grpc_requests_total{method=\"vmafx.controller.v1.VmafxController/SubmitJob\",code=\"ok\"} 4",
    ];
    for line in expected {
        assert!(page.lines().any(|found| found == line), "{line}\n\n{page}");
    }
}

#[tokio::test]
async fn metrics_of_a_failing_store_are_omitted_and_the_failure_is_counted() {
    let server = TestServer::start().await;
    server.store.broken.store(true, Ordering::SeqCst);
    let page = page(&server).await;
    assert!(page.contains("vmafx_metrics_read_errors_total{source=\"queue\"} 1\n"), "{page}");
    assert!(!page.contains("vmafx_controller_jobs_pending"), "{page}");
}

#[tokio::test]
async fn calls_are_counted_by_method_and_status_code() {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    let missing = wire::GetJobRequest { job_id: "x".into() };
    client.get_job(missing).await.unwrap_err();
    let mut jobs = client.stream_jobs(wire::StreamJobsRequest::default()).await.unwrap().into_inner();
    while jobs.message().await.unwrap().is_some() {}
    let mut stray: tonic::client::Grpc<_> = tonic::client::Grpc::new(server.channel().await);
    stray.ready().await.unwrap();
    let path = http::uri::PathAndQuery::from_static("/no.such.Service/Made-Up");
    let codec: tonic_prost::ProstCodec<wire::GetJobRequest, wire::Job> = tonic_prost::ProstCodec::default();
    let request = tonic::Request::new(wire::GetJobRequest::default());
    stray.unary(request, path, codec).await.unwrap_err();
    let count = |method: &str, code: &str| {
        server.metric(&format!("vmafx_controller_grpc_requests_total{{method=\"{method}\",code=\"{code}\"}}"))
    };
    assert_eq!(count("vmafx.controller.v1.VmafxController/GetJob", "not_found"), Some(1.0));
    assert_eq!(count("vmafx.controller.v1.VmafxController/StreamJobs", "ok"), Some(1.0));
    assert_eq!(count("other", "unimplemented"), Some(1.0));
}
