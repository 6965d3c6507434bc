//! The mounts of a cluster. All are private to its mount namespace and vanish with it.

use std::ffi::CString;
use std::fs;
use std::path::Path;

use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, unmount};

use super::error::{NodeError, ResultExt as _};
use super::state::StateDirectory;

/// The path of the state directory inside the namespace, independent of its path on the host.
pub(super) const STATE_INSIDE: &str = "/run/vmafx";

/// Mounts a private `/run` with the state directory in it, and a `/var` whose changes are discarded.
pub(super) fn set_up(state: &StateDirectory) -> Result<(), NodeError> {
    // Through the working directory, because the path may be below /run and hidden by the next mount.
    std::env::set_current_dir(state.directory()).step("entering the state directory")?;
    mount("tmpfs", "/run", "tmpfs", MountFlags::empty(), None).step("mounting /run")?;
    fs::create_dir_all(STATE_INSIDE).step("creating the mount point of the state")?;
    mount_bind(".", STATE_INSIDE).step("mounting the state")?;
    std::env::set_current_dir(STATE_INSIDE).step("entering the state directory")?;
    // The kubelet and the CNI plugins write to /var whatever their configuration is; the host must not see it.
    overlay(Path::new("/run/var"), Path::new("/var"), Path::new("/var")).step("mounting /var")
}

/// Whether the file system of the state directory supports overlay mounts; an overlay itself does not.
pub(super) fn overlay_works() -> bool {
    let trial = Path::new(STATE_INSIDE).join("overlay-trial");
    let (lower, target) = (trial.join("lower"), trial.join("merged"));
    let made = fs::create_dir_all(&lower).and_then(|()| fs::create_dir_all(&target));
    let works = made.and_then(|()| overlay(&trial, &lower, &target)).is_ok();
    let _ = unmount(&target, UnmountFlags::DETACH);
    let _ = fs::remove_dir_all(&trial);
    works
}

fn overlay(scratch: &Path, lower: &Path, target: &Path) -> std::io::Result<()> {
    let (upper, work) = (scratch.join("upper"), scratch.join("work"));
    fs::create_dir_all(&upper)?;
    fs::create_dir_all(&work)?;
    let options =
        format!("lowerdir={},upperdir={},workdir={}", lower.display(), upper.display(), work.display());
    let options = CString::new(options)?;
    Ok(mount("overlay", target, "overlay", MountFlags::empty(), Some(options.as_c_str()))?)
}
