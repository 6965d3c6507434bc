//! Fake registries with faults.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rstest::rstest;
use tokio_util::sync::CancellationToken;
use vmafx_job::FailureReason;
use vmafx_node::models::RegistryCredentials;
use vmafx_testkit::http_server::{HttpServer, Reply, ReplyBody};

use crate::fixture::{FixtureOptions, MEDIA_TYPE, json};

/// A fake registry with these responses for the manifest and the blob.
fn fake_registry(
    manifest: impl Fn() -> Reply + Send + Sync + 'static,
    blob: impl Fn() -> Reply + Send + Sync + 'static,
) -> HttpServer {
    HttpServer::start(move |request| match request.path.as_str() {
        path if path.contains("/manifests/") => manifest(),
        path if path.contains("/blobs/") => blob(),
        _ => Reply::status(404),
    })
}

pub(crate) const EMPTY: &str = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"; // of {}

pub(crate) fn manifest(digest: &str, size: u64) -> Vec<u8> {
    let layer = serde_json::json!({"mediaType": MEDIA_TYPE, "digest": digest, "size": size});
    serde_json::json!({"schemaVersion": 2, "layers": [layer]}).to_string().into_bytes()
}

#[rstest]
#[case::good(Reply::file(manifest(EMPTY, 2)), Reply::file("{}"), None)]
#[case::other_content(Reply::file(manifest(EMPTY, 2)), Reply::file("[]"), Some(FailureReason::ModelInvalid))]
#[case::longer_than_declared(
    Reply::file(manifest(EMPTY, 2)),
    Reply::file("{} "),
    Some(FailureReason::ModelInvalid)
)]
#[case::shorter_than_declared(
    Reply::file(manifest(EMPTY, 3)),
    Reply::file("{}"),
    Some(FailureReason::SourceUnreachable)
)]
#[case::endless_model(Reply::file(manifest(EMPTY, 1 << 20)), Reply::body(ReplyBody::Endless), Some(FailureReason::ModelInvalid))]
#[case::declared_too_large(Reply::file(manifest(EMPTY, (64 << 20) + 1)), Reply::file("{}"), Some(FailureReason::ModelInvalid))]
#[case::endless_manifest(
    Reply::body(ReplyBody::Endless),
    Reply::file("{}"),
    Some(FailureReason::ModelInvalid)
)]
#[case::no_manifest(Reply::file("<html>"), Reply::file("{}"), Some(FailureReason::ModelInvalid))]
#[case::missing(Reply::status(404), Reply::file("{}"), Some(FailureReason::ModelNotFound))]
#[case::broken(Reply::status(500), Reply::file("{}"), Some(FailureReason::SourceUnreachable))]
#[case::blob_at_metadata(
    Reply::file(manifest(EMPTY, 2)),
    Reply::redirect("https://169.254.169.254/latest"),
    Some(FailureReason::ModelNotFound)
)]
#[case::blob_without_tls(
    Reply::file(manifest(EMPTY, 2)),
    Reply::redirect("http://storage.example/blob"),
    Some(FailureReason::ModelNotFound)
)]
#[tokio::test]
async fn a_fault_of_a_registry_has_a_reason_and_nothing_invalid_is_cached(
    #[case] manifest: Reply,
    #[case] blob: Reply,
    #[case] expected: Option<FailureReason>,
) {
    let server = fake_registry(move || manifest.clone(), move || blob.clone());
    let fixture = FixtureOptions::new().build();
    let found = fixture.find(&format!("oci://{}/model:v1", server.authority())).await;
    assert_eq!(found.as_ref().err().map(|failure| failure.reason), expected, "{found:?}");
    assert_eq!(fixture.cached(), usize::from(expected.is_none()));
}

#[tokio::test]
async fn a_pinned_manifest_must_have_its_digest() {
    let server = fake_registry(|| Reply::file(manifest(EMPTY, 2)), || Reply::file("{}"));
    let fixture = FixtureOptions::new().build();
    let failure = fixture.find(&format!("oci://{}/model@{EMPTY}", server.authority())).await.unwrap_err();
    assert_eq!(failure.reason, FailureReason::ModelInvalid);
    assert!(failure.message.contains("its manifest does not have the digest"), "{failure}");
}

#[tokio::test]
async fn a_token_is_fetched_with_the_password_and_sent_to_the_registry_only() {
    let storage = HttpServer::start(|_| Reply::file("{}"));
    let blob = storage.url("/blob?signature=x");
    let tokens =
        HttpServer::start(|request| match (request.header("authorization"), request.query.as_str()) {
            (Some("Basic dXNlcjpwYXNz"), "scope=repository%3Amodel%3Apull&service=models") => {
                Reply::file(r#"{"token":"T0ken"}"#)
            }
            _ => Reply::status(403),
        });
    let challenge = format!(
        "Bearer realm=\"{}\",service=\"models\",scope=\"repository:model:pull\"",
        tokens.url("/token")
    );
    let server =
        HttpServer::start(move |request| match (request.header("authorization"), request.path.as_str()) {
            (Some("Bearer T0ken"), "/v2/model/manifests/v1") => Reply::file(manifest(EMPTY, 2)),
            (Some("Bearer T0ken"), _) => Reply::redirect(blob.clone()),
            _ => Reply::status(401).header("www-authenticate", challenge.clone()),
        });
    let mut options = FixtureOptions::new();
    let config = serde_json::json!({"auths": {server.authority(): {"auth": "dXNlcjpwYXNz"}}});
    std::fs::write(options.directory.path().join(".dockerconfigjson"), config.to_string()).unwrap();
    options.credentials = RegistryCredentials::in_directory(options.directory.path());
    let fixture = options.build();
    let found = fixture.find(&format!("oci://{}/model:v1", server.authority())).await.unwrap();
    assert_eq!(json(&found), b"{}");
    assert_eq!(tokens.requests().len(), 1);
    assert_eq!(storage.requests()[0].header("authorization"), None);
}

#[tokio::test]
async fn a_registry_on_another_machine_needs_tls_unless_it_is_listed() {
    let methods = Arc::new(Mutex::new(Vec::new()));
    let recorded = Arc::clone(&methods);
    let server = HttpServer::start(move |request| {
        recorded.lock().unwrap().push(request.method.clone());
        Reply::status(404)
    });
    let port = server.authority().rsplit_once(':').unwrap().1.to_owned();
    // A name of this machine that is not recognized as one.
    let name = format!("localhost.localdomain:{port}");
    if tokio::net::lookup_host(&name).await.is_err() {
        return;
    }
    let _ = FixtureOptions::new().build().find(&format!("oci://{name}/model:v1")).await.unwrap_err();
    assert!(methods.lock().unwrap().iter().all(|method| method != "GET"));
    let mut options = FixtureOptions::new();
    options.settings.oci_plain_http = vec![name.clone()];
    assert_eq!(
        options.build().find(&format!("oci://{name}/model:v1")).await.unwrap_err().reason,
        FailureReason::ModelNotFound
    );
    assert!(methods.lock().unwrap().iter().any(|method| method == "GET"));
}

#[tokio::test]
async fn a_cancelled_pull_is_continued_by_the_next_job() {
    let stall = Arc::new(AtomicBool::new(true));
    let (pulls, hang) = (Arc::new(AtomicUsize::new(0)), Arc::clone(&stall));
    let count = Arc::clone(&pulls);
    let server = fake_registry(
        || Reply::file(manifest(EMPTY, 2)),
        move || {
            count.fetch_add(1, Ordering::Relaxed);
            if hang.swap(false, Ordering::Relaxed) {
                Reply::body(ReplyBody::Silent)
            } else {
                Reply::file("{}")
            }
        },
    );
    let fixture = FixtureOptions::new().build();
    let (name, cancel) = (format!("oci://{}/model:v1", server.authority()), CancellationToken::new());
    let leaving = async {
        vmafx_testkit::wait::until(Duration::from_secs(20), "the pull", async || {
            pulls.load(Ordering::Relaxed) == 1
        })
        .await
        .unwrap();
        cancel.cancel();
    };
    let (first, second, ()) = tokio::join!(fixture.models.find(&name, &cancel), fixture.find(&name), leaving);
    assert_eq!(first.unwrap_err().reason, FailureReason::Internal);
    assert_eq!(json(&second.unwrap()), b"{}");
}
