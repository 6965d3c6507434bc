//! Conversion of SQLite errors.

use rusqlite::Error;

use super::space::{full, is_full};
use crate::StoreError;

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        match error {
            Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::InvalidColumnType(..)
            | Error::Utf8Error(..) => corrupt(error.to_string()),
            error if is_full(&error) => full(),
            _ => Self::Unavailable(Box::new(error)),
        }
    }
}

pub(super) fn corrupt(what: impl Into<String>) -> StoreError {
    StoreError::Corrupt { what: what.into() }
}

#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the writer thread ended unexpectedly")]
pub(super) struct WriterGone;

/// JSON cannot represent infinite numbers and NaN.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the result contains a number that is not finite")]
pub(super) struct NotFinite;

pub(super) fn unavailable(error: impl std::error::Error + Send + Sync + 'static) -> StoreError {
    StoreError::Unavailable(Box::new(error))
}
