//! A controller whose store is on a full volume: new jobs are refused with the reason and the remedy, `/readyz` says so and
//! stays at 200, because reports must arrive, reports are stored, and everything goes on by itself when there is room.

use std::time::Duration;

use serde_json::json;
use tonic::Code;
use vmafx_proto::controller::v1 as wire;
use vmafx_proto::refusal::RefusalReason;
use vmafx_testkit::postgres::PostgresServer;
use vmafx_testkit::small_volume::SmallVolume;
use vmafx_testkit::wait;

use crate::controller::{ALL, Controller, WRITER, config};
use crate::http::Http;
use crate::node::{TestNode, clips, get, submit};

const TIMEOUT: Duration = Duration::from_mins(1);
/// More than one transaction, and less than the reserve has room for.
/// Enough jobs that their scores need the reserve.
const NODES: usize = 4;
const RUNNING_PER_NODE: usize = 50;

#[test]
fn a_full_sqlite_volume_refuses_new_jobs_and_stores_the_scores_of_running_ones() {
    SmallVolume::run("full::sqlite_on_a_small_volume", 40);
}

#[tokio::test]
#[ignore = "runs on a small volume, started by the test above"]
async fn sqlite_on_a_small_volume() {
    let volume = SmallVolume::of_this_test();
    // The log of the controller is beside the store and would be cut off.
    let database = volume.path().join("queue.db").display().to_string();
    // More than the volume has: here the volume is to become full, not the tenant.
    let settings = [("VMAFX_DB_PATH", database.as_str()), ("VMAFX_LIMITS_STORED_BYTES", "1000000000")];
    let controller = Controller::start(&settings).await;
    a_full_store_loses_no_score(&controller, &volume).await;
}

#[test]
fn a_full_postgres_volume_refuses_new_jobs_and_stores_the_scores_of_running_ones() {
    SmallVolume::run("full::postgres_on_a_small_volume", 160);
}

#[tokio::test]
#[ignore = "runs on a small volume, started by the test above"]
async fn postgres_on_a_small_volume() {
    let volume = SmallVolume::of_this_test();
    let server = PostgresServer::start_in(volume.path()).await.unwrap();
    let database = server.database().await.unwrap();
    let controller = Controller::with(config().postgres(database.dsn())).await;
    a_full_store_loses_no_score(&controller, &volume).await;
}

async fn readiness(http: &Http) -> (u16, String) {
    let page = http.get("/readyz").await;
    (page.status, page.body.as_str().unwrap_or_default().to_owned())
}

/// Submits until a job is refused.
async fn refused(controller: &Controller) -> tonic::Status {
    let mut client = controller.client(WRITER);
    for _ in 0..50_000 {
        if let Err(status) = client.submit_job(clips()).await {
            return status;
        }
    }
    panic!("the volume does not become full");
}

async fn a_full_store_loses_no_score(controller: &Controller, volume: &SmallVolume) {
    let http = controller.http_with(WRITER);
    let mut running = Vec::new();
    for number in 0..NODES {
        let node = TestNode::named(controller.client(ALL), &format!("node-{number}"), &["cpu"]).await;
        for _ in 0..RUNNING_PER_NODE {
            submit(&mut controller.client(WRITER), clips()).await;
            running.push((node.clone(), node.pull().await.unwrap()));
        }
    }
    let idle = TestNode::named(controller.client(ALL), "idle", &["cpu"]).await;
    let waiting = submit(&mut controller.client(WRITER), clips()).await;
    assert_eq!(readiness(&http).await, (200, "ready\n".to_owned()));

    let ballast = volume.fill();
    let status = refused(controller).await;
    assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
    assert_eq!(RefusalReason::of(&status), Some(RefusalReason::StoreFull));
    assert!(status.message().contains("free space on"), "{status:?}");
    let scoring = json!({ "reference": "/clips/r.y4m", "distorted": "/clips/d.y4m" });
    let problem = http.post("/v1/jobs", &json!({ "scoring": scoring })).await.refused(507);
    assert!(problem.contains("free space on"), "{problem}");
    let full =
        async || readiness(&http).await == (200, "ready\n- store: full: new jobs are refused\n".to_owned());
    wait::until(TIMEOUT, "/readyz to say that the store is full", full).await.unwrap();
    http.get("/healthz").await.expect(200);

    let scores = || (0_u32..).map(f64::from);
    for (score, (node, job)) in scores().zip(&running) {
        node.complete(job, score).await;
    }
    let cancel = wire::CancelJobRequest { job_id: waiting.clone(), ..Default::default() };
    controller.client(WRITER).cancel_job(cancel).await.unwrap();
    for (score, (_, job)) in scores().zip(&running) {
        let stored = get(&mut controller.client(WRITER), &job.id).await;
        assert_eq!((stored.status(), stored.final_score), (wire::JobStatus::Completed, score));
    }
    // The log is shortened meanwhile, and what it returns may be room enough for new jobs.
    let ballast = [ballast, volume.fill()];
    assert_eq!(RefusalReason::of(&refused(controller).await), Some(RefusalReason::StoreFull));
    assert_eq!(idle.pull().await, None, "no new work is begun");

    drop(ballast);
    let accepted =
        async || controller.client(WRITER).submit_job(clips()).await.map(drop).map_err(|it| it.to_string());
    wait::until(TIMEOUT, "the controller to go on", accepted).await.unwrap();
    let ready = async || readiness(&http).await == (200, "ready\n".to_owned());
    wait::until(TIMEOUT, "/readyz to say that the store has room", ready).await.unwrap();
    assert!(idle.pull().await.is_some());
}
