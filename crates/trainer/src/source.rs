//! Labelled samples from the controller, in the order in which they were created.
//!
//! A sample arrives with the cursor that continues after it. The learner takes both together, and one checkpoint
//! stores both, so a trainer that crashes resumes at its last checkpoint: each sample counts once, however often it
//! is sent. Between two checkpoints everything is in memory only and is read again after a crash.
//!
//! The controller answers `OUT_OF_RANGE` to a cursor of another store, of a newer copy of its store, or of samples
//! that were deleted since. The trainer then reads the stored samples again and skips those that it has already learned
//! ([`Fingerprints`]). So no sample is skipped that was not learned, and none is learned twice as long as the trainer
//! can recognize it.

mod error;
mod fingerprints;
mod follower;

pub use self::error::SourceError;
pub use self::fingerprints::Fingerprints;
pub use self::follower::{SampleFollower, StreamItem, StreamPosition};
