//! Several controllers that share a Postgres database.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;
use tonic::Code;
use vmafx_proto::controller::v1 as wire;

use crate::codes::assert_refused;
use crate::dispatch::{Pulls, add_waiting, submit_one_each, waiting};
use crate::node::{TestNode, clips, get, submit};
use crate::server::{ServerOptions, StoreLocation, TestServer};
use crate::streams::{next, next_job, watch};

const TIMEOUT: Duration = Duration::from_secs(20);

async fn two() -> (TestServer, TestServer) {
    let (options, location) = (ServerOptions::default(), StoreLocation::database().await);
    let first = TestServer::on(options.clone(), location.clone()).await;
    (first, TestServer::on(options, location).await)
}

#[tokio::test]
async fn a_job_of_another_tenant_is_not_found() {
    let server = TestServer::on(ServerOptions::default(), StoreLocation::database().await).await;
    let id = submit(&mut server.client().await, clips()).await;
    let mut other = server.client_of("other").await;
    assert_refused(&mut other, &id, Code::NotFound, &format!("job \"{id}\" not found")).await;
    server.stopped().await;
}

#[tokio::test]
async fn a_job_submitted_here_wakes_a_pull_that_waits_there() {
    let (here, there) = two().await;
    let node = TestNode::register(there.client().await).await;
    let mut pulls = waiting(&there, &node, 1).await;
    let mut client = here.client().await;
    let id = submit(&mut client, clips()).await;
    let work = pulls.join_next().await.unwrap().unwrap().unwrap().unwrap();
    assert_eq!(work.id, id);
    // A session is valid at every controller, so the report may go to the other one.
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
    let mut stream = watch(&mut client, wire::StreamJobsRequest::default()).await;
    let bookmark = next(&mut stream).await;
    assert_eq!(bookmark.id, "");
    let id = submit(&mut there.client().await, clips()).await;
    assert_eq!(next_job(&mut stream).await.id, id);
    // A cursor is valid at every controller.
    let mut client = there.client().await;
    let request = wire::StreamJobsRequest { cursor: bookmark.cursor, ..Default::default() };
    let mut resumed = watch(&mut client, request).await;
    assert_eq!(next(&mut resumed).await.id, id);
    here.stop();
    there.stop();
}

#[tokio::test]
async fn a_score_that_is_reported_there_is_returned_here() {
    let (here, there) = two().await;
    let mut caller = here.scorer().await;
    let mut calls = JoinSet::new();
    calls.spawn(async move {
        let request = vmafx_proto::scoring::v1::ScoreRequest {
            reference: "/clips/r".into(),
            distorted: "/clips/d".into(),
            ..Default::default()
        };
        caller.score(request).await
    });
    let node = TestNode::register(there.client().await).await;
    let work = node.pull_for(TIMEOUT).await.unwrap().unwrap();
    node.complete(&work, 88.0).await;
    let scored = timeout(TIMEOUT, calls.join_next()).await.unwrap().unwrap().unwrap().unwrap();
    assert_eq!(scored.into_inner().score, 88.0);
    here.stopped().await;
    there.stopped().await;
}

#[tokio::test]
async fn many_pulls_at_two_controllers_get_each_job_once() {
    let (here, there) = two().await;
    let mut pulls = Pulls::new();
    for (number, server) in [&here, &there].into_iter().enumerate() {
        let node = TestNode::named(server.client().await, &format!("node-{number}"), &["cpu"]).await;
        add_waiting(&mut pulls, server, &node, 30).await;
    }
    submit_one_each(&here, pulls).await;
    here.stopped().await;
    there.stopped().await;
}
