//! The part of the directory that is one process's own.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use super::ScratchError;
use super::directory::remove;

const LOCK: &str = ".lock";
const PREFIX: &str = "agent-";

/// Ours as long as it lives.
#[derive(Debug)]
pub(super) struct Home {
    path: PathBuf,
    base: PathBuf,
    _alive: File,
}

impl Home {
    pub(super) fn open(base: &Path) -> Result<Self, ScratchError> {
        let at = |path: &Path| {
            let path = path.to_owned();
            move |source| ScratchError { path, source }
        };
        fs::create_dir_all(base).map_err(at(base))?;
        // Without links, because workers are confined to real paths.
        let base = base.canonicalize().map_err(at(base))?;
        let _moving = locked(&base.join(LOCK)).map_err(at(&base))?;
        sweep(&base).map_err(at(&base))?;

        let (path, alive) = move_in(&base).map_err(at(&base))?;
        for part in ["objects", "jobs"] {
            private(&path.join(part)).map_err(at(&path))?;
        }
        Ok(Self { path, base, _alive: alive })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Beside it, for everybody who uses the same directory.
    pub(super) fn shared(&self, name: &str) -> Result<PathBuf, ScratchError> {
        let path = self.base.join(name);
        match private(&path) {
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

impl Drop for Home {
    fn drop(&mut self) {
        // Under the lock, or somebody who sweeps at this moment would trip over what disappears.
        let _moving = locked(&self.base.join(LOCK));
        if let Err(error) = remove(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "the scratch directory could not be removed");
        }
    }
}

/// A directory for its owner alone.
pub(super) fn private(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

fn locked(path: &Path) -> io::Result<File> {
    let file = File::options().create(true).truncate(false).write(true).open(path)?;
    file.lock()?;
    Ok(file)
}

/// Makes the first directory whose name is free, and locks it.
fn move_in(base: &Path) -> io::Result<(PathBuf, File)> {
    let mut number = 0_u32;
    loop {
        let path = base.join(format!("{PREFIX}{number}"));
        match private(&path) {
            Ok(()) => {
                let lock = locked(&path.join(LOCK))?;
                return Ok((path, lock));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Removes what has no owner any more. Called under the lock, so whoever moves in has locked its own by now.
fn sweep(base: &Path) -> io::Result<()> {
    for entry in fs::read_dir(base)? {
        let entry = entry?;
        let ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        if !ours || !entry.file_type()?.is_dir() {
            continue;
        }
        let path = entry.path();
        let orphaned = match File::open(path.join(LOCK)) {
            Ok(lock) => lock.try_lock().is_ok(),
            // Killed between the two steps of moving in.
            Err(error) if error.kind() == io::ErrorKind::NotFound => true,
            Err(_) => false, // another user's
        };
        if !orphaned {
            continue;
        }
        match remove(&path) {
            Ok(()) => tracing::info!(path = %path.display(), "removed what a process left that was killed"),
            Err(error) => tracing::warn!(path = %path.display(), %error, "left-overs could not be removed"),
        }
    }
    Ok(())
}
