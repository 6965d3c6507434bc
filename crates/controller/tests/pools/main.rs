//! Nodes that several tenants share, with the controller as a child process. A program of its own, because a queue of 100 000
//! jobs keeps the machine busy.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

mod harness;
#[path = "../support/node.rs"]
#[allow(dead_code, reason = "other tests use all of it")]
mod node;

mod refused;
mod shares;

/// The module in which `node.rs` expects its client.
mod server {
    pub(crate) use crate::harness::Client;
}
