//! Checkpoints: when they are taken, what is in them, how they reach the registry, and how a run goes on from one.
//!
//! | file        | holds                                                                                  |
//! |-------------|----------------------------------------------------------------------------------------|
//! | `policy`    | when one is taken: pure                                                                |
//! | `snapshot`  | all of a run at one moment                                                             |
//! | `saved`     | the state layer: what a run needs to go on                                             |
//! | `registry`  | one run's part of a registry                                                           |
//! | `push`      | brings a snapshot there, and moves the stable tag                                      |
//! | `history`   | finds the newest one that can be gone on from                                          |
//!
//! A version is never overwritten: a number is taken only if no tag has it. Numbers go on across runs of the same name; a
//! run goes on from its own versions only, which it knows by its UID.

mod history;
mod policy;
mod push;
mod registry;
mod saved;
mod snapshot;

pub use self::history::{Checkpoint, History, HistoryError};
pub use self::policy::{Decision, Last, Policy, Schedule};
pub use self::push::{PushError, Pushed, Stable};
pub use self::registry::Registry;
pub use self::saved::{Saved, SavedError};
pub use self::snapshot::{About, Snapshot};
