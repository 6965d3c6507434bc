//! What goes wrong between the store and its server.

use std::sync::Arc;

use deadpool_postgres::PoolError;
use tokio_postgres::error::SqlState;

use crate::store::StoreError;

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The address cannot be read. It is not repeated: it may hold a password.
    #[error("the database's address cannot be read: {what}")]
    Dsn {
        /// Which part.
        what: String,
    },
    /// The certificates that the address asks for cannot be used.
    #[error("the certificates for the database cannot be used: {what}")]
    Certificates {
        /// Which, and why.
        what: String,
    },
    /// The role would see every tenant's rows, whatever the policies say.
    #[error(
        "the database role {role:?} is a superuser or has BYPASSRLS, so nothing would keep tenants apart: connect as \
         a role without either (CREATE ROLE vmafx LOGIN NOSUPERUSER NOBYPASSRLS) that owns the database or the \
         schema vmafx"
    )]
    Privileged {
        /// Who we are.
        role: String,
    },
    /// It answered, but not as a store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The call took too long.
#[derive(Debug, thiserror::Error)]
#[error("no answer in time")]
pub(super) struct Late;

/// An error that several callers get.
#[derive(Clone, Debug, thiserror::Error)]
#[error(transparent)]
struct Shared(Arc<StoreError>);

/// Gives the same error to everybody who was in the same transaction.
pub(super) fn for_all(error: StoreError) -> impl Fn() -> StoreError {
    let shared = Shared(Arc::new(error));
    move || match &*shared.0 {
        StoreError::Closed => StoreError::Closed,
        StoreError::Corrupt { what } => StoreError::Corrupt { what: what.clone() },
        _ => StoreError::Unavailable(Box::new(shared.clone())),
    }
}

/// Any error of the server or of the way to it. Nothing was stored, unless the connection broke.
pub(super) fn unavailable(error: tokio_postgres::Error) -> StoreError {
    StoreError::Unavailable(Box::new(error))
}

pub(super) fn no_connection(error: PoolError) -> StoreError {
    match error {
        PoolError::Closed => StoreError::Closed,
        PoolError::Backend(error) => unavailable(error),
        other => StoreError::Unavailable(Box::new(other)),
    }
}

pub(super) fn late() -> StoreError {
    StoreError::Unavailable(Box::new(Late))
}

pub(super) fn corrupt(what: impl Into<String>) -> StoreError {
    StoreError::Corrupt { what: what.into() }
}

/// What is to be done about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Undone by the server for the sake of others: the same again will do.
    Again,
    /// The server will never take this: values too long for an index, and the like.
    Refused,
    /// The connection is gone, and with it the answer.
    Broken,
    /// Anything else.
    Other,
}

/// Tells them apart.
pub(super) fn kind(error: &StoreError) -> Kind {
    let StoreError::Unavailable(source) = error else { return Kind::Other };
    let Some(error) = source.downcast_ref::<tokio_postgres::Error>() else { return Kind::Other };
    match error.code() {
        Some(code) => kind_of(code),
        None => Kind::Broken,
    }
}

fn kind_of(code: &SqlState) -> Kind {
    match code.code().get(..2) {
        Some("40") => Kind::Again,
        Some("22" | "23" | "54") => Kind::Refused,
        // The server stops, or starts.
        Some("57") if *code != SqlState::QUERY_CANCELED => Kind::Broken,
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(SqlState::T_R_DEADLOCK_DETECTED, Kind::Again)]
    #[case(SqlState::PROGRAM_LIMIT_EXCEEDED, Kind::Refused)]
    #[case(SqlState::CHARACTER_NOT_IN_REPERTOIRE, Kind::Refused)]
    #[case(SqlState::ADMIN_SHUTDOWN, Kind::Broken)]
    #[case(SqlState::CANNOT_CONNECT_NOW, Kind::Broken)]
    #[case(SqlState::QUERY_CANCELED, Kind::Other)]
    #[case(SqlState::DISK_FULL, Kind::Other)]
    fn codes_tell_what_to_do(#[case] code: SqlState, #[case] expected: Kind) {
        assert_eq!(kind_of(&code), expected);
    }

    #[test]
    fn everybody_in_a_transaction_gets_its_error() {
        let error = for_all(corrupt("a word"));
        assert!(matches!(error(), StoreError::Corrupt { what } if what == "a word"));
        assert!(matches!(for_all(late())(), StoreError::Unavailable(_)));
    }
}
