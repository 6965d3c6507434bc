use rstest::rstest;
use vmafx_api::training::TrainingPhase;
use vmafx_testkit::http_server::{HttpServer, Reply, ReplyBody};

use super::*;

const RUNNING: &[u8] = br#"{"phase": "running", "current_samples": 5}"#;

fn key() -> ObjectKey {
    ObjectKey::new("video", "m")
}

async fn poller(url: &str, every: Duration) -> Poller {
    vmafx_kit::tls::install_crypto_provider();
    let client = crate::start::http_client(None, false).await.unwrap();
    Poller::new(client, format!("{url}/{{namespace}}/{{name}}").parse().unwrap(), every)
}

async fn asked(reply: Reply) -> String {
    let server = HttpServer::start(move |_| reply.clone());
    let (answer, _) = poller(&server.url(""), Duration::from_mins(1)).await.ask(&key(), "u").await;
    let said = answer.as_ref().clone().map(|report| format!("{:?}", report.phase));
    said.unwrap_or_else(|why| why.replace(&server.url(""), ""))
}

#[tokio::test]
async fn a_trainer_is_asked_at_its_address_and_over_one_connection() {
    let server = HttpServer::start(|_| Reply::file(RUNNING));
    let poller = poller(&server.url(""), Duration::ZERO).await;
    for _ in 0..5 {
        let (answer, _) = poller.ask(&key(), "u").await;
        assert_eq!(answer.as_ref().as_ref().unwrap().samples, Some(5));
    }
    assert_eq!((server.count("/video/m/status"), server.open_connections()), (5, 1));
}

#[rstest]
#[case::a_report(Reply::file(RUNNING), "Running")]
#[case::in_chunks(Reply::body(ReplyBody::Chunked(RUNNING.to_vec())), "Running")]
#[case::as_long_as_it_may_be(Reply::file(padded(LONGEST)), "Running")]
#[case::longer(
    Reply::file(padded(LONGEST + 1)),
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
    "the trainer at /video/m/status ended the connection"
)]
#[case::gone(Reply::body(ReplyBody::HangUp), "the trainer at /video/m/status ended the connection")]
#[case::garbage(
    Reply::file(b"<html>"),
    "the trainer at /video/m/status answered what makes no sense: expected value at line 1 column 1"
)]
#[tokio::test]
async fn whatever_comes_back_is_a_report_or_words(#[case] reply: Reply, #[case] said: &str) {
    assert_eq!(asked(reply).await, said);
}

fn padded(length: usize) -> Vec<u8> {
    let mut body = RUNNING.to_vec();
    body.resize(length, b' ');
    body
}

#[tokio::test]
async fn nobody_there_cannot_be_reached() {
    let server = HttpServer::start(|_| Reply::status(500));
    let url = server.url("");
    drop(server);
    let (answer, _) = poller(&url, Duration::from_mins(1)).await.ask(&key(), "u").await;
    let why = answer.as_ref().clone().unwrap_err();
    assert_eq!(why, format!("the trainer at {url}/video/m/status cannot be reached"));
}

#[rstest]
#[case::not_even_headers(ReplyBody::Silent)]
#[case::half_a_body(ReplyBody::Stalled(RUNNING.to_vec()))]
#[tokio::test]
async fn an_answer_that_does_not_come_is_not_waited_for(#[case] body: ReplyBody) {
    let said = asked(Reply::body(body)).await;
    assert_eq!(said, "the trainer at /video/m/status did not answer within 5s");
}

#[tokio::test]
async fn a_trainer_is_asked_when_it_is_time_and_a_new_one_at_once() {
    let server = HttpServer::start(|_| Reply::file(RUNNING));
    let poller = poller(&server.url(""), Duration::from_mins(1)).await;
    let path = "/video/m/status";
    let (first, good_for) = poller.ask(&key(), "u").await;
    assert_eq!(first.as_ref().as_ref().unwrap().phase, TrainingPhase::Running);
    let (again, left) = poller.ask(&key(), "u").await;
    assert_eq!((server.count(path), &again), (1, &first), "what it said is still good");
    assert!(left <= good_for && good_for == Duration::from_mins(1), "{left:?}");
    poller.ask(&key(), "another").await;
    assert_eq!(server.count(path), 2);
    poller.forget(&key());
    poller.ask(&key(), "another").await;
    assert_eq!(server.count(path), 3);
}
