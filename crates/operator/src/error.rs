//! What can go wrong between us and the API server, and what is to be done about it.

use std::time::Duration;

use vmafx_api::conditions::Reason;

/// What to do about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Soon: somebody wrote at the same time, or our view was old.
    Soon,
    /// With growing pauses.
    Later,
    /// Slowly: only a change of the resource, of a permission or of another object will help.
    Slowly,
}

/// A call to the API server that did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// Somebody else wrote in between.
    #[error("cannot {action}: it changed in between")]
    Conflict {
        /// What was to be done.
        action: &'static str,
        /// The server's answer.
        #[source]
        source: kube::Error,
    },
    /// The server will not have it; its own words are in the message.
    #[error("cannot {action}: {message}")]
    Invalid {
        /// What was to be done.
        action: &'static str,
        /// What the server said.
        message: String,
    },
    /// A permission is missing.
    #[error("cannot {action}: {message}")]
    Forbidden {
        /// What was to be done.
        action: &'static str,
        /// What the server said.
        message: String,
    },
    /// Somebody else leads.
    #[error("cannot {action}: another operator has the lease")]
    NotLeading {
        /// What was to be done.
        action: &'static str,
    },
    /// No answer in time.
    #[error("cannot {action}: no answer within {within:?}")]
    TimedOut {
        /// What was to be done.
        action: &'static str,
        /// How long was waited.
        within: Duration,
    },
    /// Anything else.
    #[error("cannot {action}")]
    Failed {
        /// What was to be done.
        action: &'static str,
        /// Why not.
        #[source]
        source: kube::Error,
    },
}

/// How long an answer of the API server is waited for.
const WITHIN: Duration = Duration::from_secs(10);

/// One call to the API server, with its deadline.
pub async fn call<T>(
    action: &'static str,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, ApiError> {
    match tokio::time::timeout(WITHIN, request).await {
        Ok(answer) => answer.map_err(|error| ApiError::of(action, error)),
        Err(_) => Err(ApiError::TimedOut { action, within: WITHIN }),
    }
}

const UNDECLARED: &str = "field not declared in schema";

impl ApiError {
    /// Sorts a failure by what is to be done about it.
    pub fn of(action: &'static str, source: kube::Error) -> Self {
        if crate::client::refused_by_gate(&source) {
            return Self::NotLeading { action };
        }
        match &source {
            kube::Error::Api(status) => match status.code {
                409 => Self::Conflict { action, source },
                // Of a fence that did not hold it is said that the UID cannot be changed.
                422 if names(status, "metadata.uid") => Self::Conflict { action, source },
                400 | 413 | 422 => Self::Invalid { action, message: status.message.clone() },
                401 | 403 => Self::Forbidden { action, message: status.message.clone() },
                // An apply with a field that there is not is answered as if the server were at fault.
                500 if status.message.contains(UNDECLARED) => {
                    Self::Invalid { action, message: status.message.clone() }
                }
                _ => Self::Failed { action, source },
            },
            _ => Self::Failed { action, source },
        }
    }

    /// The word for condition, event and metric.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Invalid { .. } => Reason::Invalid,
            Self::Forbidden { .. } => Reason::Forbidden,
            Self::Conflict { .. } | Self::NotLeading { .. } | Self::TimedOut { .. } | Self::Failed { .. } => {
                Reason::SyncFailed
            }
        }
    }

    /// What to do.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Conflict { .. } => Retry::Soon,
            Self::Invalid { .. } | Self::Forbidden { .. } => Retry::Slowly,
            Self::NotLeading { .. } | Self::TimedOut { .. } | Self::Failed { .. } => Retry::Later,
        }
    }
}

/// Whether a refusal is about this field.
fn names(status: &kube::core::Status, field: &str) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes.into_iter().any(|cause| cause.field == field)
}
