//! Labelled samples from the controller, in the order in which they came to be.
//!
//! A sample comes with the cursor that continues after it. Both go to the learner together, and both are saved in one
//! checkpoint, so a trainer that dies goes on where its last checkpoint was: each sample counts once, however often it
//! is sent. Between two checkpoints everything is in memory only, and is read again after a crash.
//!
//! A cursor that the controller cannot continue from (`OUT_OF_RANGE`) is one of another store, of a newer copy of it, or
//! of a time whose samples are not kept any more. Then the samples that are kept are looked through for the last one
//! that we know ([`Marks`]), and reading goes on behind that; if none is known, at the oldest one, which is then new to
//! us unless the store is a copy of long ago. Nothing is learned twice that can be known to have been learned.

mod error;
mod follow;
mod marks;

pub use self::error::SourceError;
pub use self::follow::{Follow, Place, Streamed};
pub use self::marks::{Known, Marks};
