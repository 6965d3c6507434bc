//! Tests of the daemon: the real program with a real controller and a real registry.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

mod broken_registries;
mod checkpoints;
mod clips;
mod controller;
mod cursors;
mod faults;
mod kill;
mod lifecycle;
mod minority;
mod other_runs;
mod poison;
mod trainer;
