//! The files of a cluster, and the lock that protects them.
//!
//! The lock is on a file, held by an open file description that is inherited: from the command that starts a cluster to
//! its supervisor, and from there to the reaper, which releases it when nothing is left. So "is it locked?" answers both
//! "does it run?" and "is it removed?", and no crash can make the answer wrong. The file is beside the directory and is
//! never removed: that would have to happen before the rest is removed, and the answer would be wrong until then.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::{NodeError, ResultExt as _};

/// A socket's path must fit into 108 bytes including the terminating zero.
const MAX_SOCKET_PATH: usize = 107;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDirectory {
    directory: PathBuf,
}

/// What other processes need to know about a running cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterRecord {
    /// Unique on this machine; also the name of its cgroups.
    pub id: String,
    /// The API server's port on the host's loopback.
    pub port: u16,
    /// Process id.
    pub supervisor: i32,
}

impl StateDirectory {
    /// Everything is in one directory below `base`, which is removed as a whole; `base` itself is kept.
    pub fn new(base: &Path) -> Result<Self, NodeError> {
        let directory = std::path::absolute(base.join("kubernetes")).step("finding the working directory")?;
        let state = Self { directory };
        if state.socket().as_os_str().len() > MAX_SOCKET_PATH {
            return Err(NodeError::LongPath { state: state.directory });
        }
        Ok(state)
    }

    /// The same directory as the cluster's own processes see it.
    pub(super) fn inside() -> Self {
        Self { directory: PathBuf::from(super::mounts::STATE_INSIDE) }
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The kubeconfig for users on the host.
    pub fn kubeconfig(&self) -> PathBuf {
        self.directory.join("kubeconfig")
    }

    pub fn log_directory(&self) -> PathBuf {
        self.directory.join("log")
    }

    pub(super) fn supervisor_log(&self) -> PathBuf {
        self.log_directory().join("supervisor.log")
    }

    /// The socket through which the host reaches the API server.
    pub(super) fn socket(&self) -> PathBuf {
        self.directory.join("api.sock")
    }

    /// Written when everything but the node itself is up.
    pub(super) fn ready_marker(&self) -> PathBuf {
        self.directory.join("ready")
    }

    /// Contains the id of the process namespace, so that leftover processes can be found.
    pub(super) fn namespace_file(&self) -> PathBuf {
        self.directory.join("pid-namespace")
    }

    fn record_file(&self) -> PathBuf {
        self.directory.join("cluster.json")
    }

    /// The record, once the supervisor has written it.
    pub fn record(&self) -> Option<ClusterRecord> {
        serde_json::from_slice(&fs::read(self.record_file()).ok()?).ok()
    }

    pub(super) fn write_record(&self, record: &ClusterRecord) -> io::Result<()> {
        fs::write(self.record_file(), serde_json::to_vec(record)?)
    }

    /// Whether the lock is held.
    pub fn is_running(&self) -> Result<bool, NodeError> {
        let file = match File::open(self.lock_file()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            other => other.step("opening the lock")?,
        };
        // A shared lock, so that concurrent checks do not take each other for an owner.
        match file.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(error).step("checking the lock"),
        }
    }

    fn lock_file(&self) -> PathBuf {
        self.directory.with_extension("lock")
    }

    /// Takes the lock; `None` if it is held already.
    pub(super) fn lock(&self) -> Result<Option<File>, NodeError> {
        let base = self.directory.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(base).step("creating the state directory")?;
        let file = File::create(self.lock_file()).step("opening the lock")?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error).step("taking the lock"),
        }
    }

    /// Creates the directory, accessible by its owner only because it contains keys.
    pub(super) fn create(&self) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        fs::create_dir_all(self.log_directory())
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
        let state = StateDirectory::new(base.path()).unwrap();
        let lock = state.lock().unwrap().unwrap();
        state.create().unwrap();
        assert!(state.is_running().unwrap());
        state.remove().unwrap();
        assert!(state.is_running().unwrap(), "the lock is held until its owner releases it");
        assert!(state.lock().unwrap().is_none());
        drop(lock);
        assert!(!state.is_running().unwrap());
    }

    #[test]
    fn asking_leaves_nothing_behind() {
        let base = tempfile::tempdir().unwrap();
        StateDirectory::new(base.path()).unwrap().is_running().unwrap();
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_path_too_long_for_a_socket_is_refused_at_once() {
        let error = StateDirectory::new(Path::new(&format!("/{}", "x".repeat(100)))).unwrap_err();
        assert!(matches!(error, NodeError::LongPath { .. }));
    }
}
