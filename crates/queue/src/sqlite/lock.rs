//! One controller per file.
//!
//! Leases are kept in memory, so two controllers on one file would give up each other's. The lock is the kernel's: it
//! goes with the process, however that ends, and it also keeps out a second store of the same process.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

/// Why there is no lock.
#[derive(Debug)]
pub(super) enum Refused {
    /// Somebody has it: this process, if they said so.
    Held(Option<u32>),
    /// The file cannot be used.
    Broken(io::Error),
}

/// Held as long as it lives.
#[derive(Debug)]
pub(super) struct FileLock {
    _file: File,
}

impl FileLock {
    pub(super) fn take(path: &Path) -> Result<Self, Refused> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)
            .map_err(Refused::Broken)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(Refused::Held(holder(&mut file))),
            Err(error) => return Err(Refused::Broken(error.into())),
        }
        sign(&mut file).map_err(Refused::Broken)?;
        Ok(Self { _file: file })
    }
}

/// Writes down who has it. The file stays when the lock goes: removing it would let two hold "the" lock.
fn sign(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

fn holder(file: &mut File) -> Option<u32> {
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
        assert!(matches!(FileLock::take(&path), Err(Refused::Held(Some(pid))) if pid == std::process::id()));
        drop(first);
        assert!(FileLock::take(&path).is_ok());
    }
}
