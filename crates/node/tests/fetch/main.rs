//! Inputs, from real servers and from hostile ones.
#![expect(clippy::unwrap_used, reason = "the helpers of a test may fail it")]

mod agent;
mod faults;
mod reports;
mod schemes;
mod secrets;
mod sharing;
