//! Opening the file.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::lock::{FileLock, Refused};
use super::migrate::{self, NEEDED, REMEDY, Unfit};
use super::path::beside;

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file or its directory cannot be made.
    #[error("{path} cannot be used")]
    Place {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// Another controller uses the file.
    #[error("{path} is in use by {}: end it, or use another file", holder_text(*.holder))]
    Locked {
        /// The file.
        path: PathBuf,
        /// The process that has it, if it said so.
        holder: Option<u32>,
    },
    /// It is something else.
    #[error("{path} is not an SQLite database, or is damaged: restore it from a backup, or use another file")]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// It has tables, but not ours.
    #[error("{path} is the database of another program: use another file")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A newer program wrote it.
    #[error("the schema of {path} has version {found}, this program knows {needed}: {remedy}")]
    Newer {
        /// The file.
        path: PathBuf,
        /// What is there.
        found: i64,
        /// What this program knows.
        needed: i64,
        /// What to do.
        remedy: &'static str,
    },
    /// The file system lacks what a log needs.
    #[error("the file system of {path} does not allow a write-ahead log: use a local one")]
    NoLog {
        /// The file.
        path: PathBuf,
    },
    /// SQLite refuses.
    #[error("{path} cannot be opened")]
    Database {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: rusqlite::Error,
    },
    /// What is stored makes no sense.
    #[error("{path} cannot be read")]
    Contents {
        /// The file.
        path: PathBuf,
        /// What does not.
        #[source]
        source: crate::StoreError,
    },
    /// The machine gives no thread.
    #[error("the thread that writes cannot be started")]
    Thread(#[source] io::Error),
}

fn holder_text(holder: Option<u32>) -> String {
    holder.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
}

/// A file that nobody else has, with the schema of this program.
pub(super) struct Opened {
    pub(super) path: PathBuf,
    pub(super) connection: Connection,
    pub(super) lock: FileLock,
}

/// Opens the file, making it and its directory when they are not there.
pub(super) fn open(path: &Path) -> Result<Opened, OpenError> {
    let path = place(path).map_err(|source| OpenError::Place { path: path.to_owned(), source })?;
    let lock = FileLock::take(&beside(&path, ".lock")).map_err(|refused| match refused {
        Refused::Held(holder) => OpenError::Locked { path: path.clone(), holder },
        Refused::Broken(source) => OpenError::Place { path: path.clone(), source },
    })?;
    let connection = writer(&path).map_err(|unfit| match unfit {
        Unfit::Newer(found) => OpenError::Newer { path: path.clone(), found, needed: NEEDED, remedy: REMEDY },
        Unfit::NoLog => OpenError::NoLog { path: path.clone() },
        Unfit::Foreign => OpenError::Foreign { path: path.clone() },
        Unfit::Broken(error) if is_damage(&error) => OpenError::NotADatabase { path: path.clone() },
        Unfit::Broken(source) => OpenError::Database { path: path.clone(), source },
    })?;
    Ok(Opened { path, connection, lock })
}

/// Makes what is missing, for this user's eyes only. The answer has no symbolic link in it, so that one file has one
/// lock.
fn place(path: &Path) -> io::Result<PathBuf> {
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
    fs::canonicalize(path)
}

fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt))
}

/// How long one connection waits for another. Only checkpoints and recovery make them meet.
const PATIENCE: Duration = Duration::from_secs(10);

/// Statements that are kept prepared.
const STATEMENTS: usize = 128;

/// What both kinds of connections have. Plans do not depend on values: SQLite would otherwise plan a statement anew each
/// time one of its values changes, which costs several times what a claim does.
fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(PATIENCE)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// The connection that writes.
///
/// | setting            | because                                                                               |
/// |--------------------|---------------------------------------------------------------------------------------|
/// | WAL                | readers do not stall the writer, nor it them                                          |
/// | synchronous=FULL   | what was committed survives the loss of power                                         |
/// | auto_vacuum        | space of removed jobs can be given back in small steps; fixed at creation             |
/// | wal_autocheckpoint | 16 MiB: rarer than the default, since a checkpoint syncs twice                        |
/// | cache_size         | 8 MiB: claims go through the jobs once, and a commit may look at every page it holds  |
/// | journal_size_limit | a log that grew in a burst becomes short again                                        |
fn writer(path: &Path) -> Result<Connection, Unfit> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    prepare(&connection)?;
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
        return Err(Unfit::NoLog);
    }
    migrate::migrate(&mut connection)?;
    Ok(connection)
}

/// A connection that reads.
pub(super) fn reader(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    prepare(&connection)?;
    connection.execute_batch("PRAGMA temp_store = MEMORY; PRAGMA cache_size = -4096;")?;
    Ok(connection)
}
