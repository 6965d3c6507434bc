//! The resources on a real API server: what it stores, what it refuses, and what `kubectl` shows.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

mod arbitrary;
mod bounds;
mod cluster;
mod kubectl;
mod paths;
mod round_trip;
mod rules;
mod unknown_fields;
