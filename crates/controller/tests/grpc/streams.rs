//! Streams of jobs and samples.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::join_all;
use rstest::rstest;
use tokio::time::timeout;
use tonic::{Code, Streaming};
use vmafx_proto::controller::v1 as wire;
use vmafx_testkit::wait;

use crate::node::{TestNode, clips, submit};
use crate::server::{Client, ServerOptions, TestServer};

const TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) async fn watch(client: &mut Client, request: wire::StreamJobsRequest) -> Streaming<wire::Job> {
    let request = wire::StreamJobsRequest { watch: true, ..request };
    client.stream_jobs(request).await.unwrap().into_inner()
}

pub(crate) async fn next(stream: &mut Streaming<wire::Job>) -> wire::Job {
    timeout(TIMEOUT, stream.message()).await.expect("an item in time").unwrap().expect("an item")
}

/// The next item that is not a bookmark.
pub(crate) async fn next_job(stream: &mut Streaming<wire::Job>) -> wire::Job {
    loop {
        let item = next(stream).await;
        if !item.id.is_empty() {
            return item;
        }
    }
}

async fn all(client: &mut Client, request: wire::StreamJobsRequest) -> Vec<String> {
    let mut stream = client.stream_jobs(request).await.unwrap().into_inner();
    let mut ids = Vec::new();
    while let Some(job) = stream.message().await.unwrap() {
        assert_eq!(job.cursor, "", "a snapshot cannot be resumed");
        ids.push(job.id);
    }
    ids
}

#[tokio::test]
async fn a_snapshot_is_every_job_in_order_and_then_the_end() {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    let mut ids = Vec::new();
    for _ in 0..600 {
        ids.push(submit(&mut client, clips()).await);
        server.clock.advance(Duration::from_millis(1));
    }
    assert_eq!(all(&mut client, wire::StreamJobsRequest::default()).await, ids);
}

#[tokio::test]
async fn a_snapshot_can_be_filtered() {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    let origin = |name: &str| wire::ResourceRef { name: name.into(), ..Default::default() };
    let mut ids = Vec::new();
    for name in ["a", "b"] {
        let request = wire::SubmitJobRequest { origin: Some(origin(name)), ..clips() };
        ids.push(submit(&mut client, request).await);
        server.clock.advance(Duration::from_millis(1));
    }
    let cancel = wire::CancelJobRequest { job_id: ids[0].clone(), reason: String::new(), cause: 0 };
    client.cancel_job(cancel).await.unwrap();
    let pending = wire::StreamJobsRequest { status_filter: vec![0], ..Default::default() };
    assert_eq!(all(&mut client, pending).await, ids[1..]);
    let of_a = wire::StreamJobsRequest { origin_filter: Some(origin("a")), ..Default::default() };
    assert_eq!(all(&mut client, of_a).await, ids[..1]);
    let named = wire::StreamJobsRequest { job_ids: vec![ids[1].clone()], ..Default::default() };
    assert_eq!(all(&mut client, named).await, ids[1..]);
}

#[tokio::test]
async fn a_watch_starts_with_a_snapshot_and_continues_with_changes() {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    let before = submit(&mut client, clips()).await;
    let mut stream = watch(&mut client, wire::StreamJobsRequest::default()).await;
    let first = next(&mut stream).await;
    assert_eq!((first.id.as_str(), first.cursor.as_str()), (before.as_str(), ""));
    let bookmark = next(&mut stream).await;
    let expected = wire::Job { cursor: bookmark.cursor.clone(), ..Default::default() };
    assert_eq!(bookmark, expected, "a bookmark has nothing but a cursor");
    assert_ne!(bookmark.cursor, "");

    let node = TestNode::register(server.client().await).await;
    let work = node.pull().await.unwrap();
    let running = next_job(&mut stream).await;
    assert_eq!((running.id.as_str(), running.status()), (before.as_str(), wire::JobStatus::Running));
    node.complete(&work, 50.0).await;
    let done = next_job(&mut stream).await;
    assert_eq!((done.status(), done.final_score), (wire::JobStatus::Completed, 50.0));
    assert!(done.revision > running.revision);
    assert_ne!(done.cursor, running.cursor);
}

#[tokio::test]
async fn a_watch_is_resumed_across_a_restart_without_a_gap() {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    let mut stream = watch(&mut client, wire::StreamJobsRequest::default()).await;
    let bookmark = next(&mut stream).await.cursor;
    let received = submit(&mut client, clips()).await;
    let item = next_job(&mut stream).await;
    assert_eq!(item.id, received);
    drop(stream);
    let missed = submit(&mut client, clips()).await;
    drop(client);
    let server = server.restarted().await;
    let mut client = server.client().await;
    let from = |cursor: &str| wire::StreamJobsRequest { cursor: cursor.to_owned(), ..Default::default() };
    let mut resumed = watch(&mut client, from(&item.cursor)).await;
    assert_eq!(next_job(&mut resumed).await.id, missed);
    let later = submit(&mut client, clips()).await;
    assert_eq!(next_job(&mut resumed).await.id, later);
    // The older cursor precedes both.
    let mut older = watch(&mut client, from(&bookmark)).await;
    assert_eq!(next_job(&mut older).await.id, received);
    assert_eq!(next_job(&mut older).await.id, missed);
}

#[tokio::test]
async fn shutdown_ends_a_watch_with_a_code_that_asks_for_a_retry() {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    let mut stream = watch(&mut client, wire::StreamJobsRequest::default()).await;
    next(&mut stream).await;
    server.stop();
    let status = timeout(TIMEOUT, stream.message()).await.unwrap().unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::Unavailable, "the controller is shutting down"));
    server.stopped().await;
}

#[tokio::test]
async fn a_watch_without_matching_changes_gets_bookmarks() {
    let mut options = ServerOptions::default();
    options.patience.bookmark_interval = Duration::from_millis(20);
    let server = TestServer::with(options).await;
    let mut client = server.client().await;
    // No change matches the filter, but the cursor advances.
    let filtered = wire::StreamJobsRequest { status_filter: vec![3], ..Default::default() };
    let mut stream = watch(&mut client, filtered).await;
    let first = next(&mut stream).await.cursor;
    submit(&mut client, clips()).await;
    let advanced = async { while next(&mut stream).await.cursor == first {} };
    timeout(TIMEOUT, advanced).await.expect("a bookmark with another cursor");
}

#[tokio::test]
async fn progress_is_sent_on_request() {
    let (_server, mut client, node, work) = TestServer::with_running_job().await;
    let id = work.id.clone();
    let request = wire::StreamJobsRequest { include_progress: true, ..Default::default() };
    let mut stream = watch(&mut client, request).await;
    assert_eq!(next(&mut stream).await.progress, None);
    next(&mut stream).await;
    let progress = wire::Progress { frames_done: 7, frames_total: 9 };
    let beat = wire::HeartbeatRequest {
        node_id: node.node_id.clone(),
        session_token: node.session_token.clone(),
        jobs_running: 1,
        running_job_ids: vec![id.clone()],
        progress: vec![wire::JobProgress {
            job_id: id.clone(),
            attempt: work.attempt,
            progress: Some(progress),
        }],
        ..Default::default()
    };
    client.heartbeat(beat).await.unwrap();
    let change = next_job(&mut stream).await;
    assert_eq!((change.id, change.progress), (id, Some(progress)));
}

#[tokio::test]
async fn a_client_that_does_not_read_holds_only_a_few_pages() {
    let server = TestServer::start().await;
    let client = server.client().await;
    for _ in 0..30 {
        let mut large = clips();
        large.scoring.as_mut().unwrap().reference = format!("/clips/{}", "x".repeat(2000));
        let submits = (0..100).map(|_| {
            let (mut client, large) = (client.clone(), large.clone());
            async move { submit(&mut client, large).await }
        });
        join_all(submits).await;
    }
    // Six megabytes, of which the window of the connection takes a few hundred kilobytes.
    let before = server.store.pages();
    let mut reader = server.client().await;
    let mut slow = reader.stream_jobs(wire::StreamJobsRequest::default()).await.unwrap().into_inner();
    // Other calls are served meanwhile, and no further page is read for the slow client.
    let mut quick = server.client().await;
    for _ in 0..50 {
        submit(&mut quick, clips()).await;
    }
    let held = server.store.pages() - before;
    assert!(held <= 6, "{held} of 12 pages were read for a client that does not read");
    let mut read = 0;
    while let Some(_job) = slow.message().await.unwrap() {
        read += 1;
    }
    assert!(read >= 3000, "{read}");
}

#[tokio::test]
async fn the_number_of_streams_is_limited() {
    let mut options = ServerOptions::default();
    options.patience.max_streams = 1;
    let server = TestServer::with(options).await;
    let mut client = server.client().await;
    let mut first = watch(&mut client, wire::StreamJobsRequest::default()).await;
    next(&mut first).await;
    let second = client.stream_jobs(wire::StreamJobsRequest::default()).await.unwrap_err();
    assert_eq!(second.code(), Code::ResourceExhausted);
    drop(first);
    let freed = || {
        let mut client = client.clone();
        async move { client.stream_jobs(wire::StreamJobsRequest::default()).await }
    };
    wait::until(TIMEOUT, "a free stream", freed).await.unwrap();
}

fn selector(pool: &str) -> BTreeMap<String, String> {
    BTreeMap::from([("pool".to_owned(), pool.to_owned())])
}

#[rstest]
#[case::all(BTreeMap::new(), 2)]
#[case::one(selector("a"), 1)]
#[case::none(selector("c"), 0)]
#[tokio::test]
async fn samples_are_selected_by_the_node_that_scored_them(
    #[case] node_selector: BTreeMap<String, String>,
    #[case] expected: usize,
) {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    for pool in ["a", "b"] {
        let truth = wire::GroundTruth { value: 60.0, scale: 0 };
        submit(&mut client, wire::SubmitJobRequest { ground_truth: Some(truth), ..clips() }).await;
        let node = TestNode::named(server.client().await, pool, &["cpu"]).await;
        node.complete(&node.pull().await.unwrap(), 70.0).await;
    }
    let request = wire::StreamSamplesRequest { node_selector, ..Default::default() };
    let mut samples = client.stream_samples(request).await.unwrap().into_inner();
    let mut count = 0;
    while let Some(item) = samples.message().await.unwrap() {
        count += usize::from(item.sample.is_some());
    }
    assert_eq!(count, expected);
}

#[tokio::test]
async fn samples_are_followed_and_resumed() {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    let node = TestNode::register(server.client().await).await;
    let follow = |cursor: &str| wire::StreamSamplesRequest {
        follow: true,
        cursor: cursor.to_owned(),
        ..Default::default()
    };
    let mut samples = client.stream_samples(follow("")).await.unwrap().into_inner();
    let caught_up = timeout(TIMEOUT, samples.message()).await.unwrap().unwrap().unwrap();
    assert_eq!(caught_up.sample, None);
    let mut made = Vec::new();
    for value in [10.0, 20.0] {
        let truth = wire::GroundTruth { value, scale: 0 };
        let request = wire::SubmitJobRequest { ground_truth: Some(truth), ..clips() };
        made.push(submit(&mut client, request).await);
        node.complete(&node.pull().await.unwrap(), 70.0).await;
    }
    let next_sample = async |stream: &mut Streaming<wire::StreamSamplesResponse>| loop {
        let item = timeout(TIMEOUT, stream.message()).await.unwrap().unwrap().unwrap();
        if let Some(sample) = item.sample {
            return (item.cursor, sample);
        }
    };
    let (cursor, first) = next_sample(&mut samples).await;
    let (_, second) = next_sample(&mut samples).await;
    assert_eq!([first.job_id, second.job_id.clone()], *made);
    let mut resumed = client.stream_samples(follow(&cursor)).await.unwrap().into_inner();
    assert_eq!(next_sample(&mut resumed).await.1, second);
}
