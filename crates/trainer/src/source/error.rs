//! Why no samples come.

use std::time::Duration;

use tonic::{Code, Status};

/// Why no samples come. Its words stay the same while nothing changes.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The controller refuses, or cannot be reached.
    #[error("{}", said(.0))]
    Refused(Box<Status>),
    /// The connection is dead.
    #[error("the controller said nothing for {0:?}")]
    Silent(Duration),
    /// The controller shut down, or has a limit on the length of streams.
    #[error("the controller ended the stream")]
    Ended,
}

impl SourceError {
    /// The place in the stream does not exist any more.
    pub(super) fn is_lost_place(&self) -> bool {
        matches!(self, Self::Refused(status) if status.code() == Code::OutOfRange)
    }
}

impl From<Status> for SourceError {
    fn from(status: Status) -> Self {
        Self::Refused(Box::new(status))
    }
}

/// With what can be done about it.
fn said(status: &Status) -> String {
    let hint = match status.code() {
        Code::Unauthenticated => "; is VMAFX_CONTROLLER_TOKEN_FILE right?",
        Code::PermissionDenied => "; the trainer needs the role vmafx:reader",
        _ => "",
    };
    format!("the controller gives no samples: {}{hint}", status.message())
}
