use std::time::Duration;

use tonic::{Code, Status};

/// Why no samples arrive. The text stays the same while the cause does: the operator publishes every change.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    #[error("{}", message(.0))]
    Call(Box<Status>),
    #[error("the controller sent nothing for {0:?}")]
    IdleTimeout(Duration),
    /// The controller shut down, or limits the duration of streams.
    #[error("the controller closed the sample stream")]
    Closed,
}

impl SourceError {
    /// Whether the controller cannot continue from the cursor.
    pub(super) fn is_cursor_out_of_range(&self) -> bool {
        matches!(self, Self::Call(status) if status.code() == Code::OutOfRange)
    }
}

impl From<Status> for SourceError {
    fn from(status: Status) -> Self {
        Self::Call(Box::new(status))
    }
}

fn message(status: &Status) -> String {
    let hint = match status.code() {
        Code::Unauthenticated => "; check VMAFX_CONTROLLER_TOKEN_FILE",
        Code::PermissionDenied => "; the trainer needs the role vmafx:reader",
        _ => "",
    };
    format!("cannot read samples from the controller: {}{hint}", status.message())
}
