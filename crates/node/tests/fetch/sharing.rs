//! Jobs share one download.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::join_all;
use tokio_util::sync::CancellationToken;
use vmafx_testkit::http_server::{HttpRequest, HttpServer, Reply, ReplyBody};
use vmafx_testkit::wait;

use crate::fixture::{FixtureOptions, clip, read, roots};

const TIMEOUT: Duration = Duration::from_secs(30);

/// Requests for the whole file, not for its first byte.
fn downloads(requests: &[HttpRequest]) -> usize {
    requests.iter().filter(|request| request.range().is_none()).count()
}

#[tokio::test]
async fn concurrent_fetches_of_one_file_cause_one_download() {
    let content = clip(2 << 20);
    let copy = content.clone();
    let server = HttpServer::start(move |_| Reply::file(copy.clone()).etag("\"1\""));
    let fixture = FixtureOptions::default().build();
    let (uri, root) = (server.url("/a"), server.url("/"));
    let all: Vec<_> =
        join_all((0..8).map(|_| fixture.fetch(&uri, &root))).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(downloads(&server.requests()), 1);
    assert!(all.iter().all(|fetched| Arc::ptr_eq(fetched, &all[0])));
    assert!(read(&**all[0]) == content);
    // A later fetch while the file is in use.
    let later = fixture.fetch(&uri, &root).await.unwrap();
    assert!(Arc::ptr_eq(&later, &all[0]));
    assert_eq!(downloads(&server.requests()), 1);
    assert_eq!(fixture.files().len(), 1);
    drop((all, later));
    fixture.assert_clean();
    // Without a user the file is downloaded again.
    fixture.fetch(&uri, &root).await.unwrap();
    assert_eq!(downloads(&server.requests()), 2);
}

#[tokio::test]
async fn a_file_that_has_changed_is_downloaded_again() {
    let version = Arc::new(AtomicUsize::new(1));
    let current = Arc::clone(&version);
    let server = HttpServer::start(move |_| {
        let version = current.load(Ordering::Relaxed);
        Reply::file(format!("version {version}")).etag(&format!("\"{version}\""))
    });
    let fixture = FixtureOptions::default().build();
    let (uri, root) = (server.url("/a"), server.url("/"));
    let first = fixture.fetch(&uri, &root).await.unwrap();
    version.store(2, Ordering::Relaxed);
    let second = fixture.fetch(&uri, &root).await.unwrap();
    assert_eq!((read(&**first), read(&**second)), (b"version 1".to_vec(), b"version 2".to_vec()));
}

#[tokio::test]
async fn a_file_without_a_version_is_not_shared() {
    let server = HttpServer::start(|_| Reply::file("content"));
    let fixture = FixtureOptions::default().build();
    let (uri, root) = (server.url("/a"), server.url("/"));
    let (first, second) =
        (fixture.fetch(&uri, &root).await.unwrap(), fixture.fetch(&uri, &root).await.unwrap());
    assert!(!Arc::ptr_eq(&first, &second));
}

#[tokio::test]
async fn the_job_that_started_a_download_may_leave_without_disturbing_the_others() {
    // The first connection stalls; the request for the rest of the file succeeds.
    let content = clip(100_000);
    let copy = content.clone();
    let server = HttpServer::start(move |request| match request.range() {
        None => Reply::body(ReplyBody::Stalled(copy[..99_999].to_vec())).etag("\"1\""),
        Some(_) => Reply::file(copy[..100_000].to_vec()).etag("\"1\""),
    });
    let options = FixtureOptions::default();
    let limits =
        vmafx_node::fetch::FetchLimits { idle: Duration::from_millis(500), ..options.limits.clone() };
    let fixture = FixtureOptions { limits, ..options }.build();
    let (uri, root) = (server.url("/a"), roots(&[&server.url("/")]));
    let (leave, stay) = (CancellationToken::new(), CancellationToken::new());
    let first = fixture.fetcher.fetch(&uri, &root, &leave, &|_| {});
    let others = async {
        wait::until(TIMEOUT, "the download", async || fixture.files().len() == 1).await.unwrap();
        let joined = AtomicUsize::new(0);
        let progress = |_| {
            joined.fetch_add(1, Ordering::Relaxed);
        };
        let second = fixture.fetcher.fetch(&uri, &root, &stay, &progress);
        let leaving = async {
            // The second has joined the download as soon as its progress is reported.
            wait::until(TIMEOUT, "the second", async || joined.load(Ordering::Relaxed) > 0).await.unwrap();
            leave.cancel();
        };
        tokio::join!(second, leaving).0
    };
    let (first, second) = tokio::join!(first, others);
    assert!(first.is_err());
    assert!(read(&**second.unwrap()) == content);
    assert_eq!(downloads(&server.requests()), 1, "{:?}", server.requests());
    fixture.assert_clean();
}

#[tokio::test]
async fn a_shared_download_gives_no_access() {
    // The second fetch has another password, which the server rejects.
    let server = HttpServer::start(|request| match request.header("authorization") {
        Some("Basic dXNlcjpwYXNz") => Reply::file("secret").etag("\"1\""),
        _ => Reply::status(403),
    });
    let fixture = FixtureOptions::default().build();
    let root = server.url("/");
    let _held = fixture.fetch(&server.url("/a").replace("//", "//user:pass@"), &root).await.unwrap();
    assert!(fixture.fetch(&server.url("/a"), &root).await.is_err());
    assert!(fixture.fetch(&server.url("/a").replace("//", "//user:other@"), &root).await.is_err());
}
