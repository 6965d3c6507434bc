//! The processes in a cluster's process namespace, seen from the host.

use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};

use super::state::StateDirectory;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NamespaceProcess {
    /// The process id on the host.
    pub(super) pid: Pid,
    /// Whether it is the first in its namespace; all others end with it.
    first: bool,
}

/// Every process of the cluster, in no particular order.
pub(super) fn members(state: &StateDirectory) -> Vec<NamespaceProcess> {
    let Ok(namespace) = fs::read_to_string(state.namespace_file()) else { return Vec::new() };
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let member = |name: &str| {
        let pid = Pid::from_raw(name.parse().ok()?)?;
        let process = Path::new("/proc").join(name);
        let is_member = fs::read_link(process.join("ns/pid")).ok()?.as_os_str() == namespace.as_str();
        is_member.then(|| NamespaceProcess { pid, first: is_first(&process) })
    };
    processes.flatten().filter_map(|entry| member(entry.file_name().to_str()?)).collect()
}

/// The line `NSpid: 4711 1` lists the ids of a process from the outermost namespace to the innermost.
fn is_first(process: &Path) -> bool {
    let status = fs::read_to_string(process.join("status")).unwrap_or_default();
    let ids = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    ids.and_then(|ids| ids.split_whitespace().last()) == Some("1")
}

/// The first process of the cluster, through which its namespaces can be entered.
pub(super) fn first(state: &StateDirectory) -> Option<Pid> {
    members(state).into_iter().find(|member| member.first).map(|member| member.pid)
}

/// Kills every process of the cluster and returns their number.
pub(super) fn kill(state: &StateDirectory) -> usize {
    let members = members(state);
    for member in &members {
        // A process that has already ended is fine.
        let _ = kill_process(member.pid, Signal::KILL);
    }
    members.len()
}

/// A command that runs `program` inside the cluster's namespaces.
pub(super) fn enter(first: Pid, program: &str) -> Command {
    let mut command = Command::new("nsenter");
    command.args(nsenter_args(first)).arg(program);
    command
}

/// The arguments of `nsenter` before the program.
pub(super) fn nsenter_args(first: Pid) -> [String; 6] {
    let first = first.as_raw_nonzero().to_string();
    ["--target", &first, "--mount", "--net", "--pid", "--"].map(str::to_owned)
}
