//! A controller whose store is on a small volume of its own, which a test fills.
//!
//! The volume is a file system in memory within a mount namespace of the controller, so nobody else sees it and it goes with
//! the process. The test reaches it by the root directory of the process.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::ControllerServer;
use crate::kube::process::ChildCommand;

/// Mounts the volume and becomes the controller.
const SCRIPT: &str = r#"mount -t tmpfs -o "size=$1m" tmpfs "$2" && shift 2 && exec "$@""#;

/// A command that runs the program with a volume of this size at `directory`.
pub(super) fn command(program: &Path, mebibytes: u32, directory: &Path, log: PathBuf) -> ChildCommand {
    ChildCommand::new("vmafx-controller", "unshare", log)
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", SCRIPT, "sh"])
        .arg(mebibytes.to_string())
        .arg(directory)
        .arg(program)
}

impl ControllerServer {
    /// Takes all the room that is left on the volume of the store.
    pub fn fill_volume(&self) -> io::Result<()> {
        let mut ballast = File::options().create(true).append(true).open(self.on_volume("ballast"))?;
        for size in [64 << 10, 1 << 10, 1] {
            while ballast.write_all(&vec![1; size]).is_ok() {}
        }
        Ok(())
    }

    pub fn free_volume(&self) -> io::Result<()> {
        fs::remove_file(self.on_volume("ballast"))
    }

    /// Whether the controller holds the reserve of its store. Once it has released it, nothing new is accepted.
    pub fn holds_reserve(&self) -> bool {
        self.on_volume("queue.db.reserve").exists()
    }

    fn on_volume(&self, file: &str) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.pid()));
        let store = self.directory().join("store");
        root.join(store.strip_prefix("/").unwrap_or(&store)).join(file)
    }
}
