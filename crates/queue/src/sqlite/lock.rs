//! The lock that admits one controller per file.
//!
//! Leases are kept in memory, so two controllers on one file would expire each other's leases. The kernel releases
//! the lock when the process ends for whatever reason, and the lock also excludes a second store in the same
//! process.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

#[derive(Debug)]
pub(super) enum LockError {
    /// Another store holds the lock; its process id, if the lock file contains one.
    Held(Option<u32>),
    Io(io::Error),
}

/// Releases the lock when it is dropped.
#[derive(Debug)]
pub(super) struct FileLock {
    _file: File,
}

impl FileLock {
    pub(super) fn take(path: &Path) -> Result<Self, LockError> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)
            .map_err(LockError::Io)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(LockError::Held(read_holder(&mut file))),
            Err(error) => return Err(LockError::Io(error.into())),
        }
        write_holder(&mut file).map_err(LockError::Io)?;
        Ok(Self { _file: file })
    }
}

/// Records the holder's process id. The file stays after the lock is released: if it were removed, two processes
/// could hold locks on two different files.
fn write_holder(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

fn read_holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_taker_is_told_who_has_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.lock");
        let first = FileLock::take(&path).unwrap();
        assert!(
            matches!(FileLock::take(&path), Err(LockError::Held(Some(pid))) if pid == std::process::id())
        );
        drop(first);
        assert!(FileLock::take(&path).is_ok());
    }
}
