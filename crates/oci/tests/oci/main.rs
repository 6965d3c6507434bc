//! The client against a real registry, and against faults that a real one does not show.
#![expect(clippy::unwrap_used, reason = "the helpers of a test may fail it")]

mod errors;
mod faults;
mod fixture;
mod real_registry;
