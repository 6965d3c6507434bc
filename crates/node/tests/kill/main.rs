//! `kill -9` of workers, of agents and of the controller at random, over many small jobs.
//!
//! What is held against the queue and the machine afterwards (`audit.rs`):
//!
//! | promise                                  | how it would show                                             |
//! |------------------------------------------|---------------------------------------------------------------|
//! | every job ends once, with the right score| one that waits or failed; two attempts that completed it; another score |
//! | no process is left                       | one whose directory is below the scratch directory            |
//! | no scratch file is left                  | a download, a job's directory, the home of a killed agent     |
//! | no lease is left                         | a job with one, a node that is said to run something          |
//!
//! Points are drawn from a seed, which is printed: in progress, not in time, so that a busy machine has the same.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

mod audit;
mod controller;
#[path = "../agent/expected.rs"]
mod expected;
mod fleet;
#[path = "../agent/pages.rs"]
#[allow(dead_code, reason = "other tests use all of it")]
mod pages;
#[path = "../agent/processes.rs"]
mod processes;
mod seed;
mod story;

use story::{Story, Strike};

#[tokio::test(flavor = "multi_thread")]
async fn three_hundred_jobs_survive_kills_of_everybody() {
    Story::new(300, &[(Strike::Worker, 12), (Strike::Agent, 5), (Strike::Controller, 4)]).play().await;
}
