//! What only the store in a file promises: one owner, a readable refusal, survival of `kill -9`, a file that stops
//! growing. What every store promises is held by the conformance suite.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers of a test may fail it")]

#[path = "sqlite/close.rs"]
mod close;
#[path = "sqlite/crash.rs"]
mod crash;
#[path = "sqlite/growth.rs"]
mod growth;
#[path = "sqlite/help.rs"]
mod help;
#[path = "sqlite/memory.rs"]
mod memory;
#[path = "sqlite/opening.rs"]
mod opening;
#[path = "sqlite/reopening.rs"]
mod reopening;
