//! SQLite's errors, and values that cannot be what they are.

use rusqlite::Error;

use crate::StoreError;

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        match error {
            Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::InvalidColumnType(..)
            | Error::Utf8Error(..) => corrupt(error.to_string()),
            _ => Self::Unavailable(Box::new(error)),
        }
    }
}

/// A stored value that cannot be read.
pub(super) fn corrupt(what: impl Into<String>) -> StoreError {
    StoreError::Corrupt { what: what.into() }
}

/// The thread that writes ended.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the thread that writes ended unexpectedly")]
pub(super) struct WriterGone;

/// A number that has no place in JSON.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("a number is not finite")]
pub(super) struct NotFinite;

pub(super) fn unavailable(error: impl std::error::Error + Send + Sync + 'static) -> StoreError {
    StoreError::Unavailable(Box::new(error))
}
