//! The gate in front of real handlers, over real sockets.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::{Body, Bytes};
use axum::http::{Method, Request, StatusCode};
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use axum::{Extension, Router};
use futures::StreamExt;
use http_body_util::BodyExt;
use rstest::rstest;
use serde_json::json;
use tokio::net::TcpListener;
use tonic::Code;
use tower::ServiceExt;
use vmafx_controller::auth::middleware::{CallAuthorizer, GrpcAuthLayer, authorize_http};
use vmafx_controller::auth::{AuthMetrics, AuthOutcome};
use vmafx_controller::identity::Identity;
use vmafx_kit::serve::{ConnectionLimits, LimitMetrics, incoming};
use vmafx_kit::tasks::Shutdown;

use crate::issuer::{Issuer, KeyResponse, clock, open_with_metrics};

async fn gate(issuer: &Issuer) -> (CallAuthorizer, AuthMetrics) {
    let metrics = AuthMetrics::default();
    let access = open_with_metrics(&issuer.settings(), &clock(), metrics.clone()).await.unwrap();
    (CallAuthorizer::new(access.authenticator), metrics)
}

fn role(issuer: &Issuer, role: &str) -> String {
    issuer.token_with(|claims| claims["vmafx_roles"] = json!(format!("vmafx:{role}")))
}

/// A router with a route and a method that are missing in the table of roles.
pub(crate) fn router(gate: CallAuthorizer) -> Router {
    let tenant = async |identity: Option<Extension<Identity>>| match identity {
        Some(Extension(identity)) => identity.tenant.to_string(),
        None => "nobody".to_owned(),
    };
    Router::new()
        .route("/healthz", get(tenant))
        .route("/v1/jobs", get(tenant).post(tenant).delete(tenant))
        .route("/v1/jobs/{id}", get(tenant))
        .route("/v1/forgotten", get(tenant))
        .layer(from_fn_with_state(gate, authorize_http))
}

#[rstest]
#[case::exempt("GET", "/healthz", None, 200, "nobody")]
#[case::exempt_other_method(
    "POST",
    "/healthz",
    None,
    405,
    "{\"error\":\"this path does not take that method: see /openapi.json\"}"
)]
#[case::no_token("GET", "/v1/jobs", None, 401, "{\"error\":\"invalid or missing token\"}")]
#[case::reader("GET", "/v1/jobs", Some("reader"), 200, "acme")]
#[case::head("HEAD", "/v1/jobs", Some("reader"), 200, "")]
#[case::by_id("GET", "/v1/jobs/7", Some("reader"), 200, "acme")]
#[case::reader_writes(
    "POST",
    "/v1/jobs",
    Some("reader"),
    403,
    "{\"error\":\"this call needs one of the roles vmafx:writer, vmafx:admin\"}"
)]
#[case::node_looks(
    "GET",
    "/v1/jobs",
    Some("node"),
    403,
    "{\"error\":\"this call needs one of the roles vmafx:reader, vmafx:writer, vmafx:admin\"}"
)]
#[case::writer("POST", "/v1/jobs", Some("writer"), 200, "acme")]
#[case::unlisted_method(
    "DELETE",
    "/v1/jobs",
    Some("admin"),
    405,
    "{\"error\":\"this path does not take that method: see /openapi.json\"}"
)]
#[case::unlisted_method_unknown("DELETE", "/v1/jobs", None, 401, "{\"error\":\"invalid or missing token\"}")]
#[case::unlisted_route(
    "GET",
    "/v1/forgotten",
    Some("admin"),
    403,
    "{\"error\":\"no role permits this method\"}"
)]
#[case::no_route_unknown("GET", "/nowhere", None, 401, "{\"error\":\"invalid or missing token\"}")]
#[case::no_route("GET", "/nowhere", Some("reader"), 404, "")]
#[tokio::test]
async fn http_calls_are_authorized_by_role(
    #[case] method: Method,
    #[case] path: &str,
    #[case] caller: Option<&str>,
    #[case] status: u16,
    #[case] body: &str,
) {
    let issuer = Issuer::start().await;
    let (gate, _) = gate(&issuer).await;
    let mut request = Request::builder().method(method).uri(path);
    if let Some(caller) = caller {
        request = request.header("authorization", format!("Bearer {}", role(&issuer, caller)));
    }
    let response = router(gate).oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.status().as_u16(), status);
    let challenged = response.headers().get("www-authenticate").is_some();
    assert_eq!(challenged, status == 401);
    let received = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(String::from_utf8_lossy(&received), body);
}

#[tokio::test]
async fn calls_get_503_while_the_keys_cannot_be_read() {
    let issuer = Issuer::start().await;
    issuer.respond(KeyResponse::Status(StatusCode::BAD_GATEWAY));
    let (gate, metrics) = gate(&issuer).await;
    let request = Request::get("/v1/jobs").header("authorization", format!("Bearer {}", issuer.token()));
    let response = router(gate).oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(metrics.calls(AuthOutcome::KeysUnavailable), 1);
}

#[tokio::test]
async fn the_body_of_a_refused_request_is_not_read() {
    let issuer = Issuer::start().await;
    let (gate, _) = gate(&issuer).await;
    let read = Arc::new(AtomicBool::new(false));
    let body = |read: Arc<AtomicBool>| {
        Body::from_stream(futures::stream::once(async move {
            read.store(true, Ordering::SeqCst);
            Ok::<_, std::io::Error>(Bytes::from_static(b"{}"))
        }))
    };
    let router = Router::new()
        .route("/v1/jobs", post(async |body: Bytes| body))
        .layer(from_fn_with_state(gate.clone(), authorize_http));
    let request = Request::post("/v1/jobs").body(body(read.clone())).unwrap();
    assert_eq!(router.oneshot(request).await.unwrap().status(), StatusCode::UNAUTHORIZED);

    let inner = tower::service_fn(async |request: Request<Body>| {
        request.into_body().collect().await.unwrap();
        Ok::<_, std::convert::Infallible>(axum::http::Response::new(Body::empty()))
    });
    let service = tower::Layer::layer(&GrpcAuthLayer::new(gate), inner);
    let request = Request::post("/vmafx.controller.v1.VmafxController/SubmitJob").body(body(read.clone()));
    let response = service.oneshot(request.unwrap()).await.unwrap();
    assert_eq!(response.headers()["grpc-status"], "16");
    assert!(!read.load(Ordering::SeqCst));
}

/// Serves the gate without services: a call that passes the gate is unimplemented.
async fn grpc<T>(gate: CallAuthorizer, calls: impl AsyncFnOnce(tonic::transport::Channel) -> T) -> T {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let shutdown = Shutdown::new();
    let served = tonic::transport::Server::builder()
        .layer(GrpcAuthLayer::new(gate))
        .add_routes(tonic::service::Routes::from(Router::new()))
        .serve_with_incoming_shutdown(
            incoming(listener, None, ConnectionLimits::http2(), LimitMetrics::default())
                .map(Ok::<_, std::io::Error>),
            shutdown.begun(),
        );
    let called = async {
        let channel = tonic::transport::Endpoint::from_shared(url).unwrap().connect().await.unwrap();
        let answer = calls(channel).await;
        shutdown.begin();
        answer
    };
    let (served, answer) = tokio::join!(served, called);
    served.unwrap();
    answer
}

fn request<T>(message: T, token: Option<&str>) -> tonic::Request<T> {
    let mut request = tonic::Request::new(message);
    if let Some(token) = token {
        request.metadata_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
    }
    request
}

#[tokio::test]
async fn grpc_calls_and_streams_are_authorized_by_role() {
    use vmafx_proto::controller::v1::vmafx_controller_client::VmafxControllerClient;
    use vmafx_proto::controller::v1::{RegisterNodeRequest, StreamJobsRequest, SubmitJobRequest};
    use vmafx_proto::scoring::v1::vmafx_scoring_client::VmafxScoringClient;

    let issuer = Issuer::start().await;
    let (gate, metrics) = gate(&issuer).await;
    let token = |name| role(&issuer, name);
    grpc(gate, async |channel| {
        let mut client = VmafxControllerClient::new(channel.clone());
        let submit = async |client: &mut VmafxControllerClient<_>, token: Option<&str>| {
            let answer = client.submit_job(request(SubmitJobRequest::default(), token)).await;
            let status = answer.unwrap_err();
            (status.code(), status.message().to_owned())
        };
        assert_eq!(
            submit(&mut client, None).await,
            (Code::Unauthenticated, "invalid or missing token".to_owned())
        );
        assert_eq!(
            submit(&mut client, Some(&token("reader"))).await,
            (Code::PermissionDenied, "this call needs one of the roles vmafx:writer, vmafx:admin".to_owned())
        );
        assert_eq!(submit(&mut client, Some(&token("writer"))).await.0, Code::Unimplemented);

        // The role admin does not include the role node.
        let register = request(RegisterNodeRequest::default(), Some(&token("admin")));
        assert_eq!(client.register_node(register).await.unwrap_err().code(), Code::PermissionDenied);

        let stream = client.stream_jobs(request(StreamJobsRequest::default(), Some("x"))).await;
        assert_eq!(stream.unwrap_err().code(), Code::Unauthenticated);
        let mut scoring = VmafxScoringClient::new(channel.clone());
        let frames = futures::stream::pending::<vmafx_proto::scoring::v1::ScoreStreamRequest>();
        let both = scoring.score_stream(request(frames, Some(&token("reader")))).await;
        assert_eq!(both.unwrap_err().code(), Code::PermissionDenied);

        for (path, expected) in [
            ("/grpc.health.v1.Health/Check", Code::Unimplemented),
            ("/vmafx.controller.v1.VmafxController/DropEverything", Code::Unauthenticated),
        ] {
            assert_eq!(raw(channel.clone(), path, None).await, expected, "{path}");
        }
        let admin = token("admin");
        let unknown = raw(channel, "/vmafx.controller.v1.VmafxController/DropEverything", Some(&admin)).await;
        assert_eq!(unknown, Code::PermissionDenied);
    })
    .await;
    assert_eq!(metrics.calls(AuthOutcome::UnknownMethod), 1);
    assert_eq!(metrics.calls(AuthOutcome::Role), 3);
}

/// The status code of a method that is called with an empty message.
async fn raw(channel: tonic::transport::Channel, path: &'static str, token: Option<&str>) -> Code {
    let mut client = tonic::client::Grpc::new(channel);
    client.ready().await.unwrap();
    let codec = tonic_prost::ProstCodec::<(), ()>::default();
    let path = axum::http::uri::PathAndQuery::from_static(path);
    client.unary(request((), token), path, codec).await.unwrap_err().code()
}
