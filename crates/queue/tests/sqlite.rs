//! Properties of the SQLite store only: exclusive access, clear refusals, survival of `kill -9`, a file that stops
//! growing. The conformance suite checks what every store promises.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers of a test may fail it")]

#[path = "support/clock.rs"]
#[allow(dead_code, reason = "the conformance suite uses the other part of it")]
mod clock;
#[path = "sqlite/close.rs"]
mod close;
#[path = "sqlite/crash.rs"]
mod crash;
#[path = "sqlite/fixture.rs"]
mod fixture;
#[path = "sqlite/full.rs"]
mod full;
#[path = "sqlite/growth.rs"]
mod growth;
#[path = "sqlite/memory.rs"]
mod memory;
#[path = "sqlite/opening.rs"]
mod opening;
#[path = "sqlite/reopening.rs"]
mod reopening;
#[path = "sqlite/restore.rs"]
mod restore;
