//! Where a cluster keeps its files, and who owns the place.
//!
//! Ownership is a lock on a file, held by an open file description that is handed on: from the command that starts
//! a cluster to its keeper, and from there to the reaper, which lets go when nothing is left. So "is it locked?"
//! answers both "does it run?" and "is it gone?", and no crash can leave the answer wrong. The file is beside the
//! directory and stays, empty: removed, it would have to go before the rest, and answer "gone" too early.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::{NodeError, Step as _};

/// A socket's path must fit into 108 bytes, the last of them zero.
const LONGEST_SOCKET: usize = 107;

/// The files of one cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    directory: PathBuf,
}

/// What others need to know about a running cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Unique on this machine; the name of its cgroups.
    pub id: String,
    /// Where on the host's loopback the API server is reached.
    pub port: u16,
    /// The keeper's process id.
    pub keeper: i32,
}

impl State {
    /// The cluster that lives below `base`. Everything is in a directory of its own there, which is removed as a
    /// whole; `base` itself is left alone.
    pub fn new(base: &Path) -> Result<Self, NodeError> {
        let directory = std::path::absolute(base.join("kubernetes")).step("finding the working directory")?;
        let state = Self { directory };
        if state.socket().as_os_str().len() > LONGEST_SOCKET {
            return Err(NodeError::LongPath { state: state.directory });
        }
        Ok(state)
    }

    /// The same files as the cluster's own processes see them.
    pub(super) fn inside() -> Self {
        Self { directory: PathBuf::from(super::mounts::INSIDE) }
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The kubeconfig for this machine's users.
    pub fn kubeconfig(&self) -> PathBuf {
        self.directory.join("kubeconfig")
    }

    /// Where every server writes its log.
    pub fn logs(&self) -> PathBuf {
        self.directory.join("log")
    }

    pub(super) fn keeper_log(&self) -> PathBuf {
        self.logs().join("keeper.log")
    }

    /// Where the API server inside the namespaces is reached from outside.
    pub(super) fn socket(&self) -> PathBuf {
        self.directory.join("api.sock")
    }

    /// Written when everything but the node itself is known to be up.
    pub(super) fn ready_marker(&self) -> PathBuf {
        self.directory.join("ready")
    }

    /// Names the process namespace, so that whatever is left in it can be found.
    pub(super) fn namespace_file(&self) -> PathBuf {
        self.directory.join("pid-namespace")
    }

    fn record_file(&self) -> PathBuf {
        self.directory.join("cluster.json")
    }

    /// What the keeper wrote, if it got that far.
    pub fn record(&self) -> Option<Record> {
        serde_json::from_slice(&fs::read(self.record_file()).ok()?).ok()
    }

    pub(super) fn write_record(&self, record: &Record) -> io::Result<()> {
        fs::write(self.record_file(), serde_json::to_vec(record)?)
    }

    /// Whether somebody holds the lock.
    pub fn is_running(&self) -> Result<bool, NodeError> {
        let file = match File::open(self.lock_file()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            other => other.step("opening the lock")?,
        };
        // Shared: those who only ask do not take one another for owners.
        match file.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(error).step("asking for the lock"),
        }
    }

    fn lock_file(&self) -> PathBuf {
        self.directory.with_extension("lock")
    }

    /// Takes the lock; `None` if somebody else holds it.
    pub(super) fn lock(&self) -> Result<Option<File>, NodeError> {
        let base = self.directory.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(base).step("making the state directory")?;
        let file = File::create(self.lock_file()).step("opening the lock")?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error).step("taking the lock"),
        }
    }

    /// Makes the directory, for its owner's eyes only: there are keys in it.
    pub(super) fn create(&self) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        fs::create_dir_all(self.logs())
    }

    /// Removes everything but the lock.
    pub(super) fn remove(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_owner_at_a_time_also_while_the_files_are_being_removed() {
        let base = tempfile::tempdir().unwrap();
        let state = State::new(base.path()).unwrap();
        let lock = state.lock().unwrap().unwrap();
        state.create().unwrap();
        assert!(state.is_running().unwrap());
        state.remove().unwrap();
        assert!(state.is_running().unwrap(), "not gone before its owner says so");
        assert!(state.lock().unwrap().is_none());
        drop(lock);
        assert!(!state.is_running().unwrap());
    }

    #[test]
    fn asking_leaves_nothing_behind() {
        let base = tempfile::tempdir().unwrap();
        State::new(base.path()).unwrap().is_running().unwrap();
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_path_too_long_for_a_socket_is_refused_at_once() {
        let error = State::new(Path::new(&format!("/{}", "x".repeat(100)))).unwrap_err();
        assert!(matches!(error, NodeError::LongPath { .. }));
    }
}
