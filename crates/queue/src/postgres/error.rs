//! Errors of connections and statements.

use std::sync::Arc;

use deadpool_postgres::{HookError, PoolError};
use tokio_postgres::error::SqlState;

use crate::store::StoreError;

#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The message leaves out the address, because it may contain a password.
    #[error("the database address cannot be parsed: {what}")]
    Dsn { what: String },
    #[error("the certificates for the database cannot be used: {what}")]
    Certificates { what: String },
    #[error(
        "the database role {role:?} is a superuser or has BYPASSRLS, so nothing would keep tenants apart: connect as \
         a role without either (CREATE ROLE vmafx LOGIN NOSUPERUSER NOBYPASSRLS) that owns the database or the \
         schema vmafx"
    )]
    Privileged { role: String },
    /// The feeds wait for the transactions of the owner and its members only, so every writer must be one of them.
    #[error(
        "the database role {role:?} is not a member of {owner:?}, which owns the tables in the schema vmafx: connect \
         as {owner:?}, or GRANT {owner:?} TO {role:?}"
    )]
    NotOwner { role: String, owner: String },
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Debug, thiserror::Error)]
#[error("the database did not answer in time")]
pub(super) struct TimedOut;

#[derive(Clone, Debug, thiserror::Error)]
#[error(transparent)]
struct SharedError(Arc<StoreError>);

/// Makes copies of an error for all callers of a batch.
pub(super) fn shared_error(error: StoreError) -> impl Fn() -> StoreError {
    let shared = SharedError(Arc::new(error));
    move || match &*shared.0 {
        StoreError::Closed => StoreError::Closed,
        StoreError::Corrupt { what } => StoreError::Corrupt { what: what.clone() },
        StoreError::Full { remedy } => StoreError::Full { remedy },
        _ => StoreError::Unavailable(Box::new(shared.clone())),
    }
}

/// Wraps an error of the server or of the connection. Nothing was stored, unless the connection broke.
pub(super) fn unavailable(error: tokio_postgres::Error) -> StoreError {
    if error.code() == Some(&SqlState::DISK_FULL) {
        tracing::error!(error = &error as &dyn std::error::Error, "the database has no room");
        return full();
    }
    StoreError::Unavailable(Box::new(error))
}

pub(super) fn full() -> StoreError {
    let remedy = "free space on the database's volume or enlarge it, or lower VMAFX_RETENTION_JOBS; the controller \
                  goes on by itself";
    StoreError::Full { remedy }
}

pub(super) fn no_connection(error: PoolError) -> StoreError {
    match error {
        PoolError::Closed => StoreError::Closed,
        PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
            unavailable(error)
        }
        other => StoreError::Unavailable(Box::new(other)),
    }
}

pub(super) fn timed_out() -> StoreError {
    StoreError::Unavailable(Box::new(TimedOut))
}

pub(super) fn corrupt(what: impl Into<String>) -> StoreError {
    StoreError::Corrupt { what: what.into() }
}

/// How a caller reacts to an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ErrorClass {
    /// A deadlock or serialization failure: the transaction was rolled back and can be retried.
    Retry,
    /// The server rejects the values themselves, for example one that is too long for an index.
    Rejected,
    /// The connection broke, and the outcome of the transaction is unknown.
    ConnectionLost,
    Other,
}

pub(super) fn classify(error: &StoreError) -> ErrorClass {
    let StoreError::Unavailable(source) = error else { return ErrorClass::Other };
    let Some(error) = source.downcast_ref::<tokio_postgres::Error>() else { return ErrorClass::Other };
    match error.code() {
        Some(code) => classify_code(code),
        None => ErrorClass::ConnectionLost,
    }
}

fn classify_code(code: &SqlState) -> ErrorClass {
    match code.code().get(..2) {
        Some("40") => ErrorClass::Retry,
        Some("22" | "23" | "54") => ErrorClass::Rejected,
        // The server is shutting down or starting up.
        Some("57") if *code != SqlState::QUERY_CANCELED => ErrorClass::ConnectionLost,
        _ => ErrorClass::Other,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(SqlState::T_R_DEADLOCK_DETECTED, ErrorClass::Retry)]
    #[case(SqlState::PROGRAM_LIMIT_EXCEEDED, ErrorClass::Rejected)]
    #[case(SqlState::CHARACTER_NOT_IN_REPERTOIRE, ErrorClass::Rejected)]
    #[case(SqlState::ADMIN_SHUTDOWN, ErrorClass::ConnectionLost)]
    #[case(SqlState::CANNOT_CONNECT_NOW, ErrorClass::ConnectionLost)]
    #[case(SqlState::QUERY_CANCELED, ErrorClass::Other)]
    #[case(SqlState::DISK_FULL, ErrorClass::Other)]
    fn codes_are_classified(#[case] code: SqlState, #[case] expected: ErrorClass) {
        assert_eq!(classify_code(&code), expected);
    }

    #[test]
    fn every_caller_of_a_batch_gets_its_error() {
        let error = shared_error(corrupt("a value"));
        assert!(matches!(error(), StoreError::Corrupt { what } if what == "a value"));
        assert!(matches!(shared_error(timed_out())(), StoreError::Unavailable(_)));
    }
}
