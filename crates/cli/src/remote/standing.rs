//! What a running `vmafx up` leaves for the other commands of its user: where it is, and the token.

use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::{env, fs};

use serde::{Deserialize, Serialize};

const FILE: &str = "up.json";
/// For its user alone.
const DIRECTORY_MODE: u32 = 0o700;

/// A controller of this user on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Standing {
    /// Where gRPC is.
    pub(crate) grpc: String,
    /// Where HTTP is.
    pub(crate) http: String,
    /// The file with the token.
    pub(crate) token_file: PathBuf,
}

/// The place for it cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StandingError {
    /// Neither variable is set.
    #[error("there is no directory for state: set XDG_STATE_HOME or HOME, or give --data-dir")]
    NoPlace,
    /// A file cannot be read or written.
    #[error("cannot use {}", .0.display())]
    File(PathBuf, #[source] io::Error),
    /// A file was written by somebody else.
    #[error("{} was not written by `vmafx up`: remove it", .0.display())]
    Foreign(PathBuf, #[source] serde_json::Error),
}

impl Standing {
    /// The one that was left, if there is one. It may have ended without saying so.
    pub(crate) fn find() -> Result<Option<Self>, StandingError> {
        Self::read(&directory()?)
    }

    fn read(directory: &Path) -> Result<Option<Self>, StandingError> {
        let file = directory.join(FILE);
        match fs::read(&file) {
            Ok(text) => {
                serde_json::from_slice(&text).map(Some).map_err(|error| StandingError::Foreign(file, error))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StandingError::File(file, error)),
        }
    }

    /// Leaves it for others until what is returned is dropped.
    pub(crate) fn leave(&self, directory: &Path) -> Result<Left, StandingError> {
        let text =
            serde_json::to_vec(self).map_err(|error| StandingError::Foreign(directory.join(FILE), error))?;
        write_private(directory, FILE, &text).map(Left)
    }
}

/// The file is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Left(pub(crate) PathBuf);

impl Drop for Left {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Where `vmafx up` keeps its files unless it is told.
pub(crate) fn directory() -> Result<PathBuf, StandingError> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_STATE_HOME")
        .or_else(|| Some(absolute("HOME")?.join(".local/state")))
        .map(|state| state.join("vmafx/up"))
        .ok_or(StandingError::NoPlace)
}

/// Makes a directory for its user alone.
pub(crate) fn make_private(directory: &Path) -> Result<(), StandingError> {
    let failed = |error| StandingError::File(directory.to_owned(), error);
    fs::DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(directory).map_err(failed)?;
    // It may have been there before, with other permissions.
    fs::set_permissions(directory, fs::Permissions::from_mode(DIRECTORY_MODE)).map_err(failed)
}

/// Writes a file for its user alone, whole or not at all.
pub(crate) fn write_private(directory: &Path, name: &str, text: &[u8]) -> Result<PathBuf, StandingError> {
    let path = directory.join(name);
    let write = || {
        // Nobody else can read what this makes.
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        file.write_all(text)?;
        file.persist(&path).map_err(|error| error.error)
    };
    write().map_err(|error| StandingError::File(path.clone(), error))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_found_until_it_is_taken_back() {
        let home = tempfile::tempdir().unwrap();
        let place = home.path().join("a/b");
        make_private(&place).unwrap();
        let standing =
            Standing { grpc: "127.0.0.1:1".into(), http: "127.0.0.1:2".into(), token_file: "/t".into() };
        let left = standing.leave(&place).unwrap();
        assert_eq!(Standing::read(&place).unwrap(), Some(standing));
        drop(left);
        assert_eq!(Standing::read(&place).unwrap(), None);
    }

    #[test]
    fn nobody_else_can_read_it() {
        let home = tempfile::tempdir().unwrap();
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
        make_private(home.path()).unwrap();
        let file = write_private(home.path(), "token", b"secret").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(home.path()), mode(&file)), (DIRECTORY_MODE, 0o600));
        assert_eq!(write_private(home.path(), "token", b"other").unwrap(), file);
        assert_eq!(fs::read(file).unwrap(), b"other");
    }

    #[test]
    fn a_foreign_file_is_named() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join(FILE), "{}").unwrap();
        let error = Standing::read(home.path()).unwrap_err().to_string();
        assert!(error.contains("up.json was not written by `vmafx up`"), "{error}");
    }
}
