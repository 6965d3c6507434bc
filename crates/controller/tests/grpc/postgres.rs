//! What is different when several controllers share a database.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;
use tonic::Code;
use vmafx_proto::controller::v1 as wire;
use vmafx_testkit::wait;

use crate::node::{TestNode, clips, get, submit};
use crate::server::{Place, Setup, TestServer};

const LONG: Duration = Duration::from_secs(20);

async fn two() -> (TestServer, TestServer) {
    let (setup, place) = (Setup::default(), Place::database().await);
    let first = TestServer::on(setup.clone(), place.clone()).await;
    (first, TestServer::on(setup, place).await)
}

#[tokio::test]
async fn a_job_of_another_tenant_is_not_there_either() {
    let server = TestServer::on(Setup::default(), Place::database().await).await;
    let id = submit(&mut server.client().await, clips()).await;
    let mut other = server.client_of("other").await;
    let text = format!("job \"{id}\" not found");
    let read = other.get_job(wire::GetJobRequest { job_id: id.clone() }).await.unwrap_err();
    let cancel = wire::CancelJobRequest { job_id: id, reason: String::new(), cause: 0 };
    let cancelled = other.cancel_job(cancel).await.unwrap_err();
    for status in [read, cancelled] {
        assert_eq!((status.code(), status.message()), (Code::NotFound, text.as_str()));
    }
    server.stopped().await;
}

#[tokio::test]
async fn a_job_submitted_here_wakes_a_pull_that_waits_there() {
    let (here, there) = two().await;
    let node = TestNode::register(there.client().await).await;
    let before = there.store.claims();
    let mut pulls = JoinSet::new();
    let waiting = node.clone();
    pulls.spawn(async move { waiting.pull_for(LONG).await });
    let looked = || async { there.store.claims() > before };
    wait::until(LONG, "the pull to have looked", looked).await.unwrap();
    let mut client = here.client().await;
    let id = submit(&mut client, clips()).await;
    let work = pulls.join_next().await.unwrap().unwrap().unwrap().unwrap();
    assert_eq!(work.id, id);
    // Sessions are everybody's: the report may go to the other one.
    let elsewhere = TestNode { client: here.client().await, ..node };
    elsewhere.complete(&work, 66.0).await;
    assert_eq!(get(&mut there.client().await, &id).await.final_score, 66.0);
    here.stopped().await;
    there.stopped().await;
}

#[tokio::test]
async fn a_watch_here_sees_what_happens_there() {
    let (here, there) = two().await;
    let mut client = here.client().await;
    let request = wire::StreamJobsRequest { watch: true, ..Default::default() };
    let mut stream = client.stream_jobs(request).await.unwrap().into_inner();
    let bookmark = stream.message().await.unwrap().unwrap();
    assert_eq!(bookmark.id, "");
    let id = submit(&mut there.client().await, clips()).await;
    let seen = timeout(LONG, async {
        loop {
            let item = stream.message().await.unwrap().unwrap();
            if !item.id.is_empty() {
                return item;
            }
        }
    });
    let seen = seen.await.unwrap();
    assert_eq!(seen.id, id);
    // A cursor of one is good at the other.
    let mut client = there.client().await;
    let request = wire::StreamJobsRequest { watch: true, cursor: bookmark.cursor, ..Default::default() };
    let mut resumed = client.stream_jobs(request).await.unwrap().into_inner();
    let first = timeout(LONG, resumed.message()).await.unwrap().unwrap().unwrap();
    assert_eq!(first.id, id);
    here.stop();
    there.stop();
}

#[tokio::test]
async fn a_score_that_ends_there_is_heard_here() {
    let (here, there) = two().await;
    let mut asking = here.scorer().await;
    let mut calls = JoinSet::new();
    calls.spawn(async move {
        let request = vmafx_proto::scoring::v1::ScoreRequest {
            reference: "/clips/r".into(),
            distorted: "/clips/d".into(),
            ..Default::default()
        };
        asking.score(request).await
    });
    let node = TestNode::register(there.client().await).await;
    let work = node.pull_for(LONG).await.unwrap().unwrap();
    node.complete(&work, 88.0).await;
    let scored = timeout(LONG, calls.join_next()).await.unwrap().unwrap().unwrap().unwrap();
    assert_eq!(scored.into_inner().score, 88.0);
    here.stopped().await;
    there.stopped().await;
}

#[tokio::test]
async fn many_pulls_at_two_controllers_get_each_job_once() {
    let (here, there) = two().await;
    let mut pulls = JoinSet::new();
    for (number, server) in [&here, &there].into_iter().enumerate() {
        let node = TestNode::named(server.client().await, &format!("node-{number}"), &["cpu"]).await;
        let before = server.store.claims();
        for _ in 0..30 {
            let node = node.clone();
            pulls.spawn(async move { node.pull_for(LONG).await });
        }
        let looked = || async { server.store.claims() >= before + 30 };
        wait::until(LONG, "all pulls to have looked", looked).await.unwrap();
    }
    let mut client = here.client().await;
    let mut ids = Vec::new();
    for _ in 0..60 {
        ids.push(submit(&mut client, clips()).await);
    }
    let mut got = Vec::new();
    while let Some(pull) = pulls.join_next().await {
        got.push(pull.unwrap().unwrap().unwrap().id);
    }
    got.sort();
    ids.sort();
    assert_eq!(got, ids);
    here.stopped().await;
    there.stopped().await;
}
