//! The processes of a cluster, seen from the host: those in its process namespace.

use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};

use super::state::State;

/// A process of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Member {
    /// Its number on the host.
    pub(super) pid: Pid,
    /// Whether it is the first in its namespace: everything else ends with it.
    first: bool,
}

/// Every process of the cluster, in no order.
pub(super) fn members(state: &State) -> Vec<Member> {
    let Ok(namespace) = fs::read_to_string(state.namespace_file()) else { return Vec::new() };
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let member = |name: &str| {
        let pid = Pid::from_raw(name.parse().ok()?)?;
        let process = Path::new("/proc").join(name);
        let mine = fs::read_link(process.join("ns/pid")).ok()?.as_os_str() == namespace.as_str();
        mine.then(|| Member { pid, first: is_first(&process) })
    };
    processes.flatten().filter_map(|entry| member(entry.file_name().to_str()?)).collect()
}

/// `NSpid: 4711 1`: its numbers from the outermost namespace to the innermost.
fn is_first(process: &Path) -> bool {
    let status = fs::read_to_string(process.join("status")).unwrap_or_default();
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    numbers.and_then(|numbers| numbers.split_whitespace().last()) == Some("1")
}

/// The first process of the cluster, through which its namespaces can be entered.
pub(super) fn first(state: &State) -> Option<Pid> {
    members(state).into_iter().find(|member| member.first).map(|member| member.pid)
}

/// Kills every process of the cluster; returns how many there were.
pub(super) fn kill(state: &State) -> usize {
    let members = members(state);
    for member in &members {
        // Gone already is just as good.
        let _ = kill_process(member.pid, Signal::KILL);
    }
    members.len()
}

/// A command that runs `program` inside the cluster's namespaces.
pub(super) fn enter(first: Pid, program: &str) -> Command {
    let mut command = Command::new("nsenter");
    command.args(way_in(first)).arg(program);
    command
}

/// The words by which `nsenter` goes inside. They end before the program.
pub(super) fn way_in(first: Pid) -> [String; 6] {
    let first = first.as_raw_nonzero().to_string();
    ["--target", &first, "--mount", "--net", "--pid", "--"].map(str::to_owned)
}
