//! Elections on the real API server.
#![expect(clippy::unwrap_used, reason = "the helpers of a test may fail it")]

mod candidate;
mod faults;
mod handover;
mod journal;
mod proxy;
