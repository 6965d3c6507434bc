//! Nodes that disappear.

use std::time::Duration;

use serde_json::{Value, json};
use vmafx_proto::controller::v1 as wire;
use vmafx_testkit::postgres::PostgresServer;
use vmafx_testkit::wait;

use crate::controller::{ALL, Controller, WRITER, config};
use crate::http::Http;
use crate::node::TestNode;

/// Short enough for leases to expire within a test.
const SETTINGS: [(&str, &str); 5] = [
    ("VMAFX_STORE_LEASE_TTL", "1s"),
    ("VMAFX_STORE_SESSION_TTL", "1s"),
    ("VMAFX_STORE_SWEEP_INTERVAL", "100ms"),
    ("VMAFX_STORE_BACKOFF_BASE", "500ms"),
    ("VMAFX_STORE_BACKOFF_MAX", "10s"),
];
const TIMEOUT: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_job_is_retried_with_back_off_and_fails_after_three_lost_nodes_in_a_file() {
    loses_three_nodes(&Controller::start(&SETTINGS).await).await;
}

#[tokio::test]
async fn a_job_is_retried_with_back_off_and_fails_after_three_lost_nodes_in_postgres() {
    let database = PostgresServer::shared().await.unwrap().database().await.unwrap();
    let config = config().envs(&SETTINGS).postgres(database.dsn());
    loses_three_nodes(&Controller::with(config).await).await;
}

async fn loses_three_nodes(controller: &Controller) {
    let http = controller.http_with(WRITER);
    let clips = json!({ "reference": "/clips/r.y4m", "distorted": "/clips/d.y4m" });
    let id = http.post("/v1/jobs", &json!({ "scoring": clips })).await.expect(201)["id"].clone();
    let path = format!("/v1/jobs/{}", id.as_str().unwrap());

    let mut pulled = Vec::new();
    for lost in 1..=3 {
        // The node pulls the job and sends nothing afterwards.
        let node = TestNode::named(controller.client(ALL), &format!("node-{lost}"), &["cpu"]).await;
        let job = wait::until(TIMEOUT, "the job", || node.pull_for(Duration::ZERO)).await.unwrap();
        let job = match job {
            Some(job) => job,
            None => node.pull_for(TIMEOUT).await.unwrap().expect("the job after its back-off"),
        };
        assert_eq!((job.attempt, job.lost_attempts), (lost, lost - 1));
        pulled.push((node, job));
        let job = lost_attempt(&http, &path, lost).await;
        if lost < 3 {
            let (eligible, changed) =
                (job["availableAt"].as_str().unwrap(), job["updatedAt"].as_str().unwrap());
            assert!(eligible > changed, "there is a back-off: {job}");
        } else {
            assert_eq!(job["status"], "failed");
            assert_eq!(job["error"], "lease of attempt 3 expired (3 of 3)");
            assert_eq!(job["failureReason"], "NodeLost");
        }
    }
    let attempts = http.get(&format!("{path}/attempts")).await.expect(200);
    let outcomes = attempts["attempts"].as_array().unwrap().iter().map(|one| one["outcome"].clone());
    assert_eq!(outcomes.collect::<Vec<_>>(), ["expired", "expired", "expired"]);

    // Late reports and heartbeats of the lost nodes are refused.
    for (node, job) in &pulled {
        let refused = node.report(node.report_request(job, 99.0)).await.unwrap_err();
        assert_eq!(refused.code(), tonic::Code::PermissionDenied, "{refused:?}");
        assert!(!node.beat(&[&job.id]).await.ok);
    }
    assert_eq!(http.get(&path).await.expect(200)["status"], "failed");
}

/// The job, once this many of its attempts are lost.
async fn lost_attempt(http: &Http, path: &str, lost: u32) -> Value {
    let is_lost = || async {
        let job = http.get(path).await.expect(200);
        if job["lostAttempts"] == lost { Ok(job) } else { Err(job.to_string()) }
    };
    wait::until(TIMEOUT, "the lease to expire", is_lost).await.unwrap()
}

#[tokio::test]
async fn a_node_that_sends_heartbeats_keeps_its_job_for_longer_than_the_lease() {
    let controller = Controller::start(&SETTINGS).await;
    let node = TestNode::register(controller.client(ALL)).await;
    let mut client = controller.client(ALL);
    let submitted = client.submit_job(crate::node::clips()).await.unwrap().into_inner();
    let job = node.pull().await.unwrap();
    let lease = |job: &wire::Job| job.lease_expires_at_ms;
    let first = lease(&crate::node::get(&mut client, &submitted.job_id).await);
    let renewed = || async {
        assert!(node.beat(&[&job.id]).await.ok);
        let job = crate::node::get(&mut client.clone(), &submitted.job_id).await;
        assert_eq!((job.status(), job.attempt), (wire::JobStatus::Running, 1));
        lease(&job) > first + 3000
    };
    wait::until(TIMEOUT, "three leases", renewed).await.unwrap();
    node.complete(&job, 50.0).await;
}
