//! `vmafx up` and the commands that call its controller: the real program on real clips.
#![expect(clippy::unwrap_used, reason = "test code")]

mod commands;
mod fixture;
mod lifecycle;
mod scores;
