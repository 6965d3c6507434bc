//! A directory that is gone once its owner is, however the owner ends.
//!
//! A `static` is never dropped and a killed process drops nothing, so a destructor cannot do it. A small shell
//! waits at the other end of a pipe instead: the pipe closes when the owner drops it or dies.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Removes `$0` once its input ends. The servers that write there get their death signal at the same moment, so
/// a file may appear while the directory is being removed: hence several attempts. Signals are ignored, or
/// whoever ends the whole process group would end the cleaner first.
const CLEANER: &str = r#"
trap "" HUP INT TERM
while read -r _; do :; done
tries=0
until rm -rf -- "$0" || [ $tries = 50 ]; do tries=$((tries + 1)); sleep 0.1; done
"#;

/// What etcd, at its most, and the logs may take.
#[cfg(target_os = "linux")]
const ROOM: u64 = 1 << 30;

/// The directory.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
    cleaner: Child,
}

impl Scratch {
    /// Makes one, in memory where there is room, since etcd is mostly about its disk.
    pub(crate) fn create() -> io::Result<Self> {
        Self::create_in(&base(), "vmafx-kube-")
    }

    /// Makes one in the given place.
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

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(self.cleaner.stdin.take());
        let _ = self.cleaner.wait();
    }
}

#[cfg(target_os = "linux")]
fn base() -> PathBuf {
    let memory = Path::new("/dev/shm");
    let free = rustix::fs::statvfs(memory).map_or(0, |stat| stat.f_bavail.saturating_mul(stat.f_frsize));
    if free > ROOM { memory.to_owned() } else { std::env::temp_dir() }
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
        let scratch = Scratch::create().unwrap();
        let path = scratch.path().to_owned();
        fs::write(path.join("file"), "content").unwrap();
        drop(scratch);
        assert!(!path.exists());
    }
}
