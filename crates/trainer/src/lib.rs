//! Learns from labelled jobs, and pushes what it learned.

pub mod evaluate;
pub mod learner;
