use std::io;

use crate::kube::PkiError;
use crate::kube::process::ProcessError;
use crate::wait::TimedOut;

#[derive(Debug, thiserror::Error)]
pub enum PostgresError {
    #[error(
        "Postgres is not installed: run scripts/setup, or set VMAFX_POSTGRES_BIN to the directory of its programs"
    )]
    NoServer,
    #[error("Postgres does not run as root, and there is no account postgres or nobody to run it as")]
    NoAccount,
    #[error("root needs setpriv to run Postgres under another account: install util-linux")]
    NoSetpriv,
    #[error("cannot create the directory of the Postgres server")]
    Files(#[from] io::Error),
    #[error("cannot create the certificate of the Postgres server")]
    Certificate(#[from] PkiError),
    #[error("initdb failed:\n{0}")]
    InitDb(String),
    #[error("Postgres did not start")]
    Process(#[from] ProcessError),
    #[error("Postgres did not stop")]
    Stop(#[from] TimedOut),
    #[error("cannot create a test database")]
    Refused(#[from] tokio_postgres::Error),
}
