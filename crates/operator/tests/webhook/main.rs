//! The webhook, called by a real API server.
#![expect(clippy::unwrap_used, clippy::panic, reason = "the helpers of a test may fail it")]

mod access;
mod admission;
mod authority;
mod hook;
mod rotation;
mod started;
