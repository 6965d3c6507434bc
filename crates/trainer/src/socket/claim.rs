//! The socket's file: one owner, and nobody else may connect.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use tokio::net::UnixListener;

/// A listener at a path, until it is dropped.
#[derive(Debug)]
pub struct Claim {
    listener: UnixListener,
    path: PathBuf,
    /// Locked while it is open.
    _lock: File,
}

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// Somebody else has it.
    #[error("{} is in use by another process (VMAFX_SIDECAR_SOCKET)", .0.display())]
    Taken(PathBuf),
    /// It cannot be made.
    #[error("cannot make the socket {} (VMAFX_SIDECAR_SOCKET)", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
}

impl Claim {
    /// Takes the path. What an owner left behind that did not live to remove it is replaced.
    pub fn take(path: &Path) -> Result<Self, ClaimError> {
        let failed = |source: io::Error| ClaimError::Io { path: path.to_owned(), source };
        let beside = |ending: &str| {
            let mut name = path.as_os_str().to_owned();
            name.push(ending);
            PathBuf::from(name)
        };
        let lock =
            File::options().create(true).truncate(false).write(true).open(beside(".lock")).map_err(failed)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|errno| match errno {
            Errno::WOULDBLOCK => ClaimError::Taken(path.to_owned()),
            errno => failed(errno.into()),
        })?;
        // Made under another name, so that nobody connects before its mode is what it must be.
        let new = beside(".new");
        remove(&new).map_err(failed)?;
        let listener = UnixListener::bind(&new).map_err(failed)?;
        std::fs::set_permissions(&new, Permissions::from_mode(0o600)).map_err(failed)?;
        std::fs::rename(&new, path).map_err(failed)?;
        Ok(Self { listener, path: path.to_owned(), _lock: lock })
    }

    /// What clients connect to.
    pub(super) fn listener(&self) -> &UnixListener {
        &self.listener
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "the socket stays behind");
        }
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_its_owner_may_connect_and_only_one_has_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.sock");
        let claim = Claim::take(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(matches!(Claim::take(&path), Err(ClaimError::Taken(_))));
        drop(claim);
        assert!(!path.exists());
        Claim::take(&path).unwrap();
    }

    #[tokio::test]
    async fn what_a_killed_owner_left_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.sock");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        let _claim = Claim::take(&path).unwrap();
        std::os::unix::net::UnixStream::connect(&path).unwrap();
    }

    #[tokio::test]
    async fn a_place_that_cannot_be_is_named() {
        let error = Claim::take(Path::new("/nowhere/at/all.sock")).unwrap_err();
        assert!(error.to_string().contains("/nowhere/at/all.sock"), "{error}");
    }
}
