//! The controller as a process, seen from outside: by HTTP, by gRPC, by clients that nobody here wrote, by signals.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the helpers of a test may fail it"
)]

mod controller;
mod http;
#[path = "../auth/issuer.rs"]
#[allow(dead_code, reason = "tests of tokens use all of it")]
mod issuer;
#[path = "../support/node.rs"]
#[allow(dead_code, reason = "tests of gRPC use all of it")]
mod node;

mod events;
mod grpcurl;
mod jobs;
mod lost;
mod openapi;
mod process;
mod refused;
mod schemathesis;
mod score;
mod shutdown;

/// What a node speaks through.
mod server {
    pub(crate) use crate::controller::Client;
}
