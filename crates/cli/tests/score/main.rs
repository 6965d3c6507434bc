//! `vmafx score`: the real program on real clips.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

mod bad_input;
mod clip_kinds;
mod command;
mod golden;
mod interrupt;
