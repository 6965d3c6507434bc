use rstest::rstest;
use vmafx_api::training::TrainingPhase;
use vmafx_testkit::http_server::{HttpServer, Reply, ReplyBody};

use super::*;

const RUNNING: &[u8] = br#"{"phase": "running", "current_samples": 5}"#;

fn key() -> ObjectKey {
    ObjectKey::new("video", "m")
}

fn poller(url: &str, interval: Duration) -> Poller {
    vmafx_kit::tls::install_crypto_provider();
    let client = crate::http_client::system_client(false).unwrap();
    Poller::new(client, format!("{url}/{{namespace}}/{{name}}").parse().unwrap(), interval)
}

async fn polled(reply: Reply) -> String {
    let server = HttpServer::start(move |_| reply.clone());
    let (result, _) = poller(&server.url(""), Duration::from_mins(1)).poll(&key(), "u").await;
    let phase = result.as_ref().clone().map(|report| format!("{:?}", report.phase));
    phase.unwrap_or_else(|error| error.replace(&server.url(""), ""))
}

#[tokio::test]
async fn a_trainer_is_polled_at_its_url_over_one_connection() {
    let server = HttpServer::start(|_| Reply::file(RUNNING));
    let poller = poller(&server.url(""), Duration::ZERO);
    for _ in 0..5 {
        let (result, _) = poller.poll(&key(), "u").await;
        assert_eq!(result.as_ref().as_ref().unwrap().samples, Some(5));
    }
    assert_eq!((server.count("/video/m/status"), server.open_connections()), (5, 1));
}

#[rstest]
#[case::a_report(Reply::file(RUNNING), "Running")]
#[case::in_chunks(Reply::body(ReplyBody::Chunked(RUNNING.to_vec())), "Running")]
#[case::of_maximum_length(Reply::file(padded(MAX_BODY_BYTES)), "Running")]
#[case::longer(
    Reply::file(padded(MAX_BODY_BYTES + 1)),
    "the trainer at /video/m/status answered more than 4096 bytes"
)]
#[case::without_end(
    Reply::body(ReplyBody::Endless),
    "the trainer at /video/m/status answered more than 4096 bytes"
)]
#[case::another_code(Reply::file(RUNNING).with_status(204), "the trainer at /video/m/status answered 204")]
#[case::broken(Reply::status(503), "the trainer at /video/m/status answered 503")]
#[case::elsewhere(Reply::redirect("/other"), "the trainer at /video/m/status answered 302")]
#[case::cut(
    Reply::body(ReplyBody::Truncated { file: RUNNING.to_vec(), sent: 9 }),
    "the trainer at /video/m/status closed the connection"
)]
#[case::gone(Reply::body(ReplyBody::HangUp), "the trainer at /video/m/status closed the connection")]
#[case::garbage(
    Reply::file(b"<html>"),
    "the trainer at /video/m/status answered with an invalid report: expected value at line 1 column 1"
)]
#[tokio::test]
async fn every_answer_is_a_report_or_an_error(#[case] reply: Reply, #[case] expected: &str) {
    assert_eq!(polled(reply).await, expected);
}

fn padded(length: usize) -> Vec<u8> {
    let mut body = RUNNING.to_vec();
    body.resize(length, b' ');
    body
}

#[tokio::test]
async fn a_trainer_that_does_not_listen_cannot_be_reached() {
    let server = HttpServer::start(|_| Reply::status(500));
    let url = server.url("");
    drop(server);
    let (result, _) = poller(&url, Duration::from_mins(1)).poll(&key(), "u").await;
    let error = result.as_ref().clone().unwrap_err();
    assert_eq!(error, format!("the trainer at {url}/video/m/status cannot be reached"));
}

#[rstest]
#[case::not_even_headers(ReplyBody::Silent)]
#[case::half_a_body(ReplyBody::Stalled(RUNNING.to_vec()))]
#[tokio::test]
async fn a_missing_answer_times_out(#[case] body: ReplyBody) {
    let error = polled(Reply::body(body)).await;
    assert_eq!(error, "the trainer at /video/m/status did not answer within 5s");
}

#[tokio::test]
async fn a_trainer_is_polled_when_its_poll_is_due_and_a_new_one_at_once() {
    let server = HttpServer::start(|_| Reply::file(RUNNING));
    let poller = poller(&server.url(""), Duration::from_mins(1));
    let path = "/video/m/status";
    let (first, valid_for) = poller.poll(&key(), "u").await;
    assert_eq!(first.as_ref().as_ref().unwrap().phase, TrainingPhase::Running);
    let (again, left) = poller.poll(&key(), "u").await;
    assert_eq!((server.count(path), &again), (1, &first), "the last result is still valid");
    assert!(left <= valid_for && valid_for == Duration::from_mins(1), "{left:?}");
    poller.poll(&key(), "another").await;
    assert_eq!(server.count(path), 2);
    poller.forget(&key());
    poller.poll(&key(), "another").await;
    assert_eq!(server.count(path), 3);
}
