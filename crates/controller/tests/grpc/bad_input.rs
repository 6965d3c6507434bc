//! Nonsense, over the wire: a code, a text that names the field, and nothing stored.

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
#[case::feature(scoring(|s| s.features = vec!["vmaf".into()]), "scoring.features[0]: must be one of psnr, ssim, ms-ssim, cambi, ciede, psnr-hvs")]
#[case::mismatch(scoring(|s| s.length_mismatch = 3), "scoring.length_mismatch: 3 is not a value of this enum")]
#[case::format(scoring(|s| s.input = Some(wire::RawVideo { width: 1, height: 1, pixel_format: 4, bit_depth: 8 })), "scoring.input.pixel_format: 4 is not a value of this enum")]
#[case::no_format(scoring(|s| s.input = Some(wire::RawVideo { width: 1, height: 1, pixel_format: 0, bit_depth: 8 })), "scoring.input.pixel_format: is required")]
#[case::key(wire::SubmitJobRequest { idempotency_key: "\u{7}".into(), ..clips() }, "idempotency_key: must not contain control characters")]
#[case::attempts(wire::SubmitJobRequest { max_lost_attempts: Some(0), ..clips() }, "max_lost_attempts: must be between 1 and 101")]
#[case::truth(wire::SubmitJobRequest { ground_truth: Some(wire::GroundTruth { value: f64::NAN, scale: 0 }), ..clips() }, "ground_truth.value: NaN is outside 0 to 100")]
#[tokio::test]
async fn a_submission_that_makes_no_sense(#[case] request: wire::SubmitJobRequest, #[case] text: &str) {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    let status = client.submit_job(request).await.unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::InvalidArgument, text));
    let mut jobs = client.stream_jobs(wire::StreamJobsRequest::default()).await.unwrap().into_inner();
    assert_eq!(jobs.message().await.unwrap(), None, "nothing was stored");
}

fn capability(change: impl FnOnce(&mut wire::NodeCapability)) -> wire::RegisterNodeRequest {
    let mut capability = wire::NodeCapability::default();
    change(&mut capability);
    wire::RegisterNodeRequest { name: "node-0".into(), capability: Some(capability), resource: None }
}

#[rstest]
#[case::name(wire::RegisterNodeRequest::default(), "name: is required")]
#[case::backend(capability(|c| c.backends = vec!["vulkan".into()]), "capability.backends[0]: must be one of cpu, cuda, sycl, hip, metal")]
#[case::slots(capability(|c| c.concurrency = i32::MIN), "capability.concurrency: must be between 1 and 64")]
#[case::label(capability(|c| c.labels = [(String::new(), "x".to_owned())].into()), "capability.labels: has a label without a name")]
#[tokio::test]
async fn a_registration_that_makes_no_sense(#[case] request: wire::RegisterNodeRequest, #[case] text: &str) {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    let status = client.register_node(request).await.unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::InvalidArgument, text));
}

fn report(change: impl FnOnce(&mut wire::ReportResultRequest)) -> wire::ReportResultRequest {
    let mut request = wire::ReportResultRequest { r#final: true, ..Default::default() };
    change(&mut request);
    request
}

#[rstest]
#[case::nan(report(|r| r.score = f64::NAN), "score: must be a finite number")]
#[case::infinite(report(|r| r.score = f64::INFINITY), "score: must be a finite number")]
#[case::feature(report(|r| r.features = [("vif".to_owned(), f64::NAN)].into()), "features[\"vif\"]: must be a finite number")]
#[case::many(report(|r| r.features = (0..257).map(|n| (n.to_string(), 1.0)).collect()), "features: must have at most 256 items")]
#[case::reason(report(|r| r.failure_reason = -1), "failure_reason: is not a reason")]
#[tokio::test]
async fn a_report_that_makes_no_sense(#[case] request: wire::ReportResultRequest, #[case] text: &str) {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    let id = submit(&mut client, clips()).await;
    let node = TestNode::register(server.client().await).await;
    let work = node.pull().await.unwrap();
    let (node_id, session_token) = (node.node_id.clone(), node.session_token.clone());
    let status = node
        .report(wire::ReportResultRequest { node_id, session_token, job_id: id, ..request })
        .await
        .unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::InvalidArgument, text));
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
    let told = client.heartbeat(beat(64)).await.unwrap().into_inner();
    assert_eq!((told.ok, told.lost_job_ids.len()), (true, 64));
    let status = client.heartbeat(beat(65)).await.unwrap_err();
    let expected = (Code::InvalidArgument, "running_job_ids: must have at most 64 items");
    assert_eq!((status.code(), status.message()), expected);
}

#[rstest]
#[case::foreign("from elsewhere")]
#[case::long(&"9".repeat(300))]
#[case::control("a\nb")]
#[tokio::test]
async fn a_cursor_of_somewhere_else_is_out_of_range(#[case] cursor: &str) {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    let watch = wire::StreamJobsRequest { watch: true, cursor: cursor.into(), ..Default::default() };
    assert_eq!(client.stream_jobs(watch).await.unwrap_err().code(), Code::OutOfRange);
    let read = wire::StreamSamplesRequest { cursor: cursor.into(), ..Default::default() };
    assert_eq!(client.stream_samples(read).await.unwrap_err().code(), Code::OutOfRange);
}

#[tokio::test]
async fn a_long_reason_is_cut_between_characters() {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    let id = submit(&mut client, clips()).await;
    let request = wire::CancelJobRequest { job_id: id.clone(), reason: "ü".repeat(4000), cause: 0 };
    client.cancel_job(request).await.unwrap();
    let error = crate::node::get(&mut client, &id).await.error;
    assert!(error.starts_with("cancelled: üü") && error.ends_with("ü…") && error.len() < 4120, "{error}");
}
