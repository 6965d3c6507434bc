//! Learns from labelled jobs, and pushes what it learned.

pub mod learner;
