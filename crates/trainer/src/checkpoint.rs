//! Checkpoints: when they are taken, what they contain, how they reach the registry, and how a run resumes from one.
//!
//! | file            | holds                                                    |
//! |-----------------|----------------------------------------------------------|
//! | `schedule`      | when a checkpoint is taken: pure                         |
//! | `snapshot`      | the content of a checkpoint, taken at one moment         |
//! | `trainer_state` | the state layer, from which a run resumes                |
//! | `registry`      | the repository and the tags of one run                   |
//! | `push`          | pushes a snapshot, and moves the stable tag              |
//! | `history`       | finds the latest checkpoint from which a run can resume  |
//!
//! A version is never overwritten: a push uses a number that no tag has. Numbers continue across runs of the same
//! name. A run resumes from its own versions only, which it recognizes by its UID.

mod history;
mod push;
mod registry;
mod schedule;
mod snapshot;
mod trainer_state;

pub use self::history::{CheckpointHistory, HistoryError, RestoredCheckpoint};
pub use self::push::{PushError, PushedCheckpoint, StableTagUpdate};
pub use self::registry::CheckpointRegistry;
pub use self::schedule::{CheckpointDecision, CheckpointPolicy, CheckpointSchedule, LastCheckpoint};
pub use self::snapshot::{CheckpointSnapshot, RunMetadata};
pub use self::trainer_state::{TrainerState, TrainerStateError};
