//! The directory of one `vmafx up`, and what says that it is taken.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::remote::standing::{StandingError, make_private};

/// Why the directory cannot be had.
#[derive(Debug, thiserror::Error)]
pub(super) enum PlaceError {
    /// It cannot be made or written to.
    #[error(transparent)]
    Unusable(#[from] StandingError),
    /// The lock cannot be taken.
    #[error("cannot use {}", .0.display())]
    File(PathBuf, #[source] io::Error),
    /// Another one has it.
    #[error(
        "vmafx up runs already in {}: use it (`vmafx get nodes`), end it, or give another --data-dir and ports",
        .0.display()
    )]
    Taken(PathBuf),
}

/// A directory that nobody else has, as long as this lives.
#[derive(Debug)]
pub(super) struct Place {
    directory: PathBuf,
    /// The kernel gives it back, however this process ends.
    _lock: File,
}

impl Place {
    /// Makes the directory, for its user alone, and takes it.
    pub(super) fn take(directory: PathBuf) -> Result<Self, PlaceError> {
        make_private(&directory)?;
        let path = directory.join("up.lock");
        let file = |error| PlaceError::File(path.clone(), error);
        let lock = File::options().write(true).create(true).truncate(false).open(&path).map_err(file)?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self { directory, _lock: lock }),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(PlaceError::Taken(directory)),
            Err(error) => Err(file(error.into())),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.directory
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_for_one_at_a_time() {
        let home = tempfile::tempdir().unwrap();
        let place = home.path().join("up");
        let first = Place::take(place.clone()).unwrap();
        assert!(matches!(Place::take(place.clone()), Err(PlaceError::Taken(_))));
        drop(first);
        Place::take(place).unwrap();
    }
}
