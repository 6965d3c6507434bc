//! The controller over gRPC: a real server on a real socket, with the queue in a file.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "the helpers of a test may fail it")]
#![expect(clippy::float_cmp, reason = "a score comes back to the last bit")]

#[path = "../support/clock.rs"]
mod clock;
#[path = "../support/counting.rs"]
mod counting;
#[path = "../support/node.rs"]
mod node;
#[path = "../support/server.rs"]
mod server;

mod bad_input;
mod calls;
mod codes;
mod counted;
mod dispatch;
mod lost;
mod postgres;
mod reflection;
mod scoring;
mod streams;
