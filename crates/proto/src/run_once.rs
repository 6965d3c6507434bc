//! What `vmafx-node run-once` says of its job: JSON, small enough for the termination message of a container.
//!
//! The operator reads what the node wrote, and the image of the one may be older or newer than the other: unknown keys are
//! passed over, and an unknown reason is told by its number.

mod reason;
mod result;
mod score;

pub use self::reason::Reason;
pub use self::result::{MOST_BYTES, RunResult};
pub use self::score::{Pooled, Score};
