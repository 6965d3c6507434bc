//! Errors of requests to the API server, classified by what to do about them.

use std::time::Duration;

use vmafx_api::conditions::Reason;

/// How soon a failure is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Almost at once: another client wrote at the same time, or the operator's view was stale.
    Soon,
    /// With a growing delay.
    Later,
    /// Rarely: only a change of the resource, of a permission or of another object will help.
    Slowly,
}

/// A request to the API server that failed. `action` completes the sentence "cannot …".
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    #[error("cannot {action}: it changed in between")]
    Conflict {
        action: &'static str,
        #[source]
        source: kube::Error,
    },
    /// The API server refuses the object; `message` is its own.
    #[error("cannot {action}: {message}")]
    Invalid { action: &'static str, message: String },
    #[error("cannot {action}: {message}")]
    Forbidden { action: &'static str, message: String },
    #[error("cannot {action}: another operator has the lease")]
    NotLeading { action: &'static str },
    #[error("cannot {action}: no answer within {within:?}")]
    TimedOut { action: &'static str, within: Duration },
    #[error("cannot {action}")]
    Failed {
        action: &'static str,
        #[source]
        source: kube::Error,
    },
}

const TIMEOUT: Duration = Duration::from_secs(10);

/// One request to the API server, with a timeout.
pub async fn call<T>(
    action: &'static str,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, ApiError> {
    match tokio::time::timeout(TIMEOUT, request).await {
        Ok(answer) => answer.map_err(|error| ApiError::of(action, error)),
        Err(_) => Err(ApiError::TimedOut { action, within: TIMEOUT }),
    }
}

const UNDECLARED: &str = "field not declared in schema";

impl ApiError {
    pub fn of(action: &'static str, source: kube::Error) -> Self {
        if crate::client::refused_by_gate(&source) {
            return Self::NotLeading { action };
        }
        match &source {
            kube::Error::Api(status) => match status.code {
                409 => Self::Conflict { action, source },
                // An apply with another UID than the object has is answered as an attempt to change the UID.
                422 if names(status, "metadata.uid") => Self::Conflict { action, source },
                400 | 413 | 422 => Self::Invalid { action, message: status.message.clone() },
                401 | 403 => Self::Forbidden { action, message: status.message.clone() },
                // An apply with an unknown field is answered as an internal error.
                500 if status.message.contains(UNDECLARED) => {
                    Self::Invalid { action, message: status.message.clone() }
                }
                _ => Self::Failed { action, source },
            },
            _ => Self::Failed { action, source },
        }
    }

    /// The reason that condition, event and metric share.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Invalid { .. } => Reason::Invalid,
            Self::Forbidden { .. } => Reason::Forbidden,
            Self::Conflict { .. } | Self::NotLeading { .. } | Self::TimedOut { .. } | Self::Failed { .. } => {
                Reason::SyncFailed
            }
        }
    }

    pub fn retry(&self) -> Retry {
        match self {
            Self::Conflict { .. } => Retry::Soon,
            Self::Invalid { .. } | Self::Forbidden { .. } => Retry::Slowly,
            Self::NotLeading { .. } | Self::TimedOut { .. } | Self::Failed { .. } => Retry::Later,
        }
    }
}

/// Whether the API server refuses the object because of this field.
fn names(status: &kube::core::Status, field: &str) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes.into_iter().any(|cause| cause.field == field)
}
