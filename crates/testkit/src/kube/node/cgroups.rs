//! The cgroups of one cluster. They have a common root in every hierarchy, so that all can be found and removed: unlike
//! the other resources, cgroups do not vanish with the namespaces. Two clusters never share a root, because its name is
//! the cluster's id.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// All mount points of cgroups: one with version 2, one per controller with version 1.
fn hierarchies() -> io::Result<Vec<PathBuf>> {
    Ok(parse_hierarchies(&fs::read_to_string("/proc/self/mountinfo")?))
}

/// Parses lines of the form `id parent dev root mountpoint options … - type source options`.
fn parse_hierarchies(mountinfo: &str) -> Vec<PathBuf> {
    let hierarchy = |line: &str| {
        let (mount, kind) = line.split_once(" - ")?;
        let kind = kind.split(' ').next()?;
        matches!(kind, "cgroup" | "cgroup2").then(|| mount.split(' ').nth(4).map(PathBuf::from))?
    };
    mountinfo.lines().filter_map(hierarchy).collect()
}

/// Creates the root of a cluster's cgroups in every hierarchy, because the kubelet requires that it exists.
pub(super) fn create(id: &str) -> io::Result<()> {
    for hierarchy in hierarchies()? {
        let version_2 = hierarchy.join("cgroup.controllers").exists();
        if version_2 {
            // Children get a controller only if the parent delegates it. Errors are ignored: the kubelet reports the
            // controllers that it misses.
            for controller in ["+cpu", "+cpuset", "+memory", "+pids", "+io"] {
                let _ = fs::write(hierarchy.join("cgroup.subtree_control"), controller);
            }
        }
        let root = hierarchy.join(id);
        fs::create_dir_all(&root)?;
        for file in ["cpuset.cpus", "cpuset.mems"] {
            // Version 1 starts with empty sets, to which no process can be added.
            if !version_2 && root.join(file).exists() {
                fs::write(root.join(file), fs::read(hierarchy.join(file))?)?;
            }
        }
    }
    Ok(())
}

/// The existing root cgroups of a cluster.
pub(super) fn existing(id: &str) -> io::Result<Vec<PathBuf>> {
    Ok(hierarchies()?.into_iter().map(|hierarchy| hierarchy.join(id)).filter(|root| root.exists()).collect())
}

/// Removes all cgroups of a cluster; fails, and can be retried, while a process in one of them is still exiting.
pub(super) fn remove(id: &str) -> io::Result<()> {
    existing(id)?.iter().try_for_each(|root| remove_tree(root))
}

/// Removes directories bottom up; the files in a cgroup belong to the kernel and vanish with it.
fn remove_tree(root: &Path) -> io::Result<()> {
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_tree(&entry.path())?;
        }
    }
    fs::remove_dir(root)
}

/// Creates and removes a cgroup.
pub(in crate::kube) fn trial() -> io::Result<()> {
    // Every trial has its own name: concurrent ones would remove each other's cgroups and fail.
    static TRIALS: AtomicUsize = AtomicUsize::new(0);
    let id = format!("vmafx-trial-{}-{}", std::process::id(), TRIALS.fetch_add(1, Ordering::Relaxed));
    if hierarchies()?.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "no cgroups are mounted"));
    }
    let made = create(&id);
    let removed = remove(&id);
    made.and(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_at_the_same_time_do_not_disturb_one_another() {
        let alone = trial().map_err(|error| error.kind());
        let together: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..8).map(|_| scope.spawn(|| trial().map_err(|error| error.kind()))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        // Whether it is permitted depends on the machine; the result must not depend on the other trials.
        assert!(together.iter().all(|result| *result == alone), "{alone:?} {together:?}");
    }

    #[test]
    fn finds_both_versions_and_nothing_else() {
        let mountinfo = "\
24 1 0:22 / /sys/fs/cgroup rw - tmpfs tmpfs rw
25 24 0:23 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
26 24 0:24 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw
27 1 0:25 / /proc rw - proc proc rw";
        let expected = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/unified"].map(PathBuf::from);
        assert_eq!(parse_hierarchies(mountinfo), expected);
    }
}
