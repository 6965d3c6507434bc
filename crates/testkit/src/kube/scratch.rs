//! A directory that is removed when its owner ends, however it ends.
//!
//! A `static` is never dropped and a killed process drops nothing, so a destructor is not enough. A small shell process
//! waits at the other end of a pipe instead: the pipe closes when the owner drops it or dies.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Removes `$0` once its input ends. The servers that write there get their death signal at the same moment, so a file
/// may appear while the directory is being removed: hence several attempts. Signals are ignored, because one sent to
/// the whole process group would end the cleaner first.
const CLEANER: &str = r#"
trap "" HUP INT TERM
while read -r _; do :; done
tries=0
until rm -rf -- "$0" || [ $tries = 50 ]; do tries=$((tries + 1)); sleep 0.1; done
"#;

/// Memory that etcd's largest database and the logs may need.
#[cfg(target_os = "linux")]
const NEEDED_BYTES: u64 = 1 << 30;

#[derive(Debug)]
pub(crate) struct ScratchDirectory {
    path: PathBuf,
    cleaner: Child,
}

impl ScratchDirectory {
    /// Creates a directory, in memory where there is enough, since etcd's speed depends on its disk.
    pub(crate) fn create() -> io::Result<Self> {
        Self::create_in(&base(), "vmafx-kube-")
    }

    /// Creates a directory in `base`.
    pub(crate) fn create_in(base: &Path, prefix: &str) -> io::Result<Self> {
        let path = tempfile::Builder::new().prefix(prefix).tempdir_in(base)?.keep();
        let cleaner = Command::new("/bin/sh")
            .args(["-c", CLEANER])
            .arg(&path)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .inspect_err(|_| drop(fs::remove_dir_all(&path)))?;
        Ok(Self { path, cleaner })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        drop(self.cleaner.stdin.take());
        let _ = self.cleaner.wait();
    }
}

#[cfg(target_os = "linux")]
fn base() -> PathBuf {
    let memory = Path::new("/dev/shm");
    let free = rustix::fs::statvfs(memory).map_or(0, |stat| stat.f_bavail.saturating_mul(stat.f_frsize));
    if free > NEEDED_BYTES { memory.to_owned() } else { std::env::temp_dir() }
}

#[cfg(not(target_os = "linux"))]
fn base() -> PathBuf {
    std::env::temp_dir()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_directory_is_gone_with_everything_in_it() {
        let scratch = ScratchDirectory::create().unwrap();
        let path = scratch.path().to_owned();
        fs::write(path.join("file"), "content").unwrap();
        drop(scratch);
        assert!(!path.exists());
    }
}
