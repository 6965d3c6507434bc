//! SIGTERM while calls are in progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use tonic::Code;
use vmafx_proto::controller::v1 as wire;
use vmafx_proto::scoring::v1::ScoreRequest;
use vmafx_proto::scoring::v1::vmafx_scoring_client::VmafxScoringClient;
use vmafx_testkit::wait;

use crate::controller::{ALL, Controller, WRITER};
use crate::node::{TestNode, clips_for, get};

const TIMEOUT: Duration = Duration::from_secs(30);

#[tokio::test]
async fn acknowledged_jobs_are_kept_long_polls_are_answered_and_the_exit_code_is_zero() {
    let mut controller = Controller::start(&[("VMAFX_HTTP_TIMEOUTS_SHUTDOWN", "20s")]).await;
    // The pulls wait, because no job is for the backend of these nodes.
    let mut polls = JoinSet::new();
    for number in 0..8 {
        let node = TestNode::named(controller.client(ALL), &format!("waits-{number}"), &["cuda"]).await;
        polls.spawn(async move { node.pull_for(TIMEOUT).await });
    }
    // Each submits until the controller refuses, and keeps the ids that were acknowledged.
    let acknowledged = Arc::new(AtomicUsize::new(0));
    let mut submitters = JoinSet::new();
    for _ in 0..8 {
        let (mut client, acknowledged) = (controller.client(WRITER), acknowledged.clone());
        let request = clips_for("cpu");
        submitters.spawn(async move {
            let mut ids = Vec::new();
            while let Ok(submitted) = client.submit_job(request.clone()).await {
                ids.push(submitted.into_inner().job_id);
                acknowledged.fetch_add(1, Ordering::SeqCst);
            }
            ids
        });
    }
    let busy = || std::future::ready(acknowledged.load(Ordering::SeqCst) >= 300);
    wait::until(TIMEOUT, "some load", busy).await.unwrap();
    controller.terminate().unwrap();

    while let Some(poll) = polls.join_next().await {
        assert_eq!(poll.unwrap().expect("a response, not an error"), None);
    }
    let ids: Vec<String> = submitters.join_all().await.into_iter().flatten().collect();
    assert!(ids.len() >= 300);
    let status = controller.exited().await.unwrap();
    assert_eq!(status.code(), Some(0), "{}", controller.log());

    controller.restart().await.unwrap();
    let http = controller.http_with(WRITER);
    for id in ids {
        assert_eq!(http.get(&format!("/v1/jobs/{id}")).await.expect(200)["status"], "pending");
    }
}

#[tokio::test]
async fn a_watch_and_a_waiting_score_end_as_unavailable_and_the_job_of_the_score_is_cancelled() {
    let mut controller = Controller::start(&[]).await;
    let mut client = controller.client(ALL);
    let request = wire::StreamJobsRequest { watch: true, ..Default::default() };
    let mut watch = client.stream_jobs(request).await.unwrap().into_inner();
    let mut scorer = VmafxScoringClient::new(controller.channel(Some(WRITER)));
    let mut score = JoinSet::new();
    score.spawn(async move {
        let (reference, distorted) = ("/clips/r.y4m".to_owned(), "/clips/d.y4m".to_owned());
        scorer.score(ScoreRequest { reference, distorted, ..Default::default() }).await
    });
    let job = loop {
        let item = watch.message().await.unwrap().unwrap();
        if !item.id.is_empty() {
            break item.id;
        }
    };

    controller.terminate().unwrap();
    assert_eq!(score.join_next().await.unwrap().unwrap().unwrap_err().code(), Code::Unavailable);
    let ended = loop {
        match watch.message().await {
            Ok(Some(_)) => {}
            other => break other,
        }
    };
    assert_eq!(ended.unwrap_err().code(), Code::Unavailable);
    assert_eq!(controller.exited().await.unwrap().code(), Some(0), "{}", controller.log());
    controller.restart().await.unwrap();
    assert_eq!(get(&mut controller.client(ALL), &job).await.status(), wire::JobStatus::Cancelled);
}

#[tokio::test]
async fn a_client_that_keeps_its_connection_does_not_delay_the_exit() {
    let mut controller = Controller::start(&[("VMAFX_HTTP_TIMEOUTS_SHUTDOWN", "3s")]).await;
    let http = controller.http_with(WRITER);
    // The client requests events and reads none.
    let held = http.request("GET", "/v1/events").send().await.unwrap();
    assert_eq!(held.status(), 200);
    controller.terminate().unwrap();
    assert_eq!(controller.exited().await.unwrap().code(), Some(0), "{}", controller.log());
}
