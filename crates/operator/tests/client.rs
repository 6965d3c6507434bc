//! The client against faulty servers, and the write gate on the real API server.
#![expect(clippy::unwrap_used, reason = "the helpers of a test may fail it")]

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use rstest::rstest;
use serde_json::json;
use vmafx_kit::metrics::Metrics;
use vmafx_operator::client::{self, ClientMetrics, refused_by_gate};
use vmafx_operator::lease::{Election, LeaseMetrics, LeaseSettings, Permit};
use vmafx_testkit::http_server::{HttpServer, Reply, ReplyBody};
use vmafx_testkit::kube::ControlPlane;

const SHORT: Duration = Duration::from_millis(200);

/// A client and its metrics.
fn client_of(config: &kube::Config, permit: Permit, within: Duration) -> (kube::Client, Metrics) {
    let mut metrics = Metrics::new("test");
    let client = client::build_within(within, config, permit, &ClientMetrics::new(&mut metrics)).unwrap();
    (client, metrics)
}

fn config_of(server: &HttpServer) -> kube::Config {
    kube::Config::new(server.url("/").parse().unwrap())
}

/// The permit of a candidate that does not lead.
fn not_leading() -> Permit {
    let server = HttpServer::start(|_| Reply::status(500));
    let (client, mut metrics) = client_of(&config_of(&server), Permit::always(), SHORT);
    let settings = LeaseSettings {
        name: "nobody".to_owned(),
        lease_duration: Duration::from_secs(15),
        renew_deadline: Duration::from_secs(10),
        retry_period: Duration::from_secs(2),
    };
    Election::new(client, "default", settings, "us".to_owned(), LeaseMetrics::new(&mut metrics)).permit()
}

/// The counts of requests that are not zero.
fn counts(metrics: &Metrics) -> Vec<String> {
    let page = metrics.encode().unwrap();
    let lines = page.lines().filter_map(|line| line.strip_prefix("vmafx_operator_api_requests_total"));
    lines.map(str::to_owned).collect()
}

fn config_map() -> ConfigMap {
    let metadata = ObjectMeta { name: Some("a".to_owned()), ..ObjectMeta::default() };
    ConfigMap { metadata, data: Some(BTreeMap::new()), ..ConfigMap::default() }
}

#[rstest]
#[case::silent(ReplyBody::Silent, "no answer within 200ms")]
#[case::half_an_answer(ReplyBody::Stalled(b"{".to_vec()), "the answer was not complete within 200ms")]
#[tokio::test]
async fn a_server_that_does_not_answer_is_given_up(#[case] body: ReplyBody, #[case] expected: &str) {
    let server = HttpServer::start(move |_| Reply::body(body.clone()));
    let (client, _) = client_of(&config_of(&server), Permit::always(), SHORT);
    let error = Api::<ConfigMap>::namespaced(client, "ns").get("a").await.unwrap_err();
    let text = format!("get /api/v1/namespaces/ns/configmaps/a: {expected}");
    assert!(error.to_string().contains(&text), "{error}");
    assert!(!refused_by_gate(&error));
}

#[rstest]
#[case(Reply::file(b"{\"items\":[],\"metadata\":{}}".to_vec()), "2xx")]
#[case(Reply::status(400), "400")]
#[case(Reply::status(401), "4xx")]
#[case(Reply::status(403), "403")]
#[case(Reply::status(404), "404")]
#[case(Reply::status(409), "409")]
#[case(Reply::status(410), "410")]
#[case(Reply::status(422), "422")]
#[case(Reply::status(429), "429")]
#[case(Reply::status(500), "5xx")]
#[case(Reply::status(503), "5xx")]
#[case(Reply::body(ReplyBody::HangUp), "none")]
#[case(Reply::body(ReplyBody::Silent), "none")]
#[tokio::test]
async fn a_request_is_counted_once_by_its_status_code(#[case] reply: Reply, #[case] code: &str) {
    let server = HttpServer::start(move |_| reply.clone());
    let (client, metrics) = client_of(&config_of(&server), Permit::always(), SHORT);
    let _ = Api::<ConfigMap>::namespaced(client, "ns").list(&ListParams::default()).await;
    let expected = format!("{{verb=\"list\",kind=\"configmaps\",code=\"{code}\"}} 1");
    assert_eq!(counts(&metrics), [expected]);
    assert_eq!(server.requests().len(), 1, "nothing is retried");
}

#[tokio::test]
async fn a_cancelled_request_is_counted_too() {
    let server = HttpServer::start(|_| Reply::body(ReplyBody::Silent));
    let (client, metrics) = client_of(&config_of(&server), Permit::always(), Duration::from_mins(1));
    let get = async { Api::<ConfigMap>::namespaced(client, "ns").get("a").await };
    tokio::time::timeout(SHORT, get).await.unwrap_err();
    assert_eq!(counts(&metrics), ["{verb=\"get\",kind=\"configmaps\",code=\"none\"} 1"]);
}

#[tokio::test]
async fn without_a_permit_no_write_reaches_the_server_and_every_read_does() {
    let server = HttpServer::start(|_| Reply::status(404));
    let (client, metrics) = client_of(&config_of(&server), not_leading(), SHORT);
    let api = Api::<ConfigMap>::namespaced(client, "ns");
    let patch = Patch::Merge(json!({}));
    let refused = [
        api.create(&PostParams::default(), &config_map()).await.err(),
        api.replace("a", &PostParams::default(), &config_map()).await.err(),
        api.patch("a", &PatchParams::default(), &patch).await.err(),
        api.delete("a", &DeleteParams::default()).await.err(),
        api.delete_collection(&DeleteParams::default(), &ListParams::default()).await.err(),
    ];
    assert!(refused.iter().flatten().all(|error| refused_by_gate(error)), "{refused:?}");
    assert_eq!(refused.iter().flatten().count(), 5);
    assert_eq!(counts(&metrics).iter().filter(|line| line.contains("code=\"gate\"} 1")).count(), 5);
    assert_eq!(server.requests().len(), 0);

    assert!(matches!(api.get("a").await, Err(kube::Error::Api(status)) if status.code == 404));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn the_api_server_is_reached_and_a_write_without_permit_changes_nothing_there() {
    let cluster = ControlPlane::shared().await.unwrap();
    let namespace = cluster.namespace("gate").await.unwrap();
    let api = |permit| {
        let (client, _) = client_of(cluster.config(), permit, client::DEADLINE);
        Api::<ConfigMap>::namespaced(client, namespace.name())
    };
    let made = api(Permit::always()).create(&PostParams::default(), &config_map()).await.unwrap();
    let patch = Patch::Merge(json!({"data": {"written": "yes"}}));
    let waiting = api(not_leading());
    let error = waiting.patch("a", &PatchParams::default(), &patch).await.unwrap_err();
    assert!(refused_by_gate(&error), "{error}");
    assert_eq!(waiting.get("a").await.unwrap().metadata.resource_version, made.metadata.resource_version);
    let written = api(Permit::always()).patch("a", &PatchParams::default(), &patch).await.unwrap();
    assert_ne!(written.metadata.resource_version, made.metadata.resource_version);
}

#[tokio::test]
async fn a_proxy_that_would_be_ignored_is_refused() {
    let server = HttpServer::start(|_| Reply::status(200));
    let mut config = config_of(&server);
    config.proxy_url = Some("http://proxy.example:3128".parse().unwrap());
    let mut metrics = Metrics::new("test");
    let built = client::build(&config, Permit::always(), &ClientMetrics::new(&mut metrics));
    assert!(matches!(built, Err(kube::Error::ProxyProtocolUnsupported { .. })));
}
