//! The private directory of one process.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use super::ScratchError;
use super::files::remove;

const LOCK_FILE: &str = ".lock";
const PREFIX: &str = "agent-";

#[derive(Debug)]
pub(super) struct AgentDirectory {
    path: PathBuf,
    base: PathBuf,
    /// Its lock tells other processes that this one is alive.
    _lock: File,
}

impl AgentDirectory {
    pub(super) fn open(base: &Path) -> Result<Self, ScratchError> {
        let at = |path: &Path| {
            let path = path.to_owned();
            move |source| ScratchError { path, source }
        };
        fs::create_dir_all(base).map_err(at(base))?;
        // Resolved, because workers are confined to real paths.
        let base = base.canonicalize().map_err(at(base))?;
        let _exclusive = locked(&base.join(LOCK_FILE)).map_err(at(&base))?;
        remove_orphans(&base).map_err(at(&base))?;

        let (path, lock) = create(&base).map_err(at(&base))?;
        for part in ["objects", "jobs"] {
            create_private(&path.join(part)).map_err(at(&path))?;
        }
        Ok(Self { path, base, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A directory beside this one, for all processes that use the same scratch directory.
    pub(super) fn shared(&self, name: &str) -> Result<PathBuf, ScratchError> {
        let path = self.base.join(name);
        match create_private(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(ScratchError { path, source: error })
            }
            _ => Ok(path),
        }
    }

    pub(super) fn objects(&self) -> PathBuf {
        self.path.join("objects")
    }

    pub(super) fn jobs(&self) -> PathBuf {
        self.path.join("jobs")
    }
}

impl Drop for AgentDirectory {
    fn drop(&mut self) {
        // Under the lock, because a process that removes orphans would fail on files that disappear.
        let _exclusive = locked(&self.base.join(LOCK_FILE));
        if let Err(error) = remove(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "cannot remove the scratch directory");
        }
    }
}

/// Creates a directory that only its owner can use.
pub(super) fn create_private(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

fn locked(path: &Path) -> io::Result<File> {
    let file = File::options().create(true).truncate(false).write(true).open(path)?;
    file.lock()?;
    Ok(file)
}

/// Creates the first directory whose name is free, and locks it.
fn create(base: &Path) -> io::Result<(PathBuf, File)> {
    let mut number = 0_u32;
    loop {
        let path = base.join(format!("{PREFIX}{number}"));
        match create_private(&path) {
            Ok(()) => {
                let lock = locked(&path.join(LOCK_FILE))?;
                return Ok((path, lock));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Removes directories of dead processes. The caller holds the lock, so every live process has locked its own directory.
fn remove_orphans(base: &Path) -> io::Result<()> {
    for entry in fs::read_dir(base)? {
        let entry = entry?;
        let ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        if !ours || !entry.file_type()?.is_dir() {
            continue;
        }
        let path = entry.path();
        let orphaned = match File::open(path.join(LOCK_FILE)) {
            Ok(lock) => lock.try_lock().is_ok(),
            // The process was killed between creating and locking the directory.
            Err(error) if error.kind() == io::ErrorKind::NotFound => true,
            Err(_) => false, // of another user
        };
        if !orphaned {
            continue;
        }
        match remove(&path) {
            Ok(()) => {
                tracing::info!(path = %path.display(), "removed the directory of a process that was killed");
            }
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "cannot remove the directory of a process that was killed");
            }
        }
    }
    Ok(())
}
