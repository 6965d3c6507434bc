//! Why a job has no score.

use serde::{Deserialize, Serialize};
pub use vmafx_proto::run_once::Reason;

/// A job that has no score. The message is for people: it names the input or field and what to do, and holds no secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// One word.
    pub reason: Reason,
    /// One or two sentences.
    pub message: String,
}

impl Failure {
    /// A failure.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }
}
