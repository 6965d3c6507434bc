//! The control group of this process, and the limits of all groups around it.
//!
//! Version 2 has one tree, version 1 one for each controller; a machine may have both. In a container the path in
//! `/proc/self/cgroup` is often that of the host, and not below the mount: then the mount itself is the group.

use std::fs;
use std::path::{Path, PathBuf};

/// Where the trees are mounted.
const MOUNT: &str = "sys/fs/cgroup";

/// Directories of the group and of those around it, innermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cgroup {
    /// In the one tree.
    unified: Vec<PathBuf>,
    /// In that of the controller `cpu`.
    cpu: Vec<PathBuf>,
    /// In that of the controller `memory`.
    memory: Vec<PathBuf>,
}

/// A controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Controller {
    Cpu,
    Memory,
}

impl Cgroup {
    pub(super) fn of_this_process(root: &Path) -> Self {
        let mount = root.join(MOUNT);
        let mut found = Self::default();
        for line in fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default().lines() {
            // `4:memory:/path`, or `0::/path` for the one tree.
            let mut parts = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
            if controllers.is_empty() {
                // Beside trees of version 1 the one tree is a directory among them.
                let hybrid = mount.join("unified");
                found.unified = around(if hybrid.is_dir() { &hybrid } else { &mount }, path);
                continue;
            }
            let has = |name: &str| controllers.split(',').any(|controller| controller == name);
            let tree = || {
                // Mounted under the joined names, or under one of them.
                let names = std::iter::once(controllers).chain(controllers.split(','));
                names.map(|name| mount.join(name)).find(|tree| tree.is_dir())
            };
            if has("cpu") {
                found.cpu = tree().map(|tree| around(&tree, path)).unwrap_or_default();
            }
            if has("memory") {
                found.memory = tree().map(|tree| around(&tree, path)).unwrap_or_default();
            }
        }
        found
    }

    /// What a file of version 2 says in every group that has it.
    pub(super) fn unified(&self, file: &str) -> impl Iterator<Item = String> {
        read(&self.unified, file)
    }

    /// What a file of version 1 says in every group that has it.
    pub(super) fn separate(&self, controller: Controller, file: &str) -> impl Iterator<Item = String> {
        let groups = match controller {
            Controller::Cpu => &self.cpu,
            Controller::Memory => &self.memory,
        };
        read(groups, file)
    }
}

/// The directory of a path below a mount and all above it up to the mount, as far as they exist.
fn around(mount: &Path, path: &str) -> Vec<PathBuf> {
    let below = mount.join(path.trim_start_matches('/'));
    // `/..` is a group outside of this process's view.
    let plain = !path.split('/').any(|part| part == "..");
    below
        .ancestors()
        .take_while(|directory| directory.starts_with(mount))
        .filter(|directory| *directory == mount || (plain && directory.is_dir()))
        .map(Path::to_path_buf)
        .collect()
}

fn read(groups: &[PathBuf], file: &str) -> impl Iterator<Item = String> {
    groups.iter().filter_map(move |group| fs::read_to_string(group.join(file)).ok())
}
