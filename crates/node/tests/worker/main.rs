//! The worker process: the real binary, started as the agent starts it.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the helpers of a test may fail it"
)]

mod activity;
mod confined;
mod crashes;
mod engine;
mod fixture;
mod golden;
mod groups;
mod hostile;
mod kills;
mod memory;
mod run_once;
mod unconfined;
