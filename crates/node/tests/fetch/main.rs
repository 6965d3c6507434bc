//! Downloads and reports, with real servers and with hostile ones.
#![expect(clippy::unwrap_used, reason = "the helpers of a test may fail it")]

mod faults;
mod fixture;
mod reports;
mod schemes;
mod secrets;
mod sharing;
