//! Why a call is refused. gRPC and HTTP say the same thing, each in its own words: `grpc::status` and `http::problem`
//! hold the two tables.

/// A refusal. The text is for the caller and names what to change; nothing internal is in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No token, or a bad one. Always the same text, so that nothing is learned from it.
    #[error("invalid or missing token")]
    Unauthenticated,
    /// The token is good and says not enough.
    #[error("{0}")]
    Incomplete(&'static str),
    /// Known, and not allowed.
    #[error("{0}")]
    Denied(String),
    /// A clip or a report is outside the scoring roots of the tenant.
    #[error("{field}: {problem}")]
    OutsideRoots { field: String, problem: String },
    /// Something in the request is wrong.
    #[error("{field}: {problem}")]
    Invalid {
        /// Which field, as the caller wrote it.
        field: String,
        /// What is wrong with it, and what to do.
        problem: String,
    },
    /// There is no such thing.
    #[error("{0}")]
    NotFound(String),
    /// It cannot be done to this thing as it is now.
    #[error("{0}")]
    Conflict(String),
    /// A cursor that cannot be continued from.
    #[error("{0}")]
    OutOfRange(String),
    /// Too much of it.
    #[error("{0}")]
    Exhausted(String),
    /// Not now; the same call may succeed later.
    #[error("{0}")]
    Unavailable(String),
    /// Our fault; the log has the rest.
    #[error("internal error")]
    Internal,
}

impl Refusal {
    /// A field that is wrong.
    pub fn invalid(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Invalid { field: field.into(), problem: problem.into() }
    }
}

impl Refusal {
    /// A scoring request that cannot be accepted; `within` is the message that its fields stand in, if any.
    pub fn invalid_request(within: &str, error: vmafx_job::InvalidRequest) -> Self {
        let field = if within.is_empty() { error.field } else { format!("{within}.{}", error.field) };
        Self::invalid(field, error.problem)
    }
}

impl From<vmafx_queue::StoreError> for Refusal {
    fn from(error: vmafx_queue::StoreError) -> Self {
        use vmafx_queue::StoreError;
        match error {
            StoreError::Cursor => Self::OutOfRange(error.to_string()),
            StoreError::Closed => Self::Unavailable("the controller is shutting down".to_owned()),
            StoreError::Unavailable(_) | StoreError::Corrupt { .. } | StoreError::Schema { .. } => {
                tracing::error!(error = &error as &dyn std::error::Error, "the store failed");
                Self::Internal
            }
        }
    }
}
