//! Invalid requests: the error names the field, and nothing is stored. The rules themselves are tested in `service/check`
//! and `vmafx_proto::convert`.

use rstest::rstest;
use tonic::Code;
use vmafx_proto::controller::v1 as wire;

use crate::node::{TestNode, clips, submit};
use crate::server::TestServer;

fn scoring(change: impl FnOnce(&mut wire::ScoringParams)) -> wire::SubmitJobRequest {
    let mut request = clips();
    change(request.scoring.as_mut().unwrap());
    request
}

#[rstest]
#[case::nothing(wire::SubmitJobRequest::default(), "scoring: is required")]
#[case::reference(scoring(|s| s.reference.clear()), "scoring.reference: is required")]
#[case::distorted(scoring(|s| s.distorted.clear()), "scoring.distorted: is required")]
#[case::long(scoring(|s| s.reference = format!("/clips/{}", "x".repeat(4096))), "scoring.reference: must have at most 4096 characters")]
#[case::nul(scoring(|s| s.distorted = "/clips/a\0b".into()), "scoring.distorted: must not contain control characters")]
#[case::backend(scoring(|s| s.backend = "tpu".into()), "scoring.backend: must be one of cpu, cuda, sycl, hip, metal")]
#[tokio::test]
async fn an_invalid_submission_is_refused(#[case] request: wire::SubmitJobRequest, #[case] text: &str) {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    let status = client.submit_job(request).await.unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::InvalidArgument, text));
    let mut jobs = client.stream_jobs(wire::StreamJobsRequest::default()).await.unwrap().into_inner();
    assert_eq!(jobs.message().await.unwrap(), None, "nothing was stored");
}

#[tokio::test]
async fn an_invalid_registration_is_refused() {
    let server = TestServer::start().await;
    let request = wire::RegisterNodeRequest::default();
    let status = server.client().await.register_node(request).await.unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::InvalidArgument, "name: is required"));
}

#[tokio::test]
async fn an_invalid_report_is_refused_and_does_not_end_the_attempt() {
    let (_server, _, node, work) = TestServer::with_running_job().await;
    let status = node.report(node.report_request(&work, f64::NAN)).await.unwrap_err();
    let expected = (Code::InvalidArgument, "score: must be a finite number");
    assert_eq!((status.code(), status.message()), expected);
    node.complete(&work, 1.0).await;
}

#[tokio::test]
async fn a_heartbeat_names_at_most_sixty_four_jobs() {
    let server = TestServer::start().await;
    let node = TestNode::register(server.client().await).await;
    let beat = |count| wire::HeartbeatRequest {
        node_id: node.node_id.clone(),
        session_token: node.session_token.clone(),
        running_job_ids: vec!["x".into(); count],
        ..Default::default()
    };
    let mut client = server.client().await;
    let response = client.heartbeat(beat(64)).await.unwrap().into_inner();
    assert_eq!((response.ok, response.lost_job_ids.len()), (true, 64));
    let status = client.heartbeat(beat(65)).await.unwrap_err();
    let expected = (Code::InvalidArgument, "running_job_ids: must have at most 64 items");
    assert_eq!((status.code(), status.message()), expected);
}

#[rstest]
#[case::foreign("from elsewhere")]
#[case::long(&"9".repeat(300))]
#[case::control("a\nb")]
#[tokio::test]
async fn a_foreign_cursor_is_out_of_range(#[case] cursor: &str) {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    let watch = wire::StreamJobsRequest { watch: true, cursor: cursor.into(), ..Default::default() };
    assert_eq!(client.stream_jobs(watch).await.unwrap_err().code(), Code::OutOfRange);
    let read = wire::StreamSamplesRequest { cursor: cursor.into(), ..Default::default() };
    assert_eq!(client.stream_samples(read).await.unwrap_err().code(), Code::OutOfRange);
}

#[tokio::test]
async fn a_long_reason_is_truncated_between_characters() {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    let id = submit(&mut client, clips()).await;
    let request = wire::CancelJobRequest { job_id: id.clone(), reason: "ü".repeat(4000), cause: 0 };
    client.cancel_job(request).await.unwrap();
    let error = crate::node::get(&mut client, &id).await.error;
    assert!(error.starts_with("cancelled: üü") && error.ends_with("ü…") && error.len() < 4120, "{error}");
}
