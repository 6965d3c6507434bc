//! Tests of the learner through its public interface.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

mod accuracy;
mod export;
mod minority;
mod poison;
mod resume;
mod samples;
mod scale;
