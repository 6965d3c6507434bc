//! Failures of store operations.

use vmafx_job::TenantLimit;

use crate::ids::JobId;

pub type StoreResult<T> = Result<T, StoreError>;

/// A failure of the store itself. Refusals such as a missing session are results, not errors.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The store cannot be reached or cannot write. Nothing was stored, unless the connection broke during the
    /// commit.
    #[error("the store is unavailable")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A stored value cannot be parsed.
    #[error("the store holds a value that cannot be read: {what}")]
    Corrupt { what: String },
    #[error("the store's schema has version {found}, this program needs {needed}: {remedy}")]
    Schema { found: i64, needed: i64, remedy: &'static str },
    /// The cursor was issued by another store, or rows after it were removed.
    #[error("the cursor is too old or from another store: begin again without one")]
    Cursor,
    /// There is no room for anything new; nothing was stored. What ends or cancels a job may still be stored.
    #[error("the store is full: {remedy}")]
    Full { remedy: &'static str },
    /// The submitter used the key for another request before; nothing was stored.
    #[error(
        "the idempotency key stands for another request, that of job {job}: use a new key for a new request"
    )]
    KeyReused { job: JobId },
    /// The tenant holds as much as it may; nothing was stored.
    #[error("the tenant has reached its limit {limit} of {max}")]
    LimitReached { limit: TenantLimit, max: u64 },
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// The name that metrics and logs use.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Unavailable(_) => "Unavailable",
            Self::Corrupt { .. } => "Corrupt",
            Self::Schema { .. } => "Schema",
            Self::Cursor => "Cursor",
            Self::Full { .. } => "Full",
            Self::KeyReused { .. } => "KeyReused",
            Self::LimitReached { .. } => "LimitReached",
            Self::Closed => "Closed",
        }
    }
}
