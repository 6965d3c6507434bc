//! The controller as a child process: its HTTP and gRPC interfaces, third-party clients, and signals.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

#[path = "../support/clock.rs"]
#[allow(dead_code, reason = "other tests use all of it")]
mod clock;
mod controller;
mod http;
#[path = "../auth/issuer.rs"]
#[allow(dead_code, reason = "other tests use all of it")]
mod issuer;
#[path = "../support/node.rs"]
#[allow(dead_code, reason = "other tests use all of it")]
mod node;

mod attack;
mod audit;
mod backup;
mod events;
mod full;
mod grpcurl;
mod jobs;
mod limits;
mod lost;
mod metrics;
mod openapi;
mod process;
mod refused;
mod schemathesis;
mod score;
mod shutdown;

/// The module in which `node.rs` expects its client.
mod server {
    pub(crate) use crate::controller::Client;
}
