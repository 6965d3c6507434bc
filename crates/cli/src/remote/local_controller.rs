//! The file that a running `vmafx up` publishes for the other commands of its user: its addresses and its token file.

use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::{env, fs};

use serde::{Deserialize, Serialize};

const FILE: &str = "up.json";
/// Only the user may list or read the directory.
const DIRECTORY_MODE: u32 = 0o700;

/// A controller that `vmafx up` runs for this user on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LocalController {
    pub(crate) grpc: String,
    /// Empty if HTTP is disabled.
    pub(crate) http: String,
    pub(crate) token_file: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum StateFileError {
    #[error("there is no directory for state: set XDG_STATE_HOME or HOME, or give --data-dir")]
    NoDirectory,
    #[error("cannot use {}", .0.display())]
    File(PathBuf, #[source] io::Error),
    #[error("{} was not written by `vmafx up`: remove it", .0.display())]
    Foreign(PathBuf, #[source] serde_json::Error),
}

impl LocalController {
    /// The published controller, if there is one. A `vmafx up` that was killed leaves its file behind, so the controller
    /// may not be running.
    pub(crate) fn find() -> Result<Option<Self>, StateFileError> {
        Self::read(&state_directory()?)
    }

    fn read(directory: &Path) -> Result<Option<Self>, StateFileError> {
        let file = directory.join(FILE);
        match fs::read(&file) {
            Ok(text) => {
                serde_json::from_slice(&text).map(Some).map_err(|error| StateFileError::Foreign(file, error))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StateFileError::File(file, error)),
        }
    }

    /// Writes the file, which exists until the returned value is dropped.
    pub(crate) fn publish(&self, directory: &Path) -> Result<PublishedFile, StateFileError> {
        let text =
            serde_json::to_vec(self).map_err(|error| StateFileError::Foreign(directory.join(FILE), error))?;
        write_private(directory, FILE, &text).map(PublishedFile)
    }
}

/// Removes the file when it is dropped.
#[derive(Debug)]
pub(crate) struct PublishedFile(pub(crate) PathBuf);

impl Drop for PublishedFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// The default directory of `vmafx up`.
pub(crate) fn state_directory() -> Result<PathBuf, StateFileError> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_STATE_HOME")
        .or_else(|| Some(absolute("HOME")?.join(".local/state")))
        .map(|state| state.join("vmafx/up"))
        .ok_or(StateFileError::NoDirectory)
}

/// Creates a directory that only its user can access.
pub(crate) fn make_private(directory: &Path) -> Result<(), StateFileError> {
    let failed = |error| StateFileError::File(directory.to_owned(), error);
    fs::DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(directory).map_err(failed)?;
    // An existing directory keeps its mode otherwise.
    fs::set_permissions(directory, fs::Permissions::from_mode(DIRECTORY_MODE)).map_err(failed)
}

/// Writes a file that only its user can read. The file is replaced atomically.
pub(crate) fn write_private(directory: &Path, name: &str, text: &[u8]) -> Result<PathBuf, StateFileError> {
    let path = directory.join(name);
    let write = || {
        // Temporary files have mode 0600.
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        file.write_all(text)?;
        file.persist(&path).map_err(|error| error.error)
    };
    write().map_err(|error| StateFileError::File(path.clone(), error))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_controller_is_found_until_its_file_is_dropped() {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join("a/b");
        make_private(&directory).unwrap();
        let local = LocalController {
            grpc: "127.0.0.1:1".into(),
            http: "127.0.0.1:2".into(),
            token_file: "/t".into(),
        };
        let published = local.publish(&directory).unwrap();
        assert_eq!(LocalController::read(&directory).unwrap(), Some(local));
        drop(published);
        assert_eq!(LocalController::read(&directory).unwrap(), None);
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
        let error = LocalController::read(home.path()).unwrap_err().to_string();
        assert!(error.contains("up.json was not written by `vmafx up`"), "{error}");
    }
}
