//! Callers that are authorized, and take as much as they can.

use std::fs;
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;
use tonic::{Code, Status};
use vmafx_job::TenantLimit;
use vmafx_proto::controller::v1 as wire;
use vmafx_proto::refusal::reached_limit;

use crate::attack::peer::resident_bytes;
use crate::controller::{ALL, Client, Controller, NODE, READER, STRANGER, WRITER};
use crate::http::Http;
use crate::node::{TestNode, clips, submit};

const MAX_RESIDENT_BYTES: u64 = 300 << 20;
const SUBMISSIONS: usize = 40_000;
const WRITERS: usize = 16;

#[track_caller]
fn assert_limit(refused: &Status, limit: TenantLimit) {
    assert_eq!((refused.code(), reached_limit(refused)), (Code::ResourceExhausted, Some(limit)), "{refused}");
    assert!(refused.message().contains(limit.name()), "{refused}");
}

/// The three URIs of [`long_clips`], and what every job counts.
const LONG_BYTES: u64 = 25_500;

/// URIs of as many bytes as they may have.
fn long_clips() -> wire::SubmitJobRequest {
    let uri = |name: &str| format!("/clips/{}{name}", "\u{1d11e}".repeat(2040));
    let scoring = wire::ScoringParams {
        reference: uri("r.y4m"),
        distorted: uri("d.y4m"),
        report_uri: uri("r.json"),
        ..Default::default()
    };
    wire::SubmitJobRequest { scoring: Some(scoring), ..clips() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_submissions_of_one_writer_leave_the_store_to_others() {
    let stored_bytes: u64 = 16 << 20;
    let controller = Controller::start(&[("VMAFX_LIMITS_STORED_BYTES", &stored_bytes.to_string())]).await;
    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        let mut client = controller.client(WRITER);
        writers.spawn(async move {
            let mut accepted = 0;
            for _ in 0..SUBMISSIONS / WRITERS {
                match client.submit_job(long_clips()).await {
                    Ok(_) => accepted += 1,
                    Err(refused) => assert_limit(&refused, TenantLimit::StoredBytes),
                }
            }
            accepted
        });
    }
    let accepted: u64 = writers.join_all().await.into_iter().sum();
    println!("{accepted} of {SUBMISSIONS} submissions were accepted");
    assert!(accepted > 0 && accepted * LONG_BYTES <= stored_bytes, "{accepted}");
    let resident = resident_bytes(controller.pid());
    assert!(resident < MAX_RESIDENT_BYTES, "{} MB", resident >> 20);
    let file = fs::metadata(controller.database()).unwrap().len();
    assert!(file < 4 * stored_bytes, "the file has {} MB", file >> 20);

    Http::new(controller.http(), None).get("/readyz").await.expect(200);
    let node = TestNode::register(controller.client(STRANGER)).await;
    let id = submit(&mut controller.client(STRANGER), clips()).await;
    let job = node.pull().await.unwrap();
    assert_eq!(job.id, id);
    node.complete(&job, 90.0).await;
}

async fn watch(client: &Client) -> Result<tonic::Streaming<wire::Job>, Status> {
    let request = wire::StreamJobsRequest { watch: true, changes_only: true, ..Default::default() };
    client.clone().stream_jobs(request).await.map(tonic::Response::into_inner)
}

#[tokio::test]
async fn one_reader_that_opens_every_stream_leaves_some_to_others() {
    let controller = Controller::start(&[]).await;
    // A connection has fewer calls than the reader wants.
    let (mut open, mut refused) = (vec![], vec![]);
    for _ in 0..6 {
        let client = controller.client(READER);
        for _ in 0..200 {
            match watch(&client).await {
                Ok(stream) => open.push(stream),
                Err(status) => refused.push(status),
            }
        }
    }
    assert_eq!((open.len(), refused.len()), (128, 1072));
    for status in &refused {
        assert_limit(status, TenantLimit::StreamsPerIdentity);
    }
    for token in [WRITER, STRANGER] {
        let mut stream = watch(&controller.client(token)).await.unwrap();
        assert!(stream.message().await.unwrap().is_some(), "a bookmark");
    }
    let events = controller.http_with(READER).get("/v1/events").await;
    assert_eq!((events.status, &events.body["limit"]), (429, &json!("streamsPerIdentity")));
}

#[tokio::test]
async fn a_node_that_claims_more_than_its_slots_gets_no_more() {
    let controller = Controller::start(&[]).await;
    let mut client = controller.client(ALL);
    for _ in 0..10 {
        submit(&mut client, clips()).await;
    }
    let capability =
        wire::NodeCapability { backends: vec!["cpu".into()], concurrency: 2, ..Default::default() };
    let request = wire::RegisterNodeRequest {
        name: "greedy".into(),
        capability: Some(capability),
        ..Default::default()
    };
    let session = client.register_node(request).await.unwrap().into_inner();
    let node = TestNode {
        client: controller.client(ALL),
        node_id: session.node_id,
        session_token: session.session_token,
        backends: vec!["cpu".into()],
        serves: vec![],
    };
    // Every pull says that the node has 64 slots.
    let mut pulls = JoinSet::new();
    for _ in 0..10 {
        let node = node.clone();
        pulls.spawn(async move { node.pull().await });
    }
    let jobs: Vec<wire::Job> = pulls.join_all().await.into_iter().flatten().collect();
    assert_eq!(jobs.len(), 2);

    // A pull that waits gets the slot that becomes free.
    let waiting = node.clone();
    let mut pull = JoinSet::new();
    pull.spawn(async move { waiting.pull_for(Duration::from_secs(20)).await.unwrap() });
    node.complete(&jobs[0], 90.0).await;
    assert!(pull.join_next().await.unwrap().unwrap().is_some());
    assert!(node.pull().await.is_none());
    let nodes = controller.http_with(READER).get("/v1/nodes").await.expect(200);
    assert_eq!(nodes["nodes"][0]["jobs"], json!(2), "{nodes}");
}

#[tokio::test]
async fn a_tenant_at_its_limit_of_running_jobs_waits_and_explains() {
    let controller = Controller::start(&[("VMAFX_LIMITS_RUNNING_JOBS", "1")]).await;
    let mut client = controller.client(WRITER);
    let node = TestNode::register(controller.client(NODE)).await;
    let first = submit(&mut client, clips()).await;
    let second = submit(&mut client, clips()).await;
    let running = node.pull().await.unwrap();
    assert_eq!((running.id.as_str(), node.pull().await), (first.as_str(), None));
    let why = controller.http_with(READER).get(&format!("/v1/jobs/{second}/explain")).await.expect(200);
    assert_eq!(why["reason"], json!("TenantLimit"));
    assert!(why["message"].as_str().unwrap().contains("runningJobs is 1"), "{why}");

    let mut pull = JoinSet::new();
    let waiting = node.clone();
    pull.spawn(async move { waiting.pull_for(Duration::from_secs(20)).await.unwrap() });
    node.complete(&running, 90.0).await;
    assert_eq!(pull.join_next().await.unwrap().unwrap().unwrap().id, second);
}

#[tokio::test]
async fn registrations_without_end_end_at_a_limit() {
    let controller = Controller::start(&[("VMAFX_LIMITS_NODES", "50")]).await;
    let mut client = controller.client(NODE);
    let mut register = async |name: String| {
        client.register_node(wire::RegisterNodeRequest { name, ..Default::default() }).await.map(drop)
    };
    for number in 0..50 {
        register(format!("node-{number}")).await.unwrap();
    }
    for number in 50..60 {
        assert_limit(&register(format!("node-{number}")).await.unwrap_err(), TenantLimit::Nodes);
    }
    // A node that starts again takes its own place.
    for _ in 0..10 {
        register("node-7".into()).await.unwrap();
    }
    TestNode::register(controller.client(STRANGER)).await;
    let nodes = controller.http_with(READER).get("/v1/nodes").await.expect(200);
    assert_eq!(nodes["nodes"].as_array().unwrap().len(), 50);
    let metrics = Http::new(controller.http(), None).get("/metrics").await.expect(200);
    let counted = "vmafx_controller_tenant_limits_reached_total{limit=\"nodes\"} 10";
    assert!(metrics.as_str().unwrap().contains(counted), "{metrics}");
}

#[tokio::test]
async fn a_full_tenant_gets_429_with_the_name_of_the_limit_and_its_known_keys() {
    let controller = Controller::start(&[("VMAFX_LIMITS_PENDING_JOBS", "1")]).await;
    let http = controller.http_with(WRITER);
    let job = |key: &str| {
        json!({
            "scoring": { "reference": "/clips/r.y4m", "distorted": "/clips/d.y4m" },
            "idempotencyKey": key,
        })
    };
    let post = async |key: &str| {
        http.send(http.request("POST", "/v1/jobs").body(job(key).to_string())).await.unwrap()
    };
    let first = post("a").await.expect(201);
    let refused = post("b").await;
    assert_eq!((refused.status, &refused.body["limit"]), (429, &json!("pendingJobs")));
    assert!(refused.body["error"].as_str().unwrap().contains("VMAFX_LIMITS_PENDING_JOBS"), "{refused:?}");
    assert_eq!(post("a").await.expect(200)["id"], first["id"]);
}

#[tokio::test]
async fn a_priority_beyond_the_range_of_writers_is_refused_and_not_clamped() {
    let controller = Controller::start(&[("VMAFX_LIMITS_WRITER_PRIORITY", "10")]).await;
    let mut client = controller.client(WRITER);
    let refused = client.submit_job(wire::SubmitJobRequest { priority: 11, ..clips() }).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert!(refused.message().starts_with("priority: must be between -10 and 10"), "{refused}");
    let id = submit(&mut client, wire::SubmitJobRequest { priority: -10, ..clips() }).await;
    let http = controller.http_with(WRITER);
    let refused = http.patch(&format!("/v1/jobs/{id}"), &json!({ "priority": -11 })).await.refused(400);
    assert!(refused.contains("priority: must be between"), "{refused}");
}
