//! The learner as its users see it: taught, saved, restored, exported, and given nonsense.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod accuracy;
mod export;
mod poison;
mod resume;
mod scale;
mod stream;
