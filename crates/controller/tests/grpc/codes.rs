//! The status codes and messages of errors.

use rstest::rstest;
use tonic::Code;
use vmafx_proto::controller::v1 as wire;
use vmafx_proto::controller::v1::label_job_request::Target::{IdempotencyKey, JobId};

use crate::node::{TestNode, clips, submit};
use crate::server::{Client, TestServer};

const UNKNOWN: &str = "0192d3f4-0000-7000-8000-000000000001";

/// Checks that a job can be neither read nor cancelled nor explained.
pub(crate) async fn assert_refused(client: &mut Client, job_id: &str, code: Code, text: &str) {
    let job_id = job_id.to_owned();
    let read = client.get_job(wire::GetJobRequest { job_id: job_id.clone() }).await.unwrap_err();
    let cancel = wire::CancelJobRequest { job_id: job_id.clone(), reason: String::new(), cause: 0 };
    let cancelled = client.cancel_job(cancel).await.unwrap_err();
    let explained = client.explain(wire::ExplainRequest { job_id }).await.unwrap_err();
    for status in [read, cancelled, explained] {
        assert_eq!((status.code(), status.message()), (code, text));
    }
}

#[rstest]
#[case::empty("", Code::InvalidArgument, "job_id: is required")]
#[case::malformed("7", Code::NotFound, "job \"7\" not found")]
#[case::unknown(UNKNOWN, Code::NotFound, "job \"0192d3f4-0000-7000-8000-000000000001\" not found")]
#[tokio::test]
async fn reading_cancelling_and_explaining_a_job_that_does_not_exist(
    #[case] job_id: &str,
    #[case] code: Code,
    #[case] text: &str,
) {
    let server = TestServer::start().await;
    assert_refused(&mut server.client().await, job_id, code, text).await;
}

#[tokio::test]
async fn a_job_of_another_tenant_is_not_found() {
    let server = TestServer::start().await;
    let id = submit(&mut server.client().await, clips()).await;
    let mut other = server.client_of("other").await;
    assert_refused(&mut other, &id, Code::NotFound, &format!("job \"{id}\" not found")).await;
    let mut jobs = other.stream_jobs(wire::StreamJobsRequest::default()).await.unwrap().into_inner();
    assert_eq!(jobs.message().await.unwrap(), None);
    let node = TestNode::register(other).await;
    assert_eq!(node.pull().await, None);
}

#[tokio::test]
async fn a_repeated_cancel_has_the_same_response_and_is_counted_once() {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    let id = submit(&mut client, clips()).await;
    let requested = wire::CancelJobResponse { ok: true, message: "cancellation requested".into() };
    for _ in 0..2 {
        let request = wire::CancelJobRequest { job_id: id.clone(), reason: String::new(), cause: 0 };
        assert_eq!(client.cancel_job(request).await.unwrap().into_inner(), requested);
    }
    assert_eq!(server.metric("vmafx_controller_jobs_cancelled_total{tenant=\"acme\"}"), Some(1.0));
}

#[tokio::test]
async fn a_clip_outside_the_roots_is_denied() {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    for field in ["reference", "distorted", "report_uri"] {
        let mut request = clips();
        let scoring = request.scoring.as_mut().unwrap();
        let address = match field {
            "reference" => &mut scoring.reference,
            "distorted" => &mut scoring.distorted,
            _ => &mut scoring.report_uri,
        };
        *address = "/etc/passwd".into();
        let status = client.submit_job(request).await.unwrap_err();
        let text = format!("scoring.{field}: outside the scoring roots");
        assert_eq!((status.code(), status.message()), (Code::PermissionDenied, text.as_str()));
    }
    assert_eq!(server.metric("vmafx_controller_jobs_submitted_total{tenant=\"acme\"}"), None);
}

/// Callers with the id or the session token of a node, but not both.
fn impostors(node: &TestNode) -> Vec<TestNode> {
    let with = |node_id: &str, token: &str| TestNode {
        node_id: node_id.to_owned(),
        session_token: token.to_owned(),
        ..node.clone()
    };
    let (id, token) = (&node.node_id, &node.session_token);
    vec![with(id, ""), with(id, "guess"), with("", token), with("node-0", token), with(UNKNOWN, token)]
}

#[tokio::test]
async fn an_invalid_session_is_denied_every_call() {
    let (server, _, node, work) = TestServer::with_running_job().await;
    for impostor in impostors(&node) {
        let pulled = impostor.pull_for(std::time::Duration::ZERO).await.unwrap_err();
        assert_eq!(pulled.code(), Code::PermissionDenied);
        for is_final in [true, false] {
            let mut report = impostor.report_request(&work, 1.0);
            report.r#final = is_final;
            let reported = impostor.report(report).await.unwrap_err();
            let refusal = (reported.code(), reported.message());
            assert_eq!(refusal, (Code::PermissionDenied, "invalid session for node"), "final: {is_final}");
        }
        assert_eq!(impostor.release(&work).await.unwrap_err().code(), Code::PermissionDenied);
        assert_eq!(impostor.beat(&[&work.id]).await, wire::HeartbeatResponse::default());
    }
    // The session of a node is invalid for another tenant.
    let foreign = TestNode { client: server.client_of("other").await, ..node.clone() };
    assert_eq!(foreign.beat(&[]).await, wire::HeartbeatResponse::default());
    assert_eq!(foreign.pull_for(std::time::Duration::ZERO).await.unwrap_err().code(), Code::PermissionDenied);
    node.complete(&work, 1.0).await;
}

#[tokio::test]
async fn a_report_on_the_job_of_another_node_is_denied() {
    let (server, _, holder, work) = TestServer::with_running_job().await;
    let id = work.id.as_str();
    let other = TestNode::named(server.client().await, "node-1", &["cpu"]).await;
    for (job, is_final) in [(id, true), (id, false), (UNKNOWN, true), ("x", true)] {
        let mut report = other.report_request(&work, 1.0);
        report.job_id = job.to_owned();
        report.r#final = is_final;
        let status = other.report(report).await.unwrap_err();
        let text = format!("job \"{job}\" is not assigned to node \"{}\"", other.node_id);
        assert_eq!((status.code(), status.message()), (Code::PermissionDenied, text.as_str()));
    }
    holder.complete(&work, 1.0).await;
}

#[tokio::test]
async fn a_caller_without_a_tenant_is_unauthenticated() {
    let server = TestServer::start().await;
    let channel = server.channel().await;
    let mut client =
        vmafx_proto::controller::v1::vmafx_controller_client::VmafxControllerClient::new(channel.clone());
    let status = client.get_job(wire::GetJobRequest { job_id: UNKNOWN.into() }).await.unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::Unauthenticated, "invalid or missing token"));
    let status = client.stream_jobs(wire::StreamJobsRequest::default()).await.unwrap_err();
    assert_eq!(status.code(), Code::Unauthenticated);
}

#[tokio::test]
async fn a_message_that_is_too_large_is_refused() {
    let mut options = crate::server::ServerOptions::default();
    options.sizes.receive = 1024;
    let server = TestServer::with(options).await;
    let mut client: Client = server.client().await;
    let large = wire::GetJobRequest { job_id: "x".repeat(2000) };
    assert_eq!(client.get_job(large).await.unwrap_err().code(), Code::OutOfRange);
    let small = wire::GetJobRequest { job_id: "x".repeat(900) };
    assert_eq!(client.get_job(small).await.unwrap_err().code(), Code::NotFound);
}

#[tokio::test]
async fn a_label_on_a_cancelled_job_is_a_conflict() {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    let id = submit(&mut client, clips()).await;
    let cancel = wire::CancelJobRequest { job_id: id.clone(), reason: String::new(), cause: 0 };
    client.cancel_job(cancel).await.unwrap();
    let label = |target| wire::LabelJobRequest {
        target: Some(target),
        ground_truth: Some(wire::GroundTruth { value: 50.0, scale: 0 }),
    };
    let over = client.label_job(label(JobId(id.clone()))).await.unwrap_err();
    let text = format!("job \"{id}\" failed or was cancelled: it has no features to label");
    assert_eq!((over.code(), over.message()), (Code::FailedPrecondition, text.as_str()));
    let unknown = client.label_job(label(IdempotencyKey("nobody's".into()))).await.unwrap_err();
    assert_eq!((unknown.code(), unknown.message()), (Code::NotFound, "job \"nobody's\" not found"));
}
