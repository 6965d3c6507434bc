//! One download for all who want it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::join_all;
use tokio_util::sync::CancellationToken;
use vmafx_testkit::http_server::{HttpRequest, HttpServer, Reply, ReplyBody};
use vmafx_testkit::wait;

use crate::agent::{Setup, clip, read, roots};

const LATER: Duration = Duration::from_secs(30);

/// Requests for the file itself: not for its first byte.
fn downloads(requests: &[HttpRequest]) -> usize {
    requests.iter().filter(|request| request.range().is_none()).count()
}

#[tokio::test]
async fn many_who_want_the_same_at_once_cause_one_download() {
    let content = clip(2 << 20);
    let copy = content.clone();
    let server = HttpServer::start(move |_| Reply::file(copy.clone()).etag("\"1\""));
    let agent = Setup::default().agent();
    let (uri, root) = (server.url("/a"), server.url("/"));
    let all: Vec<_> =
        join_all((0..8).map(|_| agent.fetch(&uri, &root))).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(downloads(&server.requests()), 1);
    assert!(all.iter().all(|fetched| Arc::ptr_eq(fetched, &all[0])));
    assert!(read(&**all[0]) == content);
    // Somebody who comes later, while it is in use.
    let later = agent.fetch(&uri, &root).await.unwrap();
    assert!(Arc::ptr_eq(&later, &all[0]));
    assert_eq!(downloads(&server.requests()), 1);
    assert_eq!(agent.left().len(), 1);
    drop((all, later));
    agent.assert_clean();
    // Nobody uses it any more: it is fetched anew.
    agent.fetch(&uri, &root).await.unwrap();
    assert_eq!(downloads(&server.requests()), 2);
}

#[tokio::test]
async fn what_has_changed_meanwhile_is_fetched_anew() {
    let version = Arc::new(AtomicUsize::new(1));
    let seen = Arc::clone(&version);
    let server = HttpServer::start(move |_| {
        let version = seen.load(Ordering::Relaxed);
        Reply::file(format!("version {version}")).etag(&format!("\"{version}\""))
    });
    let agent = Setup::default().agent();
    let (uri, root) = (server.url("/a"), server.url("/"));
    let first = agent.fetch(&uri, &root).await.unwrap();
    version.store(2, Ordering::Relaxed);
    let second = agent.fetch(&uri, &root).await.unwrap();
    assert_eq!((read(&**first), read(&**second)), (b"version 1".to_vec(), b"version 2".to_vec()));
}

#[tokio::test]
async fn what_has_no_version_is_not_shared() {
    let server = HttpServer::start(|_| Reply::file("content"));
    let agent = Setup::default().agent();
    let (uri, root) = (server.url("/a"), server.url("/"));
    let (first, second) = (agent.fetch(&uri, &root).await.unwrap(), agent.fetch(&uri, &root).await.unwrap());
    assert!(!Arc::ptr_eq(&first, &second));
}

#[tokio::test]
async fn whoever_began_may_leave_without_disturbing_the_others() {
    // The first connection stalls in the middle until the server is told to go on by a second version of the answer.
    let content = clip(100_000);
    let copy = content.clone();
    let server = HttpServer::start(move |request| match request.range() {
        None => Reply::body(ReplyBody::Stalled(copy[..99_999].to_vec())).etag("\"1\""),
        Some(_) => Reply::file(copy[..100_000].to_vec()).etag("\"1\""),
    });
    let setup = Setup::default();
    let limits = vmafx_node::fetch::Limits { idle: Duration::from_millis(500), ..setup.limits.clone() };
    let agent = Setup { limits, ..setup }.agent();
    let (uri, root) = (server.url("/a"), roots(&[&server.url("/")]));
    let (leave, stay) = (CancellationToken::new(), CancellationToken::new());
    let first = agent.fetcher.fetch(&uri, &root, &leave, &|_| {});
    let others = async {
        wait::until(LATER, "the download", async || agent.left().len() == 1).await.unwrap();
        let joined = AtomicUsize::new(0);
        let told = |_| {
            joined.fetch_add(1, Ordering::Relaxed);
        };
        let second = agent.fetcher.fetch(&uri, &root, &stay, &told);
        let leaving = async {
            // The second is with it as soon as it is told how far it is.
            wait::until(LATER, "the second", async || joined.load(Ordering::Relaxed) > 0).await.unwrap();
            leave.cancel();
        };
        tokio::join!(second, leaving).0
    };
    let (first, second) = tokio::join!(first, others);
    assert!(first.is_err());
    assert!(read(&**second.unwrap()) == content);
    assert_eq!(downloads(&server.requests()), 1, "{:?}", server.requests());
    agent.assert_clean();
}

#[tokio::test]
async fn being_on_the_shelf_gives_no_access() {
    // The second asks with another password, which the server does not take.
    let server = HttpServer::start(|request| match request.header("authorization") {
        Some("Basic dXNlcjpwYXNz") => Reply::file("secret").etag("\"1\""),
        _ => Reply::status(403),
    });
    let agent = Setup::default().agent();
    let root = server.url("/");
    let _held = agent.fetch(&server.url("/a").replace("//", "//user:pass@"), &root).await.unwrap();
    assert!(agent.fetch(&server.url("/a"), &root).await.is_err());
    assert!(agent.fetch(&server.url("/a").replace("//", "//user:other@"), &root).await.is_err());
}
