//! `kill -9` of workers, of agents and of the controller at random, over many small jobs.
//!
//! What is checked afterwards (`audit.rs`):
//!
//! | invariant                                | violated by                                                   |
//! |------------------------------------------|---------------------------------------------------------------|
//! | every job completes once, with the right score | a job that is pending or failed; two attempts that completed it; another score |
//! | no process is left                       | a process whose directory is below the scratch directory      |
//! | no scratch file is left                  | a download, a job's directory, the directory of a killed agent |
//! | no lease is left                         | a job with a lease, a node that is listed with a running job   |
//!
//! The points of the kills are drawn from a seed, which is printed. They are counts of jobs and not times, so that they are
//! the same on a busy machine.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

mod audit;
mod controller;
#[path = "../agent/expected.rs"]
mod expected;
mod fleet;
mod plan;
#[path = "../agent/processes.rs"]
mod processes;

use plan::{KillPlan, Victim};

#[tokio::test(flavor = "multi_thread")]
async fn three_hundred_jobs_survive_kills_of_every_process() {
    KillPlan::new(300, &[(Victim::Worker, 12), (Victim::Agent, 5), (Victim::Controller, 4)]).run().await;
}
