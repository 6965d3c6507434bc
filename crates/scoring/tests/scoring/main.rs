//! The engine and the comparison of clips, from files to scores.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod cancel;
mod chunks;
mod clips;
mod differential;
mod digests;
mod exact;
mod golden;
mod ladder;
mod lengths;
mod memory;
mod mixed;
mod models;
mod moments;
mod odd;
mod shots;
#[path = "../../../kernels/tests/support/mod.rs"]
mod support;
