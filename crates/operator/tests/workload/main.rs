//! The workload lifecycle: its decision table, its invariants against a simulated API server, and every row on a real one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

mod children;
mod driver;
mod faults;
mod model;
mod objects;
mod ownership;
mod pass;
mod replacing;
mod sent;
mod table;
mod tracking;
