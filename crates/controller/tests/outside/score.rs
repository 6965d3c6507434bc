//! `POST /v1/score`: the caller waits while a node scores.

use std::time::Duration;

use serde_json::{Value, json};
use vmafx_proto::controller::v1 as wire;
use vmafx_testkit::wait;

use crate::controller::{ALL, Controller, WRITER};
use crate::http::ApiResponse;
use crate::node::TestNode;

const TIMEOUT: Duration = Duration::from_secs(20);

fn clips() -> Value {
    json!({ "reference": "/clips/r.y4m", "distorted": "/clips/d.y4m", "model": "vmaf_v0.6.1" })
}

/// The response to a request for a score while a node processes the job with `work`.
async fn scored(controller: &Controller, work: impl AsyncFnOnce(&TestNode, wire::Job)) -> ApiResponse {
    let node = TestNode::register(controller.client(ALL)).await;
    let http = controller.http_with(WRITER);
    let body = clips();
    let call = http.post("/v1/score", &body);
    let worked = async {
        let job = node.pull_for(TIMEOUT).await.unwrap().expect("the job of the caller");
        assert_eq!(job.scoring.as_ref().unwrap().model, "vmaf_v0.6.1");
        work(&node, job).await;
    };
    tokio::join!(call, worked).0
}

#[tokio::test]
async fn the_caller_gets_the_score_that_the_node_reports() {
    let controller = Controller::start(&[]).await;
    let response = scored(&controller, async |node, job| node.complete(&job, 87.25).await).await;
    assert_eq!(response.expect(200), json!({ "score": 87.25, "features": { "vif": 0.5 } }));
}

#[tokio::test]
async fn the_caller_gets_the_error_that_the_node_reports() {
    let controller = Controller::start(&[]).await;
    let response = scored(&controller, async |node, job| {
        let mut report = node.report_request(&job, 0.0);
        report.error = "the clip has no frames".into();
        node.report(report).await.unwrap();
    });
    assert_eq!(response.await.refused(500), "the clip has no frames");
}

#[tokio::test]
async fn the_job_of_a_caller_that_disconnects_is_cancelled() {
    let controller = Controller::start(&[]).await;
    let http = controller.http_with(WRITER);
    let call =
        http.request("POST", "/v1/score").body(clips().to_string()).timeout(Duration::from_millis(300));
    assert!(call.send().await.unwrap_err().is_timeout());
    let cancelled = || async {
        let list = http.get("/v1/jobs").await.expect(200);
        let job = &list["jobs"][0];
        if job["status"] == "cancelled" { Ok(job["error"].clone()) } else { Err(list.to_string()) }
    };
    let error = wait::until(TIMEOUT, "the cancel", cancelled).await.unwrap();
    assert_eq!(error, "cancelled: the caller went away");
}

#[tokio::test]
async fn the_wait_for_a_score_is_limited() {
    let settings = [("VMAFX_SCORE_WAIT", "1s"), ("VMAFX_STORE_SWEEP_INTERVAL", "100ms")];
    let controller = Controller::start(&settings).await;
    let refused = controller.http_with(WRITER).post("/v1/score", &clips()).await.refused(500);
    assert_eq!(refused, "the deadline has passed: the job was not finished 1s after its submission");
}
