//! The whole daemon: the real program, a real controller and a real registry.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

mod clips;
mod controller;
mod faults;
mod flow;
mod kill;
mod others;
mod places;
mod poison;
mod shelf;
mod strange;
mod trainer;
