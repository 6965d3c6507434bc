//! The current status of a run, written by the tasks that do the work and read by the HTTP handlers.

use jiff::Timestamp;
use serde::Serialize;
use tokio::sync::watch;

use crate::learner::{Evaluation, LabellerSummary};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TrainerPhase {
    /// It looks for its base model and its latest checkpoint.
    #[default]
    Initializing,
    /// It learns, or waits for samples.
    Running,
    /// It received the signal to stop, and saves its work.
    Paused,
    /// It cannot start until the cause is fixed.
    Failed,
}

/// A checkpoint in the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointSummary {
    /// Its tag.
    pub version: String,
    pub digest: String,
    pub created: Timestamp,
}

/// The promotion gate's verdict on the latest checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateSummary {
    pub passed: bool,
    pub message: String,
}

/// Texts must stay the same while their cause does: the operator publishes every change.
#[derive(Clone, Debug, Default)]
pub struct TrainerStatus {
    pub phase: TrainerPhase,
    /// Number of accepted samples.
    pub samples: u64,
    /// Number of accepted samples that no checkpoint contains.
    pub pending: u64,
    pub checkpoint: Option<CheckpointSummary>,
    /// The version that the stable tag refers to.
    pub stable_version: Option<String>,
    pub evaluation: Option<Evaluation>,
    pub labellers: LabellerSummary,
    pub gate: Option<GateSummary>,
    /// Why the latest checkpoint is not in the registry.
    pub push_error: String,
    /// Why training cannot start.
    pub start_error: String,
    /// Why no samples arrive.
    pub source_error: String,
    /// A problem that the trainer has already recovered from. The next checkpoint clears it.
    pub notice: String,
}

impl TrainerStatus {
    /// All errors, the most severe first.
    pub fn error(&self) -> String {
        let texts = [&self.start_error, &self.source_error, &self.notice];
        texts.into_iter().filter(|text| !text.is_empty()).cloned().collect::<Vec<_>>().join("; ")
    }
}

/// Clones share one status. A watch channel without receivers is a lock that a panic does not poison.
#[derive(Clone, Debug, Default)]
pub struct SharedStatus(watch::Sender<TrainerStatus>);

impl SharedStatus {
    pub fn update(&self, change: impl FnOnce(&mut TrainerStatus)) {
        self.0.send_modify(change);
    }

    pub fn read<T>(&self, read: impl FnOnce(&TrainerStatus) -> T) -> T {
        read(&self.0.borrow())
    }
}
