//! Pulls that wait for a job.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::task::JoinSet;
use vmafx_proto::controller::v1 as wire;
use vmafx_testkit::wait;

use crate::node::{TestNode, clips, clips_for, get, submit};
use crate::server::{ServerOptions, TestServer};

/// Longer than any pull of these tests waits.
const PULL: Duration = Duration::from_secs(30);
const TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) type Pulls = JoinSet<Result<Option<wire::Job>, tonic::Status>>;

/// Starts this many pulls at once, and waits until each has tried to claim a job.
pub(crate) async fn waiting(server: &TestServer, node: &TestNode, count: usize) -> Pulls {
    let mut pulls = Pulls::new();
    add_waiting(&mut pulls, server, node, count).await;
    pulls
}

pub(crate) async fn add_waiting(pulls: &mut Pulls, server: &TestServer, node: &TestNode, count: usize) {
    let before = server.store.claims();
    for _ in 0..count {
        let node = node.clone();
        pulls.spawn(async move { node.pull_for(PULL).await });
    }
    let claimed = || async { server.store.claims() >= before + count };
    wait::until(TIMEOUT, "the claims of all pulls", claimed).await.unwrap();
}

/// Submits a job for each pull, and checks that each job goes to one of them.
pub(crate) async fn submit_one_each(server: &TestServer, mut pulls: Pulls) {
    let mut client = server.client().await;
    let mut ids = Vec::new();
    for _ in 0..pulls.len() {
        ids.push(submit(&mut client, clips()).await);
    }
    let mut got = Vec::new();
    while let Some(pull) = pulls.join_next().await {
        got.push(pull.unwrap().unwrap().unwrap().id);
    }
    got.sort();
    ids.sort();
    assert_eq!(got, ids);
}

#[tokio::test]
async fn a_waiting_pull_gets_a_job_that_comes_later() {
    let server = TestServer::start().await;
    let node = TestNode::register(server.client().await).await;
    let mut pulls = waiting(&server, &node, 1).await;
    let id = submit(&mut server.client().await, clips()).await;
    let work = pulls.join_next().await.unwrap().unwrap().unwrap().unwrap();
    assert_eq!(work.id, id);
}

#[tokio::test]
async fn one_job_wakes_one_of_two_hundred_waiting_pulls() {
    let server = TestServer::start().await;
    let mut pulls = Pulls::new();
    for number in 0..4 {
        let node = TestNode::named(server.client().await, &format!("node-{number}"), &["cpu"]).await;
        add_waiting(&mut pulls, &server, &node, 50).await;
    }
    let before = server.store.claims();
    let id = submit(&mut server.client().await, clips()).await;
    let work = pulls.join_next().await.unwrap().unwrap().unwrap().unwrap();
    assert_eq!(work.id, id);
    // The periodic claim of one pull may coincide. If every pull were woken, there would be two hundred claims.
    let woken = server.store.claims() - before;
    assert!((1..=2).contains(&woken), "{woken} claims for one job");
    server.stopped().await;
}

#[tokio::test]
async fn many_jobs_wake_as_many_pulls_and_each_job_is_assigned_once() {
    let server = TestServer::start().await;
    let node = TestNode::register(server.client().await).await;
    let pulls = waiting(&server, &node, 60).await;
    submit_one_each(&server, pulls).await;
}

#[tokio::test]
async fn only_a_node_that_serves_the_backend_is_woken() {
    let server = TestServer::start().await;
    let cpu = TestNode::named(server.client().await, "cpu", &["cpu"]).await;
    let cuda = TestNode::named(server.client().await, "cuda", &["cuda"]).await;
    let mut on_cpu = waiting(&server, &cpu, 1).await;
    let mut on_cuda = waiting(&server, &cuda, 1).await;
    let mut client = server.client().await;
    let for_cuda = submit(&mut client, clips_for("cuda")).await;
    assert_eq!(on_cuda.join_next().await.unwrap().unwrap().unwrap().unwrap().id, for_cuda);
    let for_all = submit(&mut client, clips()).await;
    assert_eq!(on_cpu.join_next().await.unwrap().unwrap().unwrap().unwrap().id, for_all);
}

#[tokio::test]
async fn shutdown_answers_waiting_pulls_at_once() {
    let server = TestServer::start().await;
    let node = TestNode::register(server.client().await).await;
    let mut pulls = waiting(&server, &node, 5).await;
    server.stop();
    while let Some(pull) = tokio::time::timeout(TIMEOUT, pulls.join_next()).await.unwrap() {
        assert_eq!(pull.unwrap().unwrap(), None);
    }
    server.stopped().await;
}

#[tokio::test]
async fn a_pull_waits_no_longer_than_it_asked_for() {
    let server = TestServer::start().await;
    let node = TestNode::register(server.client().await).await;
    assert_eq!(node.pull_for(Duration::from_millis(30)).await.unwrap(), None);
}

#[tokio::test]
async fn a_pull_waits_no_longer_than_the_controller_allows() {
    let mut options = ServerOptions::default();
    options.patience.max_pull_wait = Duration::from_millis(30);
    let server = TestServer::with(options).await;
    let node = TestNode::register(server.client().await).await;
    assert_eq!(node.pull_for(Duration::from_hours(1)).await.unwrap(), None);
}

#[tokio::test]
async fn a_job_is_not_assigned_to_a_node_that_disconnected() {
    let server = TestServer::start().await;
    let gone = TestNode::named(server.client().await, "gone", &["cpu"]).await;
    let here = TestNode::named(server.client().await, "here", &["cpu"]).await;
    let mut first = waiting(&server, &gone, 1).await;
    let mut second = waiting(&server, &here, 1).await;
    first.abort_all();
    drop(gone);
    while first.join_next().await.is_some() {}
    let mut client = server.client().await;
    let id = submit(&mut client, clips()).await;
    let work = second.join_next().await.unwrap().unwrap().unwrap().unwrap();
    assert_eq!(work.id, id);
    assert_eq!(get(&mut client, &id).await.assigned_node, "here");
}

#[tokio::test]
async fn beyond_the_limit_of_pulls_per_session_the_oldest_one_returns() {
    let server = TestServer::start().await;
    let node = TestNode::register(server.client().await).await;
    let mut pulls = waiting(&server, &node, 64).await;
    let mut more = waiting(&server, &node, 1).await;
    let oldest = pulls.join_next().await.unwrap().unwrap().unwrap();
    assert_eq!(oldest, None);
    assert_eq!(pulls.len(), 63);
    server.stop();
    assert_eq!(more.join_next().await.unwrap().unwrap().unwrap(), None);
}

#[tokio::test]
async fn a_released_job_wakes_another_pull() {
    let (server, _, first, work) = TestServer::with_running_job().await;
    let second = TestNode::named(server.client().await, "second", &["cpu"]).await;
    let mut pulls = waiting(&server, &second, 1).await;
    assert!(first.release(&work).await.unwrap());
    assert_eq!(pulls.join_next().await.unwrap().unwrap().unwrap().unwrap().id, work.id);
}

#[tokio::test]
async fn a_job_claimed_for_a_node_that_disconnected_meanwhile_is_pending_again_at_once() {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    let id = submit(&mut client, clips()).await;
    let node = TestNode::register(server.client().await).await;
    server.store.held.store(true, Ordering::SeqCst);
    let mut pulls = waiting(&server, &node, 1).await;
    let claimed = || async { server.store.claimed.load(Ordering::SeqCst) == 1 };
    wait::until(TIMEOUT, "the claim", claimed).await.unwrap();
    assert_eq!(get(&mut client, &id).await.status(), wire::JobStatus::Running);
    pulls.abort_all();
    while pulls.join_next().await.is_some() {}
    let method = "vmafx.controller.v1.VmafxController/PullWork";
    let cancelled = format!("vmafx_controller_grpc_requests_total{{method=\"{method}\",code=\"cancelled\"}}");
    let noticed = || async { server.metric(&cancelled) == Some(1.0) };
    wait::until(TIMEOUT, "the server to notice", noticed).await.unwrap();
    server.store.held.store(false, Ordering::SeqCst);
    server.store.permits.add_permits(1);
    let again = node.pull_for(PULL).await.unwrap().unwrap();
    assert_eq!((again.id.as_str(), again.attempt, again.lost_attempts), (id.as_str(), 2, 0));
    let rolled_back = "vmafx_controller_jobs_requeued_total{reason=\"assign_rollback\"}";
    assert_eq!(server.metric(rolled_back), Some(1.0));
}
