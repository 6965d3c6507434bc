//! The control group of this process, and the limits of all groups around it.
//!
//! Version 2 has one tree, version 1 one for each controller; a machine may have both. In a container the path in
//! `/proc/self/cgroup` is often that of the host and not below the mount: then the mount itself is the group.

use std::fs;
use std::path::{Path, PathBuf};

const MOUNT: &str = "sys/fs/cgroup";

/// Directories of the group and of those around it, innermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cgroup {
    /// In the tree of version 2.
    unified: Vec<PathBuf>,
    /// In the tree of the controller `cpu` of version 1.
    cpu: Vec<PathBuf>,
    /// In the tree of the controller `memory` of version 1.
    memory: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CgroupController {
    Cpu,
    Memory,
}

impl Cgroup {
    pub(super) fn of_this_process(root: &Path) -> Self {
        let mount = root.join(MOUNT);
        let mut found = Self::default();
        for line in fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default().lines() {
            // `4:memory:/path` in version 1, `0::/path` in version 2.
            let mut parts = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
            if controllers.is_empty() {
                // Beside the trees of version 1, that of version 2 is a directory among them.
                let hybrid = mount.join("unified");
                found.unified = with_parents(if hybrid.is_dir() { &hybrid } else { &mount }, path);
                continue;
            }
            let has = |name: &str| controllers.split(',').any(|controller| controller == name);
            let tree = || {
                // The tree is mounted under the joined names, or under one of them.
                let names = std::iter::once(controllers).chain(controllers.split(','));
                names.map(|name| mount.join(name)).find(|tree| tree.is_dir())
            };
            if has("cpu") {
                found.cpu = tree().map(|tree| with_parents(&tree, path)).unwrap_or_default();
            }
            if has("memory") {
                found.memory = tree().map(|tree| with_parents(&tree, path)).unwrap_or_default();
            }
        }
        found
    }

    /// The content of a file of version 2, in every group that has it.
    pub(super) fn unified(&self, file: &str) -> impl Iterator<Item = String> {
        read(&self.unified, file)
    }

    /// The content of a file of version 1, in every group that has it.
    pub(super) fn separate(&self, controller: CgroupController, file: &str) -> impl Iterator<Item = String> {
        let groups = match controller {
            CgroupController::Cpu => &self.cpu,
            CgroupController::Memory => &self.memory,
        };
        read(groups, file)
    }
}

/// The directory of a path below a mount and its parents up to the mount, as far as they exist.
fn with_parents(mount: &Path, path: &str) -> Vec<PathBuf> {
    let below = mount.join(path.trim_start_matches('/'));
    // `/..` names a group outside of the namespace of this process.
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
