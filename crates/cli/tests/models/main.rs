//! `vmafx models` as a user runs it: the real program and a real registry.
#![expect(clippy::unwrap_used, reason = "the helpers of a test may fail it")]

mod diff;
mod inspect;
mod list;
mod stage;
