//! The data directory of `vmafx up`, with the lock that keeps a second process out.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::remote::local_controller::{StateFileError, make_private};

#[derive(Debug, thiserror::Error)]
pub(super) enum DataDirectoryError {
    #[error(transparent)]
    Unusable(#[from] StateFileError),
    #[error("cannot lock {}", .0.display())]
    Lock(PathBuf, #[source] io::Error),
    #[error(
        "another `vmafx up` uses {}: use that one (`vmafx get nodes`), stop it, or set another --data-dir and other ports",
        .0.display()
    )]
    InUse(PathBuf),
}

/// A directory that no other `vmafx up` uses while this value exists.
#[derive(Debug)]
pub(super) struct DataDirectory {
    path: PathBuf,
    /// The kernel releases the lock even if this process is killed.
    _lock: File,
}

impl DataDirectory {
    /// Creates the directory, accessible for its user only, and locks it.
    pub(super) fn lock(path: PathBuf) -> Result<Self, DataDirectoryError> {
        make_private(&path)?;
        let file = path.join("up.lock");
        let failed = |error| DataDirectoryError::Lock(file.clone(), error);
        let lock = File::options().write(true).create(true).truncate(false).open(&file).map_err(failed)?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self { path, _lock: lock }),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(DataDirectoryError::InUse(path)),
            Err(error) => Err(failed(error.into())),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_locked_by_one_process_at_a_time() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("up");
        let first = DataDirectory::lock(path.clone()).unwrap();
        assert!(matches!(DataDirectory::lock(path.clone()), Err(DataDirectoryError::InUse(_))));
        drop(first);
        DataDirectory::lock(path).unwrap();
    }
}
