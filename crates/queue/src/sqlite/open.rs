//! Opening the database file.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::lock::{FileLock, LockError};
use super::migrate::{self, REMEDY, SCHEMA_VERSION, UnusableDatabase};
use super::path::beside;

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file or its directory cannot be created.
    #[error("{path} cannot be created or written")]
    Path {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{path} is in use by {}: stop that process, or use another file", holder_text(*.holder))]
    Locked {
        path: PathBuf,
        /// The process that holds the lock, if it is known.
        holder: Option<u32>,
    },
    #[error("{path} is not an SQLite database, or is damaged: restore it from a backup, or use another file")]
    NotADatabase { path: PathBuf },
    #[error("{path} is the database of another program: use another file")]
    Foreign { path: PathBuf },
    #[error("the schema of {path} has version {found}, this program supports {needed}: {remedy}")]
    Newer {
        path: PathBuf,
        found: i64,
        /// What this program knows.
        needed: i64,
        remedy: &'static str,
    },
    #[error("the file system of {path} does not support a write-ahead log: use a file on a local disk")]
    NoWriteAheadLog { path: PathBuf },
    #[error("{path} cannot be opened")]
    Database {
        path: PathBuf,
        #[source]
        source: rusqlite::Error,
    },
    #[error("{path} cannot be opened, because its volume is full: free space on it, or enlarge it")]
    Full {
        path: PathBuf,
        #[source]
        source: rusqlite::Error,
    },
    /// A stored value cannot be parsed.
    #[error("{path} contains a value that cannot be read")]
    Contents {
        path: PathBuf,
        #[source]
        source: crate::StoreError,
    },
    #[error("the writer thread cannot be started")]
    Thread(#[source] io::Error),
}

fn holder_text(holder: Option<u32>) -> String {
    holder.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
}

/// A locked file with the schema of this program.
pub(super) struct Opened {
    pub(super) path: PathBuf,
    pub(super) connection: Connection,
    pub(super) lock: FileLock,
}

/// Opens the file; creates it and its directory if they are missing.
pub(super) fn open(path: &Path) -> Result<Opened, OpenError> {
    let path = create_file(path).map_err(|source| OpenError::Path { path: path.to_owned(), source })?;
    let lock = FileLock::take(&beside(&path, ".lock")).map_err(|error| match error {
        LockError::Held(holder) => OpenError::Locked { path: path.clone(), holder },
        LockError::Io(source) => OpenError::Path { path: path.clone(), source },
    })?;
    let connection = open_writer(&path).map_err(|error| match error {
        UnusableDatabase::Newer(found) => {
            OpenError::Newer { path: path.clone(), found, needed: SCHEMA_VERSION, remedy: REMEDY }
        }
        UnusableDatabase::NoWriteAheadLog => OpenError::NoWriteAheadLog { path: path.clone() },
        UnusableDatabase::Foreign => OpenError::Foreign { path: path.clone() },
        UnusableDatabase::Sqlite(error) => unusable(&path, error),
    })?;
    Ok(Opened { path, connection, lock })
}

pub(super) fn unusable(path: &Path, source: rusqlite::Error) -> OpenError {
    let path = path.to_owned();
    if is_damage(&source) { OpenError::NotADatabase { path } } else { OpenError::Database { path, source } }
}

/// Creates what is missing with permissions for its owner only. Returns the path without symbolic links, so that
/// one file has exactly one lock.
fn create_file(path: &Path) -> io::Result<PathBuf> {
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
    fs::canonicalize(path)
}

pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt))
}

/// Connections block each other only during checkpoints and recovery.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Number of prepared statements kept by each connection.
const STATEMENT_CACHE_SIZE: usize = 128;

/// Settings of readers and writer. The query planner stability guarantee (QPSG) keeps plans independent of bound
/// values: SQLite would otherwise plan a statement again whenever a value changes, which costs several times as
/// much as a claim.
fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENT_CACHE_SIZE);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// The connection of the writer thread.
///
/// | setting            | because                                                                               |
/// |--------------------|---------------------------------------------------------------------------------------|
/// | WAL                | readers do not stall the writer, nor it them                                          |
/// | synchronous=FULL   | what was committed survives the loss of power                                         |
/// | auto_vacuum        | space of removed jobs can be given back in small steps; fixed at creation             |
/// | wal_autocheckpoint | 16 MiB: rarer than the default, since a checkpoint syncs twice                        |
/// | cache_size         | 8 MiB: claims go through the jobs once, and a commit may look at every page it holds  |
/// | journal_size_limit | a log that grew in a burst becomes short again                                        |
fn open_writer(path: &Path) -> Result<Connection, UnusableDatabase> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    configure(&connection)?;
    connection.execute_batch(
        "PRAGMA auto_vacuum = INCREMENTAL;
         PRAGMA journal_mode = WAL;
         PRAGMA synchronous = FULL;
         PRAGMA foreign_keys = ON;
         PRAGMA temp_store = MEMORY;
         PRAGMA cache_size = -8192;
         PRAGMA wal_autocheckpoint = 4096;
         PRAGMA journal_size_limit = 33554432;",
    )?;
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    if mode != "wal" {
        return Err(UnusableDatabase::NoWriteAheadLog);
    }
    migrate::migrate(&mut connection)?;
    Ok(connection)
}

pub(super) fn open_reader(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    configure(&connection)?;
    connection.execute_batch("PRAGMA temp_store = MEMORY; PRAGMA cache_size = -4096;")?;
    Ok(connection)
}
