//! The gRPC interface of the controller, with a clock and a store that the tests control.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]
#![expect(clippy::float_cmp, reason = "a score is returned to the last bit")]

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
mod retried;
mod scoring;
mod streams;
mod update;
