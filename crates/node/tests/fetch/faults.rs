//! Faults of servers, and the failures of jobs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rstest::rstest;
use tokio_util::sync::CancellationToken;
use vmafx_job::FailureReason;
use vmafx_node::fetch::FetchLimits;
use vmafx_testkit::http_server::{HttpServer, Reply, ReplyBody};
use vmafx_testkit::{script, wait};

use crate::fixture::{FixtureOptions, clip, read, roots};

const SHORT: Duration = Duration::from_millis(200);
const TIMEOUT: Duration = Duration::from_secs(30);

/// Few attempts, with the usual timeouts.
fn few_attempts() -> FixtureOptions {
    let options = FixtureOptions::default();
    FixtureOptions { limits: FetchLimits { attempts: 3, ..options.limits }, ..options }
}

/// Short timeouts, for servers that do not respond.
fn short_timeouts() -> FixtureOptions {
    let options = few_attempts();
    FixtureOptions { limits: FetchLimits { headers: SHORT, idle: SHORT, ..options.limits }, ..options }
}

#[rstest]
#[case::endless(Reply::body(ReplyBody::Endless), FailureReason::InputTooLarge)]
#[case::declared_too_long(Reply::file(vec![0; (4 << 20) + 1]), FailureReason::InputTooLarge)]
#[case::refused_as_too_large(Reply::status(413), FailureReason::InputTooLarge)]
#[case::cut_without_a_version(Reply::body(ReplyBody::Truncated { file: clip(100_000), sent: 50_000 }), FailureReason::SourceUnreachable)]
#[case::no_length_at_all(Reply::body(ReplyBody::UntilClose(clip(1000))), FailureReason::InputInvalid)]
#[case::compressed(Reply::file("x").header("content-encoding", "gzip"), FailureReason::InputInvalid)]
#[case::hung_up(Reply::body(ReplyBody::HangUp), FailureReason::SourceUnreachable)]
#[case::broken(Reply::status(503), FailureReason::SourceUnreachable)]
#[case::missing(Reply::status(404), FailureReason::InputNotFound)]
#[case::denied(Reply::status(403), FailureReason::InputDeniedOnNode)]
#[case::no_content(Reply::status(204), FailureReason::InputNotFound)]
#[case::redirect_without_a_target(Reply::status(302), FailureReason::InputDenied)]
#[case::redirect_to_metadata(
    Reply::redirect("http://169.254.169.254/latest/meta-data/"),
    FailureReason::InputDenied
)]
#[case::redirect_to_a_file(Reply::redirect("file:///etc/passwd"), FailureReason::InputDenied)]
#[case::redirect_to_a_parent_directory(Reply::redirect("/%2e%2e/secret"), FailureReason::InputDenied)]
#[case::redirect_to_itself(Reply::redirect("/a"), FailureReason::InputDenied)]
#[tokio::test]
async fn a_fault_has_a_reason_and_leaves_nothing(#[case] reply: Reply, #[case] expected: FailureReason) {
    let server = HttpServer::start(move |_| reply.clone());
    let fixture = few_attempts().build();
    let failure = fixture.fetch(&server.url("/a?token=S3cr3t"), &server.url("/")).await.unwrap_err();
    assert_eq!(failure.reason, expected, "{failure}");
    assert!(failure.message.starts_with(&server.url("/a?…: ")), "{failure}");
    assert!(!failure.message.contains("S3cr3t"), "{failure}");
    fixture.assert_clean();
}

#[rstest]
#[case::in_the_middle(ReplyBody::Stalled(clip(1000)))]
#[case::from_the_start(ReplyBody::Silent)]
#[tokio::test]
async fn a_server_that_does_not_respond_times_out(#[case] body: ReplyBody) {
    let server = HttpServer::start(move |_| Reply::body(body.clone()));
    let fixture = short_timeouts().build();
    let failure = fixture.fetch(&server.url("/a"), &server.url("/")).await.unwrap_err();
    assert_eq!(failure.reason, FailureReason::SourceUnreachable, "{failure}");
    fixture.assert_clean();
}

#[tokio::test]
async fn only_transient_faults_are_retried() {
    for (status, tries) in [(503, 3), (429, 3), (404, 1), (403, 1), (400, 1)] {
        let server = HttpServer::start(move |_| Reply::status(status));
        let _ = few_attempts().build().fetch(&server.url("/a"), &server.url("/")).await.unwrap_err();
        assert_eq!(server.count("/a"), tries, "{status}");
    }
}

#[tokio::test]
async fn a_server_that_recovers_is_retried() {
    let requests = AtomicUsize::new(0);
    let server = HttpServer::start(move |_| match requests.fetch_add(1, Ordering::Relaxed) {
        0 => Reply::status(500),
        1 => Reply::body(ReplyBody::HangUp),
        _ => Reply::file("ok"),
    });
    let fixture = few_attempts().build();
    assert_eq!(read(&**fixture.fetch(&server.url("/a"), &server.url("/")).await.unwrap()), b"ok");
}

#[tokio::test]
async fn a_connection_that_breaks_is_resumed_where_it_broke() {
    let content = clip(100_000);
    let copy = content.clone();
    let cut = ReplyBody::Truncated { file: copy, sent: 40_000 };
    let server = HttpServer::start(move |_| Reply::body(cut.clone()).etag("\"v1\""));
    let fixture = few_attempts().build();
    let fetched = fixture.fetch(&server.url("/a"), &server.url("/")).await.unwrap();
    assert!(read(&**fetched) == content);
    let starts: Vec<_> =
        server.requests().iter().map(|request| request.range().map(|range| range.0)).collect();
    assert_eq!(starts, [None, Some(40_000), Some(80_000)]);
    assert!(server.requests()[1..].iter().all(|request| request.header("if-range") == Some("\"v1\"")));
}

#[tokio::test]
async fn two_versions_are_never_joined() {
    let requests = AtomicUsize::new(0);
    let server = HttpServer::start(move |_| match requests.fetch_add(1, Ordering::Relaxed) {
        0 => Reply::body(ReplyBody::Truncated { file: vec![b'a'; 1000], sent: 500 }).etag("\"v1\""),
        _ => Reply::file(vec![b'b'; 1000]).etag("\"v2\""),
    });
    let fixture = few_attempts().build();
    let failure = fixture.fetch(&server.url("/a"), &server.url("/")).await.unwrap_err();
    assert_eq!(failure.reason, FailureReason::SourceUnreachable);
    assert!(failure.message.ends_with("it changed while it was downloaded"), "{failure}");
    fixture.assert_clean();
}

#[tokio::test]
async fn a_part_that_was_not_requested_is_refused() {
    // The response claims to be the part from 900 on although the one from 500 on was requested.
    let requests = AtomicUsize::new(0);
    let server = HttpServer::start(move |_| {
        if requests.fetch_add(1, Ordering::Relaxed) == 0 {
            return Reply::body(ReplyBody::Truncated { file: clip(1000), sent: 500 }).etag("\"v1\"");
        }
        let part = Reply::body(ReplyBody::Whole(clip(100))).etag("\"v1\"").with_status(206);
        part.header("content-range", "bytes 900-999/1000")
    });
    let failure = few_attempts().build().fetch(&server.url("/a"), &server.url("/")).await.unwrap_err();
    assert_eq!(failure.reason, FailureReason::SourceUnreachable, "{failure}");
}

#[tokio::test]
async fn redirects_inside_the_roots_are_followed_and_those_outside_are_not_requested() {
    let other = HttpServer::start(|_| Reply::file("elsewhere"));
    let target = other.url("/media/a");
    let server = HttpServer::start(move |request| match request.path.as_str() {
        "/media/here" => Reply::redirect("/media/a"),
        "/media/a" => Reply::file("here"),
        "/media/there" => Reply::redirect(target.clone()),
        "/media/out" => Reply::redirect("/private"),
        _ => Reply::file("private"),
    });
    let fixture = few_attempts().build();
    let root = server.url("/media/");
    assert_eq!(read(&**fixture.fetch(&server.url("/media/here"), &root).await.unwrap()), b"here");
    for path in ["/media/there", "/media/out"] {
        let failure = fixture.fetch(&server.url(path), &root).await.unwrap_err();
        assert_eq!(failure.reason, FailureReason::InputDenied, "{failure}");
        assert!(failure.message.contains("a redirect leads outside the scoring roots"), "{failure}");
    }
    assert_eq!((other.requests().len(), server.count("/private")), (0, 0));
    let both = roots(&[&root, &other.url("/media")]);
    let fetched =
        fixture.fetcher.fetch(&server.url("/media/there"), &both, &CancellationToken::new(), &|_| {}).await;
    assert_eq!(read(&**fetched.unwrap()), b"elsewhere");
}

#[rstest]
#[case::literal("http://127.0.0.1:9/a")]
#[case::another_spelling("http://0x7f000001:9/a")]
#[case::mapped("http://[::ffff:127.0.0.1]:9/a")]
#[case::by_name("http://localhost:9/a")]
#[case::private("http://10.0.0.1:9/a")]
#[case::metadata("http://169.254.169.254/latest/meta-data/")]
#[case::unspecified("http://0.0.0.0:9/a")]
#[tokio::test]
async fn a_private_address_is_refused_unless_a_root_names_the_host(#[case] uri: &str) {
    let failure = few_attempts().build().fetch(uri, "http://").await.unwrap_err();
    assert_eq!(failure.reason, FailureReason::InputDenied, "{failure}");
    assert!(failure.message.contains("no scoring root names"), "{failure}");
}

#[tokio::test]
async fn a_named_host_may_have_a_private_address() {
    let server = HttpServer::start(|_| Reply::file("ok"));
    let fixture = few_attempts().build();
    let uri = server.url("/a").replace("127.0.0.1", "localhost");
    let root = server.url("/").replace("127.0.0.1", "localhost");
    assert_eq!(read(&**fixture.fetch(&uri, &root).await.unwrap()), b"ok");
}

#[tokio::test]
async fn an_unknown_host_is_unreachable() {
    let failure =
        few_attempts().build().fetch("http://nobody.invalid/a", "http://nobody.invalid").await.unwrap_err();
    assert_eq!(failure.reason, FailureReason::SourceUnreachable, "{failure}");
}

#[tokio::test]
async fn a_download_has_a_total_timeout() {
    // The server sends bytes all the time and never ends.
    let options = few_attempts();
    let limits = FetchLimits { total: SHORT, max_bytes: u64::MAX / 4, ..options.limits };
    let fixture = FixtureOptions { limits, scratch_bytes: 1 << 40, ..options }.build();
    let server = HttpServer::start(|_| Reply::body(ReplyBody::Endless));
    let failure = fixture.fetch(&server.url("/a"), &server.url("/")).await.unwrap_err();
    assert_eq!(failure.reason, FailureReason::SourceUnreachable, "{failure}");
    fixture.assert_clean();
}

#[tokio::test]
async fn a_cancelled_download_stops_at_once_and_leaves_nothing() {
    let server = HttpServer::start(|_| Reply::body(ReplyBody::Stalled(clip(100_000))).etag("\"1\""));
    let fixture = FixtureOptions::default().build();
    let cancel = CancellationToken::new();
    let (uri, root) = (server.url("/a"), roots(&[&server.url("/")]));
    let fetch = fixture.fetcher.fetch(&uri, &root, &cancel, &|_| {});
    let stop = async {
        wait::until(TIMEOUT, "the download", async || fixture.files().len() == 1).await.unwrap();
        cancel.cancel();
    };
    let (failure, ()) = tokio::join!(fetch, stop);
    assert_eq!(failure.unwrap_err().reason, FailureReason::Internal);
    fixture.assert_clean();
    wait::until(TIMEOUT, "the end of the connection", async || server.open_connections() == 0).await.unwrap();
}

#[tokio::test]
async fn a_file_beyond_the_scratch_limit_is_refused() {
    let server = HttpServer::start(|request| match request.path.as_str() {
        "/declared" => Reply::file(clip(2 << 20)),
        _ => Reply::body(ReplyBody::Chunked(clip(2 << 20))),
    });
    let fixture = FixtureOptions { scratch_bytes: 1 << 20, ..few_attempts() }.build();
    for path in ["/declared", "/chunked"] {
        let failure = fixture.fetch(&server.url(path), &server.url("/")).await.unwrap_err();
        assert_eq!(failure.reason, FailureReason::InputTooLarge, "{failure}");
        assert!(failure.message.contains("2097152 bytes") || path == "/chunked", "{failure}");
        assert!(failure.message.contains("the limit is 1Mi"), "{failure}");
        fixture.assert_clean();
    }
}

#[tokio::test]
async fn a_remote_that_hangs_times_out_and_its_rclone_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let (program, pid) = (directory.path().join("rclone"), directory.path().join("pid"));
    // Lists the file and then hangs, with a child of its own, as rclone has for ssh.
    let text = format!(
        "#!/bin/sh\ncase $1 in lsjson) echo '{{\"Size\":10,\"ModTime\":\"t\"}}';; *) sleep 1000 & echo $$ $! > {}; wait;; esac\n",
        pid.display()
    );
    script::write(&program, &text).unwrap();
    let options = short_timeouts();
    let limits = FetchLimits { headers: TIMEOUT, attempts: 1, ..options.limits };
    let fixture = FixtureOptions { limits, rclone: Some((program, String::new())), ..options }.build();
    let failure = fixture.fetch("box:a", "box:").await.unwrap_err();
    assert_eq!(failure.reason, FailureReason::SourceUnreachable, "{failure}");
    let pids = std::fs::read_to_string(&pid).unwrap();
    for pid in pids.split_whitespace() {
        let gone = async || {
            let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            state.is_empty() || state.contains(") Z ")
        };
        wait::until(TIMEOUT, "the exit of rclone", gone).await.unwrap();
    }
    fixture.assert_clean();
}

#[tokio::test]
async fn a_remote_that_sends_less_than_it_listed_fails() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("rclone");
    let text =
        "#!/bin/sh\ncase $1 in lsjson) echo '{\"Size\":10,\"ModTime\":\"t\"}';; *) printf short;; esac\n";
    script::write(&program, text).unwrap();
    let fixture = FixtureOptions { rclone: Some((program, String::new())), ..few_attempts() }.build();
    let failure = fixture.fetch("box:a", "box:").await.unwrap_err();
    // Two outputs of rclone together would have the right length.
    assert_eq!(failure.reason, FailureReason::SourceUnreachable, "{failure}");
    fixture.assert_clean();
}
