//! The mounts that a cluster lives in. All are private to its mount namespace and vanish with it.

use std::ffi::CString;
use std::fs;
use std::path::Path;

use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, unmount};

use super::error::{NodeError, Step as _};
use super::state::State;

/// Where the state directory is inside, whatever its path outside: short, and in nobody's way.
pub(super) const INSIDE: &str = "/run/vmafx";

/// Gives the cluster a `/run` of its own, its state in there, and a `/var` whose changes are thrown away.
pub(super) fn set_up(state: &State) -> Result<(), NodeError> {
    // By the working directory, because the path may be below /run and out of sight after the next mount.
    std::env::set_current_dir(state.directory()).step("entering the state directory")?;
    mount("tmpfs", "/run", "tmpfs", MountFlags::empty(), None).step("mounting /run")?;
    fs::create_dir_all(INSIDE).step("making the state's mount point")?;
    mount_bind(".", INSIDE).step("mounting the state")?;
    std::env::set_current_dir(INSIDE).step("entering the state directory")?;
    // The kubelet and the network plugins write below /var whatever they are told; the host must not see it.
    overlay(Path::new("/run/var"), Path::new("/var"), Path::new("/var")).step("mounting /var")
}

/// Whether containers can have overlay file systems on the state's own file system: not if that is an overlay itself.
pub(super) fn overlay_works() -> bool {
    let trial = Path::new(INSIDE).join("overlay-trial");
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
