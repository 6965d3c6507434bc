//! `kill -9` of the real controller at random points, with nodes at work and submitters that try again.
//!
//! What is held against the queue afterwards, job by job (`audit.rs`):
//!
//! | promise                                                    | how it would show                              |
//! |------------------------------------------------------------|------------------------------------------------|
//! | an acknowledged submission is kept                         | its id is missing                              |
//! | a submission that was tried again made one job             | a key with two jobs, or an id that changed     |
//! | every job ended, once                                      | one that waits; two attempts that completed it |
//! | an acknowledged report is kept, with its score             | another score, or another attempt's            |
//! | nothing is made up                                         | a score that no node reported                  |
//!
//! Points are drawn from a seed, which is printed: in progress, not in time, so that a busy machine has the same.
#![expect(clippy::unwrap_used, clippy::panic, reason = "the helpers of a test may fail it")]

mod audit;
#[path = "../outside/controller.rs"]
#[allow(dead_code, reason = "tests from outside use all of it")]
mod controller;
mod fleet;
#[path = "../outside/http.rs"]
#[allow(dead_code, reason = "tests from outside use all of it")]
mod http;
mod seed;
mod story;

use std::sync::Arc;

use vmafx_testkit::postgres::{PostgresServer, ShutdownMode};

use self::controller::Controller;
use self::story::{Story, Strike};

/// Leases end within the test; no job fails for having been lost too often.
const HASTY: [(&str, &str); 6] = [
    ("VMAFX_STORE_LEASE_TTL", "1s"),
    ("VMAFX_STORE_SESSION_TTL", "2s"),
    ("VMAFX_STORE_SWEEP_INTERVAL", "200ms"),
    ("VMAFX_STORE_BACKOFF_BASE", "50ms"),
    ("VMAFX_STORE_BACKOFF_MAX", "200ms"),
    ("VMAFX_STORE_MAX_LOST_ATTEMPTS", "101"),
];

async fn on_sqlite(story: Story) {
    let mut controllers = [Controller::start(&HASTY).await];
    story.play(&mut controllers, async |_| panic!("a file has no server")).await;
}

async fn on_postgres(story: Story) {
    // A server of its own: it is killed too.
    let server = PostgresServer::start().await.unwrap();
    let database = server.database().await.unwrap();
    let mut settings = HASTY.to_vec();
    settings.extend([("VMAFX_STORE_BACKEND", "postgres"), ("VMAFX_DB_DSN", database.dsn())]);
    let directory = Arc::new(tempfile::tempdir().unwrap());
    let first = Controller::start_in(directory.clone(), &settings).await;
    let mut controllers = [first, Controller::start_in(directory, &settings).await];
    story.play(&mut controllers, async |mode: ShutdownMode| server.restart(mode).await.unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn three_hundred_jobs_survive_four_kills_in_a_file() {
    on_sqlite(Story::new(300, &[Strike::Controller; 4])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn three_hundred_jobs_survive_kills_and_a_crash_of_postgres() {
    on_postgres(Story::new(
        300,
        &[Strike::Controller, Strike::Database, Strike::Controller, Strike::Controller],
    ))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes most of a minute: make test runs it"]
async fn two_thousand_jobs_survive_twelve_kills_in_a_file() {
    on_sqlite(Story::new(2000, &[Strike::Controller; 12])).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes most of a minute: make test runs it"]
async fn two_thousand_jobs_survive_twelve_kills_of_two_controllers_on_postgres() {
    on_postgres(Story::new(2000, &[Strike::Controller; 12])).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes most of a minute: make test runs it"]
async fn two_thousand_jobs_survive_kills_and_crashes_of_postgres() {
    let mut strikes = [Strike::Controller; 12];
    (strikes[4], strikes[8]) = (Strike::Database, Strike::Database);
    on_postgres(Story::new(2000, &strikes)).await;
}
