//! Why there is no server.

use std::io;

use crate::kube::PkiError;
use crate::kube::process::ProcessError;
use crate::wait::TimedOut;

/// Why a server or a database could not be had.
#[derive(Debug, thiserror::Error)]
pub enum PostgresError {
    /// It is not installed.
    #[error(
        "no Postgres server on this machine: run scripts/setup, or name its directory in VMAFX_POSTGRES_BIN"
    )]
    NoServer,
    /// Postgres refuses to run as root, and there is nobody else.
    #[error("Postgres does not run as root, and there is neither an account postgres nor nobody")]
    NoAccount,
    /// To run it as somebody else, root needs a tool.
    #[error("no setpriv (util-linux), which root needs to run Postgres as somebody else")]
    NoSetpriv,
    /// Files.
    #[error("the directory of a test database could not be made")]
    Files(#[from] io::Error),
    /// Its certificate.
    #[error("the certificate of a test database could not be made")]
    Certificate(#[from] PkiError),
    /// `initdb` failed.
    #[error("initdb failed:\n{0}")]
    Initialise(String),
    /// The server does not start.
    #[error("Postgres does not start")]
    Process(#[from] ProcessError),
    /// The server does not stop.
    #[error("Postgres does not stop")]
    Stop(#[from] TimedOut),
    /// The server refused something.
    #[error("the test database could not be made")]
    Refused(#[from] tokio_postgres::Error),
}
