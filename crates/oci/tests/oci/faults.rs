//! Faults that a real registry cannot be made to show, from a scripted server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rstest::rstest;
use vmafx_oci::{Descriptor, Digest, RegistryCredentials};
use vmafx_testkit::http_server::{HttpRequest, HttpServer, Reply, ReplyBody};

use crate::fixture::{artifact, client, login, repository};

/// A registry that is empty, accepts everything, and sends uploads to `location`.
fn accepts_everything(request: &HttpRequest, location: &str) -> Reply {
    match (request.method.as_str(), request.path.as_str()) {
        ("HEAD", _) => Reply::status(404),
        ("POST", path) if path.ends_with("/blobs/uploads/") => {
            Reply::status(202).header("location", location)
        }
        ("PUT", _) => Reply::status(201),
        _ => Reply::status(400),
    }
}

fn manifest_of(digest: &Digest, size: u64) -> Vec<u8> {
    let layer = serde_json::json!({"mediaType": "application/json", "digest": digest, "size": size});
    serde_json::json!({"schemaVersion": 2, "layers": [layer]}).to_string().into_bytes()
}

fn blob(content: &[u8]) -> Descriptor {
    let (digest, size) = (Digest::of(content), content.len() as u64);
    Descriptor { media_type: "text/plain".into(), digest, size, annotations: BTreeMap::new() }
}

#[tokio::test]
async fn a_token_is_for_pull_and_push_and_fetched_once() {
    let tokens = HttpServer::start(|request| {
        let (_, query) = (request.header("authorization"), request.query.as_str());
        match (request.header("authorization"), query) {
            (Some("Basic dXNlcjpwYXNz"), "scope=repository%3Ateam%2Fmodels%3Apull%2Cpush&service=models") => {
                // Docker Hub sends both names.
                Reply::file(r#"{"token":"T0ken","access_token":"T0ken","expires_in":300}"#)
            }
            _ => Reply::status(403),
        }
    });
    let challenge = format!("Bearer realm=\"{}\",service=\"models\"", tokens.url("/token"));
    let server = HttpServer::start(move |request| match request.header("authorization") {
        Some("Bearer T0ken") => accepts_everything(request, "/v2/team/models/blobs/uploads/1?_state=a%2Fb"),
        _ => Reply::status(401).header("www-authenticate", challenge.clone()),
    });
    let home = tempfile::tempdir().unwrap();
    let client = client(login(home.path(), &server.authority(), "user", "pass"));
    let models = repository(&server.authority());
    client.push(&models, &artifact(b"1", b"2"), "v1").await.unwrap();
    client.push(&models, &artifact(b"3", b"4"), "v2").await.unwrap();
    assert_eq!(tokens.requests().len(), 1);
    let put = server.requests().into_iter().find(|request| request.method == "PUT").unwrap();
    let digest = Digest::of(b"1").to_string().replace(':', "%3A");
    assert_eq!(put.query, format!("_state=a%2Fb&digest={digest}"), "the session's own query is kept");
    assert_eq!((put.body.as_slice(), put.header("content-length")), (&b"1"[..], Some("1")));
}

#[tokio::test]
async fn a_token_that_is_not_taken_any_more_is_fetched_anew() {
    let issued = Arc::new(AtomicUsize::new(0));
    let (issue, valid) = (Arc::clone(&issued), Arc::clone(&issued));
    let tokens = HttpServer::start(move |_| {
        let number = issue.fetch_add(1, Ordering::SeqCst) + 1;
        Reply::file(format!(r#"{{"access_token":"T{number}","expires_in":300}}"#))
    });
    let challenge = format!("Bearer realm=\"{}\"", tokens.url("/token"));
    // A token is good for three requests.
    let used = AtomicUsize::new(0);
    let server = HttpServer::start(move |request| {
        let good = format!("Bearer T{}", valid.load(Ordering::SeqCst));
        let first = valid.load(Ordering::SeqCst) > 0 && request.header("authorization") == Some(&good);
        if first && used.fetch_add(1, Ordering::SeqCst) % 4 != 3 {
            accepts_everything(request, "/v2/team/models/blobs/uploads/1")
        } else {
            Reply::status(401).header("www-authenticate", challenge.clone())
        }
    });
    let models = repository(&server.authority());
    client(RegistryCredentials::none()).push(&models, &artifact(b"1", b"2"), "v1").await.unwrap();
    assert!(issued.load(Ordering::SeqCst) > 1);
}

#[tokio::test]
async fn storage_elsewhere_never_sees_the_token() {
    let storage =
        HttpServer::start(
            |request| {
                if request.method == "GET" { Reply::file("{}") } else { Reply::status(201) }
            },
        );
    let (location, content) = (storage.url("/upload?signature=x"), storage.url("/blob?signature=y"));
    let server = HttpServer::start(move |request| match request.header("authorization") {
        Some("Basic dXNlcjpwYXNz") if request.method == "GET" => Reply::redirect(content.clone()),
        Some("Basic dXNlcjpwYXNz") => accepts_everything(request, &location),
        _ => Reply::status(401).header("www-authenticate", "Basic realm=x"),
    });
    let home = tempfile::tempdir().unwrap();
    let client = client(login(home.path(), &server.authority(), "user", "pass"));
    let models = repository(&server.authority());
    client.push(&models, &artifact(b"1", b"2"), "v1").await.unwrap();
    assert_eq!(client.blob(&models, &blob(b"{}"), 10).await.unwrap(), "{}");
    let seen = storage.requests();
    assert_eq!(seen.len(), 4, "two layers, the configuration, and the blob");
    assert!(seen.iter().all(|request| request.header("authorization").is_none()));
    assert!(seen[0].query.starts_with("signature=x&digest=sha256"), "{}", seen[0].query);
}

#[tokio::test]
async fn a_redirect_target_cannot_ask_for_the_password() {
    let tokens = HttpServer::start(|_| Reply::file(r#"{"token":"x"}"#));
    let challenge = format!("Bearer realm=\"{}\"", tokens.url("/steal"));
    let storage =
        HttpServer::start(move |_| Reply::status(401).header("www-authenticate", challenge.clone()));
    let location = storage.url("/blob");
    let server = HttpServer::start(move |_| Reply::redirect(location.clone()));
    let home = tempfile::tempdir().unwrap();
    let client = client(login(home.path(), &server.authority(), "user", "pass"));
    let refused = client.blob(&repository(&server.authority()), &blob(b"{}"), 10).await.unwrap_err();
    assert_eq!(refused.reason().as_str(), "RegistryUnauthorized", "{refused}");
    assert_eq!((tokens.requests().len(), storage.requests().len()), (0, 1));
}

#[rstest]
#[case::upload("http://storage.example/upload")]
#[case::not_even_http("ftp://127.0.0.1/upload")]
#[tokio::test]
async fn an_upload_to_another_host_requires_tls(#[case] location: &'static str) {
    let server = HttpServer::start(move |request| accepts_everything(request, location));
    let refused = client(RegistryCredentials::none())
        .push(&repository(&server.authority()), &artifact(b"1", b"2"), "v1")
        .await
        .unwrap_err();
    assert_eq!(refused.reason().as_str(), "RegistryWithoutTls", "{refused}");
}

#[tokio::test]
async fn an_upload_that_breaks_off_begins_again() {
    let puts = AtomicUsize::new(0);
    let server = HttpServer::start(move |request| {
        if request.method == "PUT" && puts.fetch_add(1, Ordering::SeqCst) == 0 {
            return Reply::body(ReplyBody::HangUp);
        }
        accepts_everything(request, "/v2/team/models/blobs/uploads/1")
    });
    let models = repository(&server.authority());
    client(RegistryCredentials::none()).push(&models, &artifact(b"1", b"2"), "v1").await.unwrap();
    let begun = server.requests().iter().filter(|request| request.method == "POST").count();
    assert_eq!(begun, 4, "three blobs, one of them twice");
}

#[rstest]
#[case::forbidden(403, "RegistryDenied")]
#[case::no_such_name(404, "RegistryNotFound")]
#[case::read_only(405, "RegistryReadOnly")]
#[case::too_many(429, "RegistryUnavailable")]
#[case::broken(500, "RegistryStorageFailed")]
#[case::away(503, "RegistryUnavailable")]
#[case::full(507, "RegistryFull")]
#[tokio::test]
async fn a_refused_push_has_its_reason(#[case] status: u16, #[case] reason: &str) {
    let server = HttpServer::start(move |request| match request.method.as_str() {
        "HEAD" => Reply::status(404),
        _ => Reply::status(status),
    });
    let models = repository(&server.authority());
    let refused =
        client(RegistryCredentials::none()).push(&models, &artifact(b"1", b"2"), "v1").await.unwrap_err();
    assert_eq!((refused.reason().as_str(), refused.may_succeed_later()), (reason, true), "{refused}");
    let again = matches!(status, 429 | 500 | 503);
    let begun = server.requests().iter().filter(|request| request.method == "POST").count();
    assert_eq!(begun, if again { 2 } else { 1 });
}

#[tokio::test]
async fn a_manifest_must_be_stored_as_it_was_sent() {
    let server = HttpServer::start(|request| {
        let other = Digest::of(b"other").to_string();
        accepts_everything(request, "/v2/team/models/blobs/uploads/1").header("docker-content-digest", other)
    });
    let models = repository(&server.authority());
    let refused =
        client(RegistryCredentials::none()).push(&models, &artifact(b"1", b"2"), "v1").await.unwrap_err();
    assert_eq!(refused.reason().as_str(), "DigestMismatch", "{refused}");
}

#[rstest]
#[case::other_content(Reply::file("[]"), "DigestMismatch")]
#[case::longer(Reply::file("{} "), "TooLarge")]
#[case::endless(Reply::body(ReplyBody::Endless), "TooLarge")]
#[case::shorter(Reply::file("{"), "RegistryUnavailable")]
#[case::cut(Reply::body(ReplyBody::Truncated { file: b"{}".to_vec(), sent: 1 }), "RegistryUnavailable")]
#[case::hang_up(Reply::body(ReplyBody::HangUp), "RegistryUnavailable")]
#[case::nothing(Reply::status(204), "RegistryRefused")]
#[tokio::test]
async fn a_blob_is_what_it_is_called_or_nothing(#[case] reply: Reply, #[case] reason: &str) {
    let server = HttpServer::start(move |_| reply.clone());
    let models = repository(&server.authority());
    let refused = client(RegistryCredentials::none()).blob(&models, &blob(b"{}"), 10).await.unwrap_err();
    assert_eq!(refused.reason().as_str(), reason, "{refused}");
}

#[rstest]
#[case::endless(Reply::body(ReplyBody::Endless), "TooLarge")]
#[case::no_manifest(Reply::file("<html>"), "ManifestInvalid")]
#[case::in_circles(Reply::redirect("/v2/team/models/manifests/v1"), "RegistryRefused")]
#[case::to_nowhere(Reply::status(302), "RegistryRefused")]
#[tokio::test]
async fn a_manifest_is_one_or_nothing(#[case] reply: Reply, #[case] reason: &str) {
    let server = HttpServer::start(move |_| reply.clone());
    let models = repository(&server.authority());
    let refused = client(RegistryCredentials::none()).resolve(&models.tagged("v1")).await.unwrap_err();
    assert_eq!(refused.reason().as_str(), reason, "{refused}");
}

#[tokio::test]
async fn a_pinned_manifest_has_its_digest() {
    let server = HttpServer::start(|_| Reply::file(manifest_of(&Digest::of(b"x"), 1)));
    let models = repository(&server.authority());
    let pinned = models.pinned(Digest::of(b"another"));
    let refused = client(RegistryCredentials::none()).resolve(&pinned).await.unwrap_err();
    assert_eq!(refused.reason().as_str(), "DigestMismatch", "{refused}");
}

/// A list of tags whose every page links to another one; `next` maps a page's number to that link.
fn endless_list(next: impl Fn(usize) -> String + Send + Sync + 'static) -> HttpServer {
    let pages = AtomicUsize::new(0);
    HttpServer::start(move |_| {
        let tags: Vec<String> = (0..1000).map(|number| format!("v{number}")).collect();
        let page = serde_json::json!({"name": "team/models", "tags": tags}).to_string();
        let next = next(pages.fetch_add(1, Ordering::SeqCst));
        Reply::file(page).header("link", format!("<{next}>; rel=\"next\""))
    })
}

#[rstest]
#[case::without_end("/v2/team/models/tags/list?last=", true, "TooLarge", 11)]
#[case::in_circles("/v2/team/models/tags/list?last=", false, "RegistryRefused", 2)]
#[case::elsewhere("http://127.0.0.1:1/v2/team/models/tags/list", false, "RegistryRefused", 1)]
#[tokio::test]
async fn a_list_of_tags_ends_somewhere(
    #[case] next: &'static str,
    #[case] goes_on: bool,
    #[case] reason: &str,
    #[case] asked: usize,
) {
    let server = endless_list(move |page| if goes_on { format!("{next}{page}") } else { next.to_owned() });
    let models = repository(&server.authority());
    let refused = client(RegistryCredentials::none()).tags(&models).await.unwrap_err();
    assert_eq!(refused.reason().as_str(), reason, "{refused}");
    assert_eq!(server.requests().len(), asked);
}

// The paused clock advances whenever the test is idle.
#[tokio::test(start_paused = true)]
async fn a_registry_that_says_nothing_is_given_up() {
    let server = HttpServer::start(|_| Reply::body(ReplyBody::Silent));
    let models = repository(&server.authority());
    let silent =
        client(RegistryCredentials::none()).push(&models, &artifact(b"1", b"2"), "v1").await.unwrap_err();
    assert_eq!(
        (silent.reason().as_str(), silent.may_succeed_later()),
        ("RegistryUnavailable", true),
        "{silent}"
    );
}

#[tokio::test]
async fn a_manifest_comes_after_everything_that_it_names() {
    let server = HttpServer::start(|request| accepts_everything(request, "/v2/team/models/blobs/uploads/1"));
    let models = repository(&server.authority());
    client(RegistryCredentials::none()).push(&models, &artifact(b"1", b"2"), "v1").await.unwrap();
    let paths: Vec<String> = server
        .requests()
        .into_iter()
        .filter(|request| request.method == "PUT")
        .map(|request| request.path)
        .collect();
    assert_eq!(paths.len(), 4);
    assert_eq!(paths[3], "/v2/team/models/manifests/v1");
}
