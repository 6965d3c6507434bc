//! `kill -9` of the real controller at random points, while nodes work and submitters retry.
//!
//! What is checked afterwards, for every job (`audit.rs`):
//!
//! | invariant                                       | violated by                                           |
//! |-------------------------------------------------|-------------------------------------------------------|
//! | an acknowledged submission is stored            | an id that is missing                                 |
//! | a retried submission creates one job            | a key with two jobs, or an id that changed            |
//! | every job completes once                        | a job that is pending; two attempts that completed it |
//! | an acknowledged report is stored with its score | another score, or the score of another attempt        |
//! | every score was reported                        | a score that no node reported                         |
//!
//! The points of the kills are drawn from a seed, which is printed. They are counts of acknowledgements and not times, so
//! that they are the same on a busy machine.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

mod audit;
#[path = "../outside/controller.rs"]
#[allow(dead_code, reason = "other tests use all of it")]
mod controller;
mod fleet;
#[path = "../outside/http.rs"]
#[allow(dead_code, reason = "other tests use all of it")]
mod http;
mod plan;

use vmafx_testkit::postgres::{PostgresServer, ShutdownMode};

use self::controller::{Controller, config};
use self::plan::{KillPlan, Victim};

/// Short enough for leases to expire within the test; enough lost attempts for every job.
const SETTINGS: [(&str, &str); 6] = [
    ("VMAFX_STORE_LEASE_TTL", "1s"),
    ("VMAFX_STORE_SESSION_TTL", "2s"),
    ("VMAFX_STORE_SWEEP_INTERVAL", "200ms"),
    ("VMAFX_STORE_BACKOFF_BASE", "50ms"),
    ("VMAFX_STORE_BACKOFF_MAX", "200ms"),
    ("VMAFX_STORE_MAX_LOST_ATTEMPTS", "101"),
];

async fn on_sqlite(plan: KillPlan) {
    let mut controllers = [Controller::start(&SETTINGS).await];
    plan.run(&mut controllers, async |_| panic!("SQLite has no server")).await;
}

async fn on_postgres(plan: KillPlan) {
    // Not the shared server, because this one is killed too.
    let server = PostgresServer::start().await.unwrap();
    let database = server.database().await.unwrap();
    let config = config().envs(&SETTINGS).postgres(database.dsn());
    let mut controllers = [Controller::with(config.clone()).await, Controller::with(config).await];
    plan.run(&mut controllers, async |mode: ShutdownMode| server.restart(mode).await.unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn three_hundred_jobs_survive_four_kills_in_a_file() {
    on_sqlite(KillPlan::new(300, &[Victim::Controller; 4])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn three_hundred_jobs_survive_kills_and_a_crash_of_postgres() {
    on_postgres(KillPlan::new(
        300,
        &[Victim::Controller, Victim::Database, Victim::Controller, Victim::Controller],
    ))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes most of a minute: make test runs it"]
async fn two_thousand_jobs_survive_twelve_kills_in_a_file() {
    on_sqlite(KillPlan::new(2000, &[Victim::Controller; 12])).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes most of a minute: make test runs it"]
async fn two_thousand_jobs_survive_twelve_kills_of_two_controllers_on_postgres() {
    on_postgres(KillPlan::new(2000, &[Victim::Controller; 12])).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes most of a minute: make test runs it"]
async fn two_thousand_jobs_survive_kills_and_crashes_of_postgres() {
    let mut victims = [Victim::Controller; 12];
    (victims[4], victims[8]) = (Victim::Database, Victim::Database);
    on_postgres(KillPlan::new(2000, &victims)).await;
}
