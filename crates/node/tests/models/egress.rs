//! Models whose registry, token server or redirect is in a private network.
//!
//! A listed registry redirects or points elsewhere; the servers that must not be reached count their requests.

use std::net::SocketAddr;

use rstest::rstest;
use vmafx_job::{Failure, FailureReason};
use vmafx_testkit::http_server::{HttpServer, Reply};
use vmafx_testkit::kube::ControlPlane;
use vmafx_testkit::registry::{RegistryAuth, RegistryLayer, RegistryServer};

use crate::faults::{EMPTY, manifest};
use crate::fixture::{FixtureOptions, MEDIA_TYPE, json};

/// Finds a model with this list of private hosts.
async fn find(listed: &[String], model: &str) -> Result<Vec<u8>, Failure> {
    let mut options = FixtureOptions::new();
    options.settings.oci_private_hosts = listed.to_vec();
    options.build().find(model).await.map(|found| json(&found))
}

/// The failure says which host, and nothing that the host answered.
fn assert_refused(found: Result<Vec<u8>, Failure>, host: &str) {
    let failure = found.unwrap_err();
    assert_eq!(failure.reason, FailureReason::ModelNotFound, "{failure}");
    let expected = format!("{host} is in a private network; an administrator has to list it");
    // The address of the registry itself may have any digits.
    let (_, said) = failure.message.split_once("/model:v1: ").unwrap();
    assert!(said.starts_with(&expected), "{failure}");
    for told in ["200", "401", "403", "404", "Forbidden", "refused", "secret"] {
        assert!(!said.contains(told), "{told}: {failure}");
    }
}

#[tokio::test]
async fn a_registry_in_a_private_network_is_refused_unless_it_is_listed() {
    let registry = RegistryServer::start(RegistryAuth::Open).await.unwrap();
    registry.push("model", "v1", &[RegistryLayer { media_type: MEDIA_TYPE, content: b"{}" }]).unwrap();
    let before = registry.request_count("GET", "/v2/");
    let model = format!("oci://{}/model:v1", registry.address());
    assert_refused(find(&[], &model).await, "127.0.0.1");
    let port: SocketAddr = registry.address().parse().unwrap();
    let by_name = format!("oci://localhost:{}/model:v1", port.port());
    assert_refused(find(&[], &by_name).await, "localhost");
    assert_eq!(registry.request_count("GET", "/v2/"), before, "nothing was sent");
    assert_eq!(find(&[registry.address().to_owned()], &model).await.unwrap(), b"{}");
    assert_eq!(find(&["localhost".to_owned()], &by_name).await.unwrap(), b"{}");
}

/// What the target of an attack would answer.
fn private_service() -> HttpServer {
    HttpServer::start(|_| Reply::file(r#"{"token":"secret"}"#))
}

/// A listed registry that redirects its blobs.
async fn redirected_to(target: &str) -> Result<Vec<u8>, Failure> {
    let target = target.to_owned();
    let registry = HttpServer::start(move |request| {
        if request.path.contains("/manifests/") {
            Reply::file(manifest(EMPTY, 2))
        } else {
            Reply::redirect(target.clone())
        }
    });
    find(&[registry.authority()], &format!("oci://{}/model:v1", registry.authority())).await
}

/// A listed registry that sends its clients elsewhere for a token.
async fn realm_at(target: &str) -> Result<Vec<u8>, Failure> {
    let challenge = format!("Bearer realm=\"{target}\",service=\"models\"");
    let registry =
        HttpServer::start(move |_| Reply::status(401).header("www-authenticate", challenge.clone()));
    find(&[registry.authority()], &format!("oci://{}/model:v1", registry.authority())).await
}

#[tokio::test]
async fn a_redirect_and_a_realm_to_another_service_of_this_machine_are_refused() {
    let service = private_service();
    assert_refused(redirected_to(&service.url("/blob")).await, "127.0.0.1");
    assert_refused(realm_at(&service.url("/token")).await, "127.0.0.1");
    assert_eq!(service.requests().len(), 0);
}

#[rstest]
#[case::service("https://10.96.0.1/", "10.96.0.1")]
#[case::service_with_port("https://10.43.7.9:8443/api", "10.43.7.9")]
#[case::unique_local("https://[fd00:10:96::1]/", "[fd00:10:96::1]")]
#[case::metadata("https://169.254.169.254/latest/meta-data", "169.254.169.254")]
#[case::disguised("https://0x7f.1:6443/", "127.0.0.1")]
#[case::mapped("https://[::ffff:10.96.0.1]/", "[::ffff:a60:1]")]
#[tokio::test]
async fn a_redirect_and_a_realm_to_an_address_of_the_cluster_are_refused(
    #[case] target: &str,
    #[case] host: &str,
) {
    assert_refused(redirected_to(target).await, host);
    assert_refused(realm_at(target).await, host);
}

#[tokio::test]
async fn a_redirect_and_a_realm_to_the_api_server_are_refused() {
    let plane = ControlPlane::shared().await.unwrap();
    let server = &plane.config().cluster_url;
    let version = format!("{server}version");
    assert_refused(redirected_to(&version).await, server.host().unwrap());
    assert_refused(realm_at(&version).await, server.host().unwrap());
}
