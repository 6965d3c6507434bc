//! The resources of a running cluster on this machine, recorded so that a test can check afterwards what is left.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::error::{NodeError, ResultExt as _};
use super::state::StateDirectory;
use super::{cgroups, namespace};

/// Kinds of namespaces that a cluster and its Pods have.
const NAMESPACE_KINDS: [&str; 3] = ["pid", "net", "mnt"];

#[derive(Debug, Clone)]
pub struct Footprint {
    id: String,
    directory: PathBuf,
    pids: BTreeSet<i32>,
    /// In the kernel's notation, `net:[4026532226]`.
    namespaces: BTreeSet<PathBuf>,
}

impl Footprint {
    /// Records the resources of a running cluster.
    pub fn record(state: &StateDirectory) -> Result<Self, NodeError> {
        let not_running = || NodeError::NotRunning { state: state.directory().to_owned() };
        let id = state.record().ok_or_else(not_running)?.id;
        let servers = namespace::members(state).into_iter().map(|member| member.pid.as_raw_nonzero().get());
        // Containers are in nested process namespaces and are identified by their cgroups.
        let contained = processes()?.into_iter().filter(|pid| in_cgroup(*pid, &id));
        let pids: BTreeSet<_> = servers.chain(contained).collect();
        let own = namespaces("self");
        let all: BTreeSet<_> = pids.iter().flat_map(|pid| namespaces(&pid.to_string())).collect();
        let foreign = all.into_iter().filter(|namespace| !own.contains(namespace)).collect();
        Ok(Self { id, directory: state.directory().to_owned(), pids, namespaces: foreign })
    }

    /// Process ids on the host.
    pub fn pids(&self) -> impl Iterator<Item = i32> {
        self.pids.iter().copied()
    }

    /// The number of namespaces of a kind (`net`, `mnt`, `pid`).
    pub fn namespace_count(&self, kind: &str) -> usize {
        self.namespaces.iter().filter(|namespace| namespace.to_string_lossy().starts_with(kind)).count()
    }

    /// The recorded resources that still exist, one line each.
    pub fn remains(&self) -> Result<Vec<String>, NodeError> {
        let mut remains = Vec::new();
        for cgroup in cgroups::existing(&self.id).step("looking for cgroups")? {
            remains.push(format!("cgroup {}", cgroup.display()));
        }
        let processes = processes()?.into_iter().filter(|pid| self.is_our_process(*pid));
        remains.extend(processes.map(|pid| format!("process {pid}")));
        let mounts = fs::read_to_string("/proc/self/mountinfo").step("looking for mounts")?;
        remains.extend(
            mounts.lines().filter(|line| self.is_our_mount(line)).map(|line| format!("mount {line}")),
        );
        if self.directory.exists() {
            remains.push(format!("directory {}", self.directory.display()));
        }
        Ok(remains)
    }

    /// Whether a process is in one of its namespaces or cgroups, or has one of our roles for it.
    fn is_our_process(&self, pid: i32) -> bool {
        let process = &pid.to_string();
        if in_cgroup(pid, &self.id)
            || namespaces(process).iter().any(|namespace| self.namespaces.contains(namespace))
        {
            return true;
        }
        let line = fs::read(Path::new("/proc").join(process).join("cmdline")).unwrap_or_default();
        let words: Vec<_> = line.split(|byte| *byte == 0).collect();
        let base = self.directory.parent().unwrap_or(Path::new("/")).as_os_str().as_encoded_bytes();
        words.windows(3).any(|words| matches!(words[0], b"role") && words[2] == base)
    }

    /// Whether a mount is below its directory or keeps one of its namespaces open.
    fn is_our_mount(&self, line: &str) -> bool {
        let keeps_open = |namespace: &PathBuf| line.contains(&*namespace.to_string_lossy());
        line.contains(&*self.directory.to_string_lossy()) || self.namespaces.iter().any(keeps_open)
    }
}

fn processes() -> Result<Vec<i32>, NodeError> {
    let entries = fs::read_dir("/proc").step("looking for processes")?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

fn in_cgroup(pid: i32, id: &str) -> bool {
    let cgroups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    cgroups.lines().any(|line| line.split([':', '/']).any(|name| name == id))
}

fn namespaces(process: &str) -> BTreeSet<PathBuf> {
    let directory = Path::new("/proc").join(process).join("ns");
    NAMESPACE_KINDS.iter().filter_map(|kind| fs::read_link(directory.join(kind)).ok()).collect()
}
