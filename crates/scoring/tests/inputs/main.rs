//! Reads whole, damaged and unusual files.
#![expect(clippy::unwrap_used, clippy::panic, reason = "the helpers of a test may fail it")]

mod content;
mod damaged;
mod decoded;
mod hashed;
mod local;
mod odd;
mod process;
mod support;
