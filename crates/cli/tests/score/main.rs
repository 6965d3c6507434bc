//! `vmafx score` as a user runs it: the real program on real clips.
#![expect(clippy::unwrap_used, reason = "the helpers of a test may fail it")]

mod bad_input;
mod command;
mod golden;
mod interrupt;
