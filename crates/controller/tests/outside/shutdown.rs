//! SIGTERM in the middle of work.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use vmafx_testkit::wait;

use crate::controller::{ALL, Controller, WRITER, client};
use crate::node::{TestNode, clips};

const LONG: Duration = Duration::from_secs(30);

#[tokio::test]
async fn what_was_acknowledged_is_kept_long_polls_are_answered_and_the_exit_code_is_zero() {
    let mut controller = Controller::start(&[("VMAFX_HTTP_TIMEOUTS_SHUTDOWN", "20s")]).await;
    // Nodes of a backend that no job asks for, all waiting.
    let mut polls = JoinSet::new();
    for number in 0..8 {
        let node = TestNode::named(controller.client(ALL), &format!("waits-{number}"), &["cuda"]).await;
        polls.spawn(async move { node.pull_for(LONG).await });
    }
    // Everybody submits until they are refused, and remembers what was acknowledged.
    let acknowledged = Arc::new(AtomicUsize::new(0));
    let mut submitters = JoinSet::new();
    for _ in 0..8 {
        let (mut client, acknowledged) = (client(controller.grpc, WRITER), acknowledged.clone());
        let mut request = clips();
        request.scoring.as_mut().unwrap().backend = "cpu".into();
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
    wait::until(LONG, "some load", busy).await.unwrap();
    controller.terminate();

    while let Some(poll) = polls.join_next().await {
        assert_eq!(poll.unwrap().expect("an answer, not an error"), None);
    }
    let ids: Vec<String> = submitters.join_all().await.into_iter().flatten().collect();
    assert!(ids.len() >= 300);
    let status = controller.ended().await;
    assert_eq!(status.code(), Some(0), "{}", controller.log());

    controller.begin_again().await;
    let http = controller.http_with(WRITER);
    for id in ids {
        assert_eq!(http.get(&format!("/v1/jobs/{id}")).await.expect(200)["status"], "pending");
    }
}

#[tokio::test]
async fn a_client_that_does_not_let_go_does_not_keep_it_alive() {
    let mut controller = Controller::start(&[("VMAFX_HTTP_TIMEOUTS_SHUTDOWN", "3s")]).await;
    let http = controller.http_with(WRITER);
    // It asked for events and reads none.
    let held = http.request("GET", "/v1/events").send().await.unwrap();
    assert_eq!(held.status(), 200);
    controller.terminate();
    assert_eq!(controller.ended().await.code(), Some(0), "{}", controller.log());
}
