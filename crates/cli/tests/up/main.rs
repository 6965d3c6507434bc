//! `vmafx up` and the commands that speak to it, as a user runs them: the real program on real clips.
#![expect(clippy::unwrap_used, reason = "the helpers of a test may fail it")]

mod bits;
mod commands;
mod life;
mod stage;
