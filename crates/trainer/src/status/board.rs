//! What is known of a run, in one place: written by those who do the work, read by those who are asked.

use jiff::Timestamp;
use serde::Serialize;
use tokio::sync::watch;

use crate::learner::Evaluation;

/// Where a run stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// It looks for its base model and its last checkpoint.
    #[default]
    Initializing,
    /// It learns, or would if there were samples.
    Running,
    /// It was told to leave, and saves its work.
    Paused,
    /// It cannot begin, and waiting will not help.
    Failed,
}

/// A checkpoint that is in the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its tag.
    pub version: String,
    /// Its digest.
    pub digest: String,
    /// When it was made.
    pub at: Timestamp,
}

/// What the gate said of the last checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    /// Whether it held.
    pub passed: bool,
    /// Why.
    pub message: String,
}

/// What is known of a run. Texts stay the same while nothing changes: people are told of every change.
#[derive(Clone, Debug, Default)]
pub struct Status {
    /// Where it stands.
    pub phase: Phase,
    /// Samples learned from.
    pub samples: u64,
    /// Of these, in no checkpoint.
    pub pending: u64,
    /// The last checkpoint.
    pub checkpoint: Option<Written>,
    /// What the stable tag points to.
    pub stable_version: Option<String>,
    /// How good the model is.
    pub evaluation: Option<Evaluation>,
    /// Whether the last checkpoint was good enough.
    pub gate: Option<Gate>,
    /// Why the last checkpoint is not in the registry.
    pub push_error: String,
    /// Why it cannot begin.
    pub start_error: String,
    /// Why no samples come.
    pub source_error: String,
    /// What went wrong and was got over, until the next checkpoint.
    pub notice: String,
}

impl Status {
    /// Everything that is wrong, the gravest first.
    pub fn error(&self) -> String {
        let texts = [&self.start_error, &self.source_error, &self.notice];
        texts.into_iter().filter(|text| !text.is_empty()).cloned().collect::<Vec<_>>().join("; ")
    }
}

/// Where it is written down. Clones are the same board.
#[derive(Clone, Debug, Default)]
pub struct Board(watch::Sender<Status>);

impl Board {
    /// Changes it.
    pub fn update(&self, change: impl FnOnce(&mut Status)) {
        self.0.send_modify(change);
    }

    /// Changes it if there is something to change.
    pub fn update_if(&self, change: impl FnOnce(&mut Status) -> bool) {
        self.0.send_if_modified(change);
    }

    /// Looks at it.
    pub fn read<T>(&self, look: impl FnOnce(&Status) -> T) -> T {
        look(&self.0.borrow())
    }

    /// Follows it.
    pub fn follow(&self) -> watch::Receiver<Status> {
        self.0.subscribe()
    }
}
