//! Why an operation failed.

/// An error of the store itself; refusals are answers, not errors.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It does not answer, or the disk is full: nothing was stored, unless the connection broke while it was.
    #[error("the store does not answer")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// What was read makes no sense.
    #[error("the store holds a value that cannot be read: {what}")]
    Corrupt {
        /// Which.
        what: String,
    },
    /// The schema is not the one of this program.
    #[error("the store's schema has version {found}, this program needs {needed}: {remedy}")]
    Schema {
        /// What is there.
        found: i64,
        /// What must be there.
        needed: i64,
        /// What to do.
        remedy: &'static str,
    },
    /// A cursor that cannot be continued from.
    #[error("the cursor is too old or from another store: begin again without one")]
    Cursor,
    /// It was closed.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// One word, for metrics and logs.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Unavailable(_) => "Unavailable",
            Self::Corrupt { .. } => "Corrupt",
            Self::Schema { .. } => "Schema",
            Self::Cursor => "Cursor",
            Self::Closed => "Closed",
        }
    }
}
