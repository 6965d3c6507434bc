//! Backup of a live store, and its restore.
//!
//! A backup is one consistent snapshot of the file, made beside the running controller, and complete: it has no
//! write-ahead log. The restored file needs no mark. Its lives end at the backup ([`super::lives`]), so readers notice.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::lock::{FileLock, LockError};
use super::migrate::{self, REMEDY, SCHEMA_VERSION};
use super::open::{OpenError, is_damage};
use super::path::beside;

#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("{path} does not exist: set --db-path or VMAFX_DB_PATH to the controller's database")]
    NoDatabase { path: PathBuf },
    #[error("{path} exists: choose another name, or remove it first")]
    TargetExists { path: PathBuf },
    #[error("{path} cannot be written")]
    Target {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{path} is damaged ({problem}): use another backup")]
    Damaged { path: PathBuf, problem: String },
    #[error("{path} is in use by {}: stop the controller first", .holder.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}")))]
    Running { path: PathBuf, holder: Option<u32> },
    #[error("{path} cannot be read")]
    Database {
        path: PathBuf,
        #[source]
        source: rusqlite::Error,
    },
    #[error(transparent)]
    Unusable(#[from] OpenError),
}

/// A checked copy of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupSummary {
    pub jobs: u64,
    pub bytes: u64,
}

/// Copies the store at `database` to the new file `to`. A controller may be running on the store.
pub fn back_up(database: &Path, to: &Path) -> Result<BackupSummary, BackupError> {
    if !database.is_file() {
        return Err(BackupError::NoDatabase { path: database.to_owned() });
    }
    if to.exists() {
        return Err(BackupError::TargetExists { path: to.to_owned() });
    }
    let partial = beside(to, ".partial");
    let failed = |source| BackupError::Target { path: partial.clone(), source };
    // SQLite copies into an empty file and keeps its permissions.
    create_private(&partial).map_err(failed)?;
    let copied = copy(database, &partial).and_then(|()| check(&partial));
    let summary = copied.inspect_err(|_| drop(fs::remove_file(&partial)))?;
    put_in_place(&partial, to).map_err(|source| BackupError::Target { path: to.to_owned(), source })?;
    Ok(summary)
}

/// Puts a backup in the place of the store. The previous files stay beside it with the suffix `.before-restore`.
pub fn restore(from: &Path, database: &Path) -> Result<BackupSummary, BackupError> {
    if !from.is_file() {
        return Err(BackupError::NoDatabase { path: from.to_owned() });
    }
    let summary = check(from)?;
    let failed = |source| BackupError::Target { path: database.to_owned(), source };
    if let Some(directory) = database.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        fs::create_dir_all(directory).map_err(failed)?;
    }
    let _lock = FileLock::take(&beside(database, ".lock")).map_err(|error| match error {
        LockError::Held(holder) => BackupError::Running { path: database.to_owned(), holder },
        LockError::Io(source) => failed(source),
    })?;
    let partial = beside(database, ".partial");
    create_private(&partial).map_err(failed)?;
    fs::copy(from, &partial).map_err(failed)?;
    let kept = beside(database, ".before-restore");
    // The write-ahead log belongs to the file that it lies beside, so both keep their names relative to each other.
    for suffix in ["", "-wal", "-shm"] {
        move_aside(&beside(database, suffix), &beside(&kept, suffix)).map_err(failed)?;
    }
    put_in_place(&partial, database).map_err(failed)?;
    Ok(summary)
}

fn create_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

fn move_aside(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::remove_file(to) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        },
        other => other,
    }
}

/// Renames a complete file, so that no crash leaves half of one under the final name.
fn put_in_place(partial: &Path, to: &Path) -> io::Result<()> {
    File::open(partial)?.sync_all()?;
    fs::rename(partial, to)?;
    let directory = to.parent().filter(|directory| !directory.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}

fn copy(database: &Path, to: &Path) -> Result<(), BackupError> {
    let failed = |source| error_of(database, source);
    let connection = open_existing(database).map_err(failed)?;
    supported(database, &connection)?;
    connection.execute("VACUUM INTO ?1", [to.to_string_lossy()]).map_err(failed)?;
    Ok(())
}

/// Opens the copy and reads all of it.
fn check(path: &Path) -> Result<BackupSummary, BackupError> {
    let failed = |source| error_of(path, source);
    let connection = open_existing(path).map_err(failed)?;
    supported(path, &connection)?;
    let verdict: String =
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(failed)?;
    if verdict != "ok" {
        return Err(BackupError::Damaged { path: path.to_owned(), problem: verdict });
    }
    let jobs: i64 =
        connection.query_row("SELECT count(*) FROM jobs", [], |row| row.get(0)).map_err(failed)?;
    let bytes = fs::metadata(path).map_or(0, |file| file.len());
    Ok(BackupSummary { jobs: u64::try_from(jobs).unwrap_or(0), bytes })
}

fn open_existing(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(super::open::BUSY_TIMEOUT)?;
    Ok(connection)
}

/// Refuses a file of another program, and one of a newer version.
fn supported(path: &Path, connection: &Connection) -> Result<(), BackupError> {
    let failed = |source| error_of(path, source);
    if !migrate::is_ours(connection).map_err(failed)? {
        return Err(OpenError::Foreign { path: path.to_owned() }.into());
    }
    let found = migrate::version(connection).map_err(failed)?;
    if found > SCHEMA_VERSION {
        let (path, needed, remedy) = (path.to_owned(), SCHEMA_VERSION, REMEDY);
        return Err(OpenError::Newer { path, found, needed, remedy }.into());
    }
    Ok(())
}

fn error_of(path: &Path, source: rusqlite::Error) -> BackupError {
    let path = path.to_owned();
    if is_damage(&source) {
        BackupError::Damaged { path, problem: source.to_string() }
    } else {
        BackupError::Database { path, source }
    }
}
