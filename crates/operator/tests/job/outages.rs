//! Outages that are too short to be reported: of the only controller, and of one of two on one database.

use std::net::SocketAddr;

use rstest::rstest;
use serde_json::json;
use vmafx_testkit::postgres::{PostgresDatabase, PostgresServer};
use vmafx_testkit::tcp_proxy::{ProxyFault, TcpProxy};
use vmafx_testkit::{http_client, wait};

use crate::TIMEOUT;
use crate::agent::Agent;
use crate::controller::Controller;
use crate::harness::Harness;

/// Creates jobs and waits until an agent has scored them.
async fn run_jobs(harness: &Harness, agent: &Agent, round: &str) {
    let names: Vec<_> = (0..5).map(|number| format!("{round}-{number}")).collect();
    for name in &names {
        harness.create(name, json!({})).await;
    }
    for _ in &names {
        agent.score(&agent.pull().await, 50.0).await;
    }
    for name in &names {
        harness.until_phase(name, "Succeeded").await;
    }
}

#[tokio::test]
async fn a_short_outage_is_reported_on_no_job_not_even_on_a_new_one() {
    let controller = Controller::start().await;
    let proxy = TcpProxy::start([controller.grpc()]).await.unwrap();
    let harness = Harness::reaching(controller, proxy.address(), &[]).await;
    harness.create("before", json!({})).await;
    harness.until_reason("before", "Accepted", "Submitted").await;
    harness.until_streaming().await;

    proxy.set_fault(ProxyFault::Reset);
    let names: Vec<_> = (0..3).map(|number| format!("during-{number}")).collect();
    for name in &names {
        harness.create(name, json!({})).await;
    }
    // The fourth failed attempt comes after at least 300 ms; a status is debounced for 100 ms.
    harness.until_metric("operator_controller_stream_cuts_total", "", 5.0).await;
    proxy.set_fault(ProxyFault::None);
    for name in &names {
        harness.until_reason(name, "Accepted", "Submitted").await;
    }
    harness.until_streaming().await;
    harness.assert_never_unreachable();
}

/// Two controllers on one database, behind a balancer that sends new connections to both.
struct ControllerPair {
    /// Its database can be cut off; the operator is connected to it at first.
    first: Controller,
    balancer: TcpProxy,
    database_proxy: TcpProxy,
    _database: PostgresDatabase,
}

impl ControllerPair {
    /// The second controller is that of the harness.
    async fn start() -> (Self, Harness) {
        let database = PostgresServer::shared().await.unwrap().database().await.unwrap();
        let (before, host) = database.dsn().split_once("127.0.0.1:").unwrap();
        let (port, after) = host.split_once('/').unwrap();
        let server = SocketAddr::from(([127, 0, 0, 1], port.parse().unwrap()));
        let database_proxy = TcpProxy::start([server]).await.unwrap();
        let through_proxy = format!("{before}{}/{after}", database_proxy.address());
        let first = Controller::with(|config| config.postgres(&through_proxy)).await;
        let second = Controller::with(|config| config.postgres(database.dsn())).await;
        let balancer = TcpProxy::start([first.grpc()]).await.unwrap();
        let harness = Harness::reaching(second, balancer.address(), &[]).await;
        harness.until_streaming().await;
        balancer.set_targets([first.grpc(), harness.controller.grpc()]);
        (Self { first, balancer, database_proxy, _database: database }, harness)
    }

    async fn until_first_is_ready(&self, expected: bool) {
        let as_expected = || async { http_client::is_ready(self.first.http()).await == expected };
        wait::until(TIMEOUT, "the readiness of the first controller", as_expected).await.unwrap();
    }
}

#[rstest]
#[case::silently(ProxyFault::Blackhole)]
#[case::with_an_error(ProxyFault::Reset)]
#[tokio::test(flavor = "multi_thread")]
async fn a_controller_that_lost_its_database_is_reported_on_no_job(#[case] fault: ProxyFault) {
    let (pair, harness) = ControllerPair::start().await;
    let agent = Agent::register(&harness.controller, "gpu-0").await;
    run_jobs(&harness, &agent, "before").await;
    pair.database_proxy.set_fault(fault);
    run_jobs(&harness, &agent, "at-once").await;
    pair.until_first_is_ready(false).await;
    run_jobs(&harness, &agent, "without").await;
    assert!(pair.balancer.connections(harness.controller.grpc()) > 0, "the operator stayed where it was");
    pair.database_proxy.set_fault(ProxyFault::None);
    pair.until_first_is_ready(true).await;
    run_jobs(&harness, &agent, "after").await;
    harness.assert_never_unreachable();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_of_the_controllers_is_reported_on_no_job() {
    let (mut pair, mut harness) = ControllerPair::start().await;
    let agent = Agent::register(&harness.controller, "gpu-0").await;
    run_jobs(&harness, &agent, "before").await;
    pair.first.terminate().unwrap();
    run_jobs(&harness, &agent, "first-ends").await;
    assert!(pair.first.exited().await.unwrap().success());
    run_jobs(&harness, &agent, "first-is-away").await;
    pair.first.restart().await.unwrap();

    let agent = Agent::register(&pair.first, "gpu-1").await;
    harness.controller.terminate().unwrap();
    run_jobs(&harness, &agent, "second-ends").await;
    assert!(harness.controller.exited().await.unwrap().success());
    run_jobs(&harness, &agent, "second-is-away").await;
    harness.controller.restart().await.unwrap();
    run_jobs(&harness, &agent, "after").await;
    harness.assert_never_unreachable();
}
