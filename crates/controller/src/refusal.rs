//! Why a call is refused. `grpc::status` and `http::problem` map each refusal to a status of their protocol.

use vmafx_job::TenantLimit;

/// The text is for the caller: it says what to change and contains nothing internal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// All missing and invalid tokens get the same text, so that a caller learns nothing about the checks.
    #[error("invalid or missing token")]
    Unauthenticated,
    /// The token is valid and lacks a claim.
    #[error("{0}")]
    Incomplete(&'static str),
    /// The caller is authenticated and not authorized.
    #[error("{0}")]
    Denied(String),
    /// A clip is outside the scoring roots of the tenant, or a report outside its report roots.
    #[error("{field}: {problem}")]
    OutsideRoots { field: String, problem: String },
    /// `field` is the name in the spelling of the caller's protocol.
    #[error("{field}: {problem}")]
    Invalid { field: String, problem: String },
    #[error("{0}")]
    NotFound(String),
    /// The operation is not possible in the current state of the job.
    #[error("{0}")]
    Conflict(String),
    /// The cursor cannot be continued from.
    #[error("{0}")]
    OutOfRange(String),
    #[error("{0}")]
    Exhausted(String),
    /// The store has no room for anything new.
    #[error("{0}")]
    StoreFull(String),
    /// The tenant, or the caller, holds as much as it may.
    #[error("{problem}")]
    LimitReached { limit: TenantLimit, problem: String },
    /// The idempotency key stands for another request.
    #[error("idempotency_key: {0}")]
    KeyReused(String),
    /// The same call may succeed later.
    #[error("{0}")]
    Unavailable(String),
    /// The store cannot be reached; the cause is in the log. The call may or may not have had an effect.
    #[error("the controller cannot reach its store; try again, at another controller if there is one")]
    StoreUnavailable,
    /// The cause is in the log.
    #[error("internal error")]
    Internal,
}

impl Refusal {
    pub fn invalid(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Invalid { field: field.into(), problem: problem.into() }
    }

    pub fn limit_reached(limit: TenantLimit, max: u64) -> Self {
        let (held, remedy, setting) = match limit {
            TenantLimit::PendingJobs => (
                "jobs of a tenant may wait",
                "submit again when some of them have started, or cancel some",
                "VMAFX_LIMITS_PENDING_JOBS",
            ),
            TenantLimit::RunningJobs => {
                ("jobs of a tenant may run", "wait until some of them end", "VMAFX_LIMITS_RUNNING_JOBS")
            }
            TenantLimit::StoredBytes => (
                "bytes of requests and results of a tenant may be stored",
                "submit again when finished jobs have been removed (VMAFX_RETENTION_JOBS_FOR)",
                "VMAFX_LIMITS_STORED_BYTES",
            ),
            TenantLimit::Nodes => {
                ("nodes of a tenant may be connected", "stop some of them", "VMAFX_LIMITS_NODES")
            }
            TenantLimit::Streams => {
                ("streams of a tenant may be open", "close some of them", "VMAFX_LIMITS_STREAMS")
            }
            TenantLimit::StreamsPerIdentity => (
                "streams of one caller may be open",
                "close some of them",
                "VMAFX_LIMITS_STREAMS_PER_IDENTITY",
            ),
        };
        let problem = format!(
            "limit {limit}: at most {max} {held}; {remedy}, or have the limit raised ({setting}, or the tenant's quota)"
        );
        Self::LimitReached { limit, problem }
    }

    /// Prefixes the field with `within`, the message that contains the scoring request, if any.
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
            StoreError::Full { .. } => Self::StoreFull(error.to_string()),
            StoreError::KeyReused { .. } => Self::KeyReused(error.to_string()),
            StoreError::LimitReached { limit, max } => Self::limit_reached(limit, max),
            StoreError::Closed => Self::Unavailable("the controller is shutting down".to_owned()),
            StoreError::Unavailable(_) => {
                tracing::error!(error = &error as &dyn std::error::Error, "the store failed");
                Self::StoreUnavailable
            }
            StoreError::Corrupt { .. } | StoreError::Schema { .. } => {
                tracing::error!(error = &error as &dyn std::error::Error, "the store failed");
                Self::Internal
            }
        }
    }
}
